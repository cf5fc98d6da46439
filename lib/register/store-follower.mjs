// The follower: the process beside pi that alone talks to its store, for as long as pi runs (store-messages.mjs has the messages). It
// pulls for pi's start and then again and again (store-pulls.mjs), follows what pi has open and stores the rest at pi's end
// (store-sessions.mjs), and claims it (store-claims.mjs).
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Claims } from "./store-claims.mjs";
import { Reports, callPi, takeAnswer } from "./store-messages.mjs";
import { Pulls } from "./store-pulls.mjs";
import { Sessions } from "./store-sessions.mjs";

const require = createRequire(import.meta.url);
const { hostId, openStore } = require("../store/index.js");
const { LastErrors } = require("../store/last-errors.js");
const { callHere } = require("../store/local.js");
const { Pending } = require("../store/pending.js");
const { pushRules, readSettings } = require("../store/settings.js");

/** How often what pi has open is looked at. */
const FOLLOW_MS = 400;

/** Ends at once. A call that hangs would keep `process.exit` waiting. */
const end = () => process.kill(process.pid, "SIGKILL");

class StoreFollower {
	/** What the parts share: the store, the notes, the settings, each other. */
	#context;
	/** Whether it is reported that the store has answered, at pi's start or at its end. */
	#isReached = false;

	constructor(store, { address, notes, pending, timeout }, reports) {
		const list = (filter) => this.#list(filter);
		const agentDir = dirname(notes);
		const context = { store, address, notes, timeout, reports, list, settings: readSettings(agentDir), rules: pushRules(agentDir), pending: new Pending(notes, address, pending), errors: new LastErrors(notes, address) };
		this.#context = Object.assign(context, { claims: new Claims(context), sessions: new Sessions(context) });
		setInterval(() => context.sessions.follow(), FOLLOW_MS);
	}

	static async open(first, reports) {
		// Where pi's settings and sessions are, that of a renamed build.
		process.env.PI_CODING_AGENT_DIR = dirname(first.notes);
		return new StoreFollower(await openStore(first.address, { host: hostId(first.notes), locks: first.notes }), first, reports);
	}

	receive({ start, open, answer }) {
		if (start) void this.#report("start", this.#start(start));
		if (open) this.#context.sessions.follow(open);
		if (answer) takeAnswer(answer);
	}

	/** Reports when something is done that pi waits for. */
	async #report(done, work) {
		const error = await work.then(() => undefined, ({ message }) => message);
		this.#context.reports.send({ done, error });
	}

	/** pi ends, or was killed. */
	async end() {
		this.#isReached = false;
		setTimeout(end, this.#context.timeout);
		await this.#report("end", this.#context.sessions.storeRest());
		end();
	}

	async #start({ dir }) {
		const place = await this.#placeHere(dir);
		const pulls = new Pulls(this.#context, place, dir);
		const error = await pulls.pull();
		// After the pull, which notices that a store was set back. What is on a drive that hangs keeps nothing else waiting.
		const { sessions, timeout } = this.#context;
		await Promise.race([sessions.findLeft(place), wait(timeout / 4)]);
		void this.#goOn(pulls);
		await pulls.large;
		if (error) throw error;
	}

	/** Stores what earlier processes left, and pulls what is new, again and again until pi ends. */
	async #goOn(pulls) {
		const { sessions, reports } = this.#context;
		for (;;) {
			void sessions.storeLeft();
			await wait(pulls.pause);
			if (sessions.isEnding) return;
			const error = await pulls.pull();
			if (error && !error.retryable) reports.show(`others' lines are not pulled: ${error.message}`);
		}
	}

	/** The sessions of pi's working directory, as options of a `SessionSync`. `dir` is pi's argument. */
	async #placeHere(dir) {
		const { defaultDir, pathOf, sessionDir } = await import("../cli/session-dir.mjs");
		const { address, notes, rules, claims, sessions } = this.#context;
		const cwd = process.cwd();
		const own = sessionDir({ dir, cwd });
		const otherFiles = async () => (await import("../cli/sessions.mjs")).everySessionFile({ dir, cwd });
		const call = (name, file, input) => (sessions.isOpen(file) ? callPi({ name, file, input }) : callHere(name, file, input));
		const where = { dir: own === undefined ? defaultDir(cwd) : pathOf(own), isShared: own !== undefined, cwd, project: await sessions.projectOf(cwd) };
		return { address, notes, ...where, otherFiles, call, claim: claims.beforeAppend, ...rules };
	}

	/** What the store lists. One that answers something may still take its time with the rest; one that does not is left alone for a while. */
	async #list(filter) {
		const { store, errors, reports } = this.#context;
		const onAnswer = () => {
			if (this.#isReached) return;
			this.#isReached = true;
			reports.send({ isReached: true });
		};
		try {
			const list = await store.list({ headers: false, claims: false, ...filter, onAnswer });
			onAnswer();
			errors.set(undefined, undefined);
			return list;
		} catch (error) {
			// That it did not answer in time counts for a minute.
			if (!errors.isSilent()) errors.set(undefined, error);
			throw error;
		}
	}
}

const reports = new Reports();
let why;
process.on("uncaughtExceptionMonitor", (error) => (why = String(error)));
process.on("exit", (code) => reports.send({ ended: why ?? `exit code ${code}` }));
const follower = new Promise((resolve) => process.once("message", resolve)).then((first) => StoreFollower.open(first, reports));
process.on("message", async (message) => (await follower).receive(message));
process.stdin.resume().once("end", async () => (await follower).end());
