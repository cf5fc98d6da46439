// The follower: the process beside pi that alone talks to its store, for as long as pi runs (messages.mjs has the messages). It
// pulls for pi's start (pulls.mjs), stores what pi has open, and the rest at pi's end (sessions.mjs), and shows others what is
// open here (presence.mjs). These are done again and again (schedule.mjs):
//
//   what            is done again
//   a pull          5 s after the one before, a minute after it if no open session has changed for ten minutes, at once if sessions are
//                   left. A session whose pull failed, or that was left out: when it has changed in the store, or after a minute
//   abandoned ones  after 5 s; after 0.25 s if a push stored something and then failed
//   an open file    every 0.25 s, at once if its push took longer, until pi has closed it and it is stored. Others are shown every 20 s
//                   that it is open
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { getConfiguredSessionDir } from "../../../../index.mjs";
import { defaultDir, pathOf } from "../../../../lib/shared/session-dir.mjs";
import { PING } from "../base/calls.js";
import { asError, messageOf } from "../base/errors.js";
import { hostId, openStore } from "../index.js";
import { LastErrors } from "../machine/last-errors.js";
import { Pending } from "../machine/pending.js";
import { pushRules, readSettings } from "../machine/settings.js";
import { Reports, takeAnswer } from "./messages.mjs";
import { Presence } from "./presence.mjs";
import { Pulls } from "./pulls.mjs";
import { Schedule } from "./schedule.mjs";
import { Sessions } from "./sessions.mjs";

/** Ends at once. A call that hangs would keep `process.exit` waiting. */
const end = () => process.kill(process.pid, "SIGKILL");

/**
 * What the parts of the follower share.
 * @typedef {object} Context
 * @property {import("../index.js").LineStore} store
 * @property {string} address
 * @property {string} notesDir the directory of this machine's notes
 * @property {number} timeout how long pi waits for the store, in milliseconds
 * @property {string | undefined} givenDir pi's argument `--session-dir`
 * @property {(cwd: string) => string | undefined} namedDir the session directory that it, the environment or pi's settings name
 * @property {import("../machine/settings.js").Settings} settings
 * @property {ReturnType<typeof import("../machine/settings.js").pushRules>} rules what may leave this machine
 * @property {import("../machine/pending.js").Pending} pending pi's pending sessions, and those of other processes
 * @property {import("../machine/last-errors.js").LastErrors} errors
 * @property {Reports} reports
 * @property {Presence} presence
 * @property {Schedule} schedule
 * @property {(filter: import("../index.js").ListFilter) => Promise<import("../index.js").SessionList>} list what the store lists
 * @property {() => Promise<void>} reach asks whether the store answers
 */

/** @typedef {import("./messages.mjs").First} First */
/** @typedef {import("./messages.mjs").ToFollower} ToFollower */

class StoreFollower {
	/** @type {Context} */
	#context;
	#sessions;
	/** Whether it is reported that the store has answered, at pi's start or at its end. */
	#isReached = false;

	/** @param {import("../index.js").LineStore} store @param {First} first @param {Reports} reports */
	constructor(store, { address, notesDir, pendingId, timeout, start }, reports) {
		const agentDir = dirname(notesDir);
		this.#context = {
			...{ store, address, notesDir, timeout, reports, givenDir: start?.dir },
			namedDir: (cwd) => start?.dir ?? getConfiguredSessionDir(cwd),
			settings: readSettings(agentDir),
			rules: pushRules(agentDir),
			pending: new Pending(notesDir, address, pendingId),
			errors: new LastErrors(notesDir, address),
			presence: new Presence({ store, reports }),
			schedule: new Schedule(),
			list: (filter) => this.#reach().then(() => this.#noted(store.list(filter))),
			reach: () => this.#reach(),
		};
		this.#sessions = new Sessions(this.#context);
		if (start) void this.#report("start", this.#start());
	}

	/** @param {First} first @param {Reports} reports */
	static async open(first, reports) {
		// Where pi's settings and sessions are, that of a renamed build.
		process.env.PI_CODING_AGENT_DIR = dirname(first.notesDir);
		return new StoreFollower(await openStore(first.address, { host: hostId(first.notesDir), locks: first.notesDir }), first, reports);
	}

	/** @param {ToFollower} message */
	receive({ open, answer }) {
		if (open) this.#sessions.follow(open);
		if (answer) takeAnswer(answer);
	}

	/** Reports when something is done that pi waits for. @param {"start" | "end"} done @param {Promise<unknown>} work */
	async #report(done, work) {
		const error = await work.then(() => undefined, messageOf);
		this.#context.reports.send({ done, error });
	}

	/** pi ends, or was killed. */
	async end() {
		this.#isReached = false;
		setTimeout(end, this.#context.timeout);
		await this.#report("end", this.#sessions.storeRest());
		end();
	}

	async #start() {
		const { schedule, settings, timeout } = this.#context;
		const place = await this.#placeHere();
		const pulls = new Pulls(this.#context, this.#sessions, place);
		const pulled = settings.pull ? schedule.add(() => pulls.pull(), (error) => pulls.showFailure(error)) : Promise.resolve();
		// After the pull, which notices that a store was set back. What is on a drive that hangs keeps nothing else waiting.
		await pulled.catch(() => {});
		await Promise.race([this.#sessions.findAbandoned(place), wait(timeout / 4)]);
		if (settings.push) schedule.add(() => this.#sessions.storeAbandoned()).catch(() => {});
		await pulled;
	}

	/** Where the sessions of pi's working directory are. @returns {Promise<import("./sessions.mjs").Place>} */
	async #placeHere() {
		const cwd = process.cwd();
		const own = this.#context.namedDir(cwd);
		return { dir: own === undefined ? defaultDir(cwd) : pathOf(own), isShared: own !== undefined, cwd, project: await this.#sessions.cachedProject(cwd) };
	}

	/** Asks whether the store answers, and reports it: a store that does may still take its time with what it lists. */
	async #reach() {
		if (this.#isReached) return;
		await this.#noted(this.#context.store.list(PING));
		if (!this.#isReached) this.#context.reports.send({ isReached: true });
		this.#isReached = true;
	}

	/**
	 * Notes whether a call succeeds: a store that does not answer is left alone for a while.
	 * @template T
	 * @param {Promise<T>} call
	 */
	async #noted(call) {
		const { errors } = this.#context;
		try {
			const result = await call;
			errors.set(undefined, undefined);
			return result;
		} catch (error) {
			// That it did not answer in time counts for a minute.
			if (!errors.isSilent()) errors.set(undefined, asError(error));
			throw error;
		}
	}
}

const reports = new Reports();
/** @type {string | undefined} */
let why;
process.on("uncaughtExceptionMonitor", (error) => (why = String(error)));
process.on("exit", (code) => reports.send({ ended: why ?? `exit code ${code}` }));
const follower = new Promise((resolve) => process.once("message", resolve)).then((first) => StoreFollower.open(first, reports));
process.on("message", async (message) => (await follower).receive(/** @type {ToFollower} */ (message)));
process.stdin.resume().once("end", async () => (await follower).end());
