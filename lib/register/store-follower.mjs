// The follower: the process beside pi that alone talks to its store, for as long as pi runs (store-messages.mjs has the messages). It
// pulls for pi's start and then again and again (store-pulls.mjs), follows what pi has open and stores the rest at pi's end
// (store-sessions.mjs), and claims it (store-claims.mjs).
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { Claims } from "./store-claims.mjs";
import { Reports, callPi, messageIn, takeAnswers } from "./store-messages.mjs";
import { Pulls } from "./store-pulls.mjs";
import { Sessions } from "./store-sessions.mjs";

const require = createRequire(import.meta.url);
const { hostId, openStore } = require("../store/index.js");
const { LastErrors } = require("../store/last-errors.js");
const { callHere } = require("../store/local.js");
const { Pending } = require("../store/pending.js");
const { pushRules, readSettings } = require("../store/settings.js");

/** Ends at once. A call that hangs would keep `process.exit` waiting. */
const end = () => process.kill(process.pid, "SIGKILL");

class StoreFollower {
	/** What the parts share: the store, the notes, the settings, each other. */
	#context;
	/** Whether the store has answered since the last request. */
	#isReached = false;

	constructor(store, { address, notes, pending, timeout }, reports) {
		const list = (filter) => this.#list(filter);
		const context = { store, address, notes, timeout, reports, list, settings: readSettings(dirname(notes)), pending: new Pending(notes, address, pending) };
		this.#context = Object.assign(context, { claims: new Claims(context), sessions: new Sessions(context) });
	}

	receive({ open, request }) {
		if (open) this.#context.sessions.follow(open);
		if (request) void this.#respond(request);
	}

	async #respond({ name, ...request }) {
		this.#isReached = false;
		const requests = { start: () => this.#start(request), end: () => this.#context.sessions.storeRest(request) };
		const error = await requests[name]().then(() => undefined, (error) => error.message);
		this.#context.reports.send({ done: name, error });
		if (name === "end") end();
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
		const { address, notes, claims, sessions } = this.#context;
		const cwd = process.cwd();
		const own = sessionDir({ dir, cwd });
		const otherFiles = async () => (await import("../cli/sessions.mjs")).everySessionFile({ dir, cwd });
		const call = (name, file, input) => (sessions.isOpen(file) ? callPi({ name, file, input }) : callHere(name, file, input));
		const where = { dir: own === undefined ? defaultDir(cwd) : pathOf(own), isShared: own !== undefined, cwd, project: await sessions.projectOf(cwd) };
		return { address, notes, ...where, otherFiles, call, claim: claims.beforeAppend, ...pushRules(dirname(notes)) };
	}

	/** What the store lists. One that answers something may still take its time with the rest; one that does not is left alone for a while. */
	async #list(filter) {
		const { store, address, notes, reports } = this.#context;
		const errors = new LastErrors(notes, address);
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

	/** pi is gone, without having asked for its end, or while it waited for it. */
	async finish() {
		setTimeout(end, this.#context.timeout);
		if (this.#context.sessions.isEnding) return;
		await this.#context.sessions.storeRest({ tries: Infinity }).catch(() => {});
		end();
	}
}

takeAnswers();
const reports = new Reports();
let why;
process.on("uncaughtExceptionMonitor", (error) => (why = String(error)));
process.on("exit", (code) => reports.send({ ended: why ?? `exit code ${code}` }));
let follower;
for await (const line of createInterface({ input: process.stdin })) {
	const message = messageIn(line);
	if (message === undefined) continue;
	// Where pi's settings and sessions are, that of a renamed build.
	if (message.notes) process.env.PI_CODING_AGENT_DIR = dirname(message.notes);
	follower ??= new StoreFollower(await openStore(message.address, { host: hostId(message.notes), locks: message.notes }), message, reports);
	follower.receive(message);
}
if (follower) await follower.finish();
