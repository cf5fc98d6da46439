// The follower's pulls: what the store has of this project and this machine lacks, at pi's start and then again and again.
import { createRequire } from "node:module";
import { RETRY_MS } from "./schedule.mjs";
import { pullCommand } from "./common.mjs";

const require = createRequire(import.meta.url);
const { revisionOf } = require("../store/notes.js");
const { isLarge, isToPull } = require("../store/sync.js");

/** For how long a pull in the background begins more sessions. */
const DURATION_MS = 5000;
/** How soon others' lines are asked for again, and where nobody says anything. */
const PAUSE_MS = 5000;
const LONG_PAUSE_MS = 60_000;

export class Pulls {
	#context;
	#sessions;
	#sync;
	/** The revisions of the last pull; undefined before the first one, "" if the list is to be compared again. */
	#seen;
	/**
	 * When a session whose pull failed, or that was left out, is asked for again, by its revision: an error may last, and each time a whole
	 * session would be loaded.
	 */
	#retries = new Map();
	/** The revisions that were compared with the files here, and pulled if they were new, or are in `#retries`. */
	#settled = new Set();
	/** The pull of large sessions, while there is one: what others say meanwhile does not wait for it. */
	large;

	/**
	 * @param {import("./follower.mjs").Context} context
	 * @param {import("./sessions.mjs").Sessions} sessions
	 * @param {import("./sessions.mjs").Place} place what is pulled into
	 */
	constructor(context, sessions, place) {
		[this.#context, this.#sessions] = [context, sessions];
		this.#sync = sessions.syncFor(place);
	}

	/** Pulls what is new, if pi is to pull. Gives after how many milliseconds that is to be done again. */
	async pull() {
		try {
			if (this.#context.settings.pull && (await this.#pullNew())) return 0;
			return this.#sessions.isIdle() ? LONG_PAUSE_MS : PAUSE_MS;
		} catch (error) {
			this.#seen = "";
			throw error;
		}
	}

	/**
	 * Pulls unless the store's list is the one that was seen before. After a few seconds it begins no more sessions, so that one that was
	 * begun meanwhile comes before the older ones that are left: gives whether there are some, and others came.
	 */
	async #pullNew() {
		const sync = this.#sync;
		const { reports, list, timeout, givenDir } = this.#context;
		const isFirst = this.#seen === undefined;
		const stored = await list({ project: sync.project, presence: isFirst });
		const now = JSON.stringify(stored.sessions.map(revisionOf));
		for (const [revision, at] of this.#retries) {
			if (performance.now() < at) continue;
			this.#retries.delete(revision);
			this.#settled.delete(revision);
			this.#seen = "";
		}
		if (now === this.#seen) return false;
		this.#settled = new Set(stored.sessions.map(revisionOf).filter((revision) => this.#settled.has(revision)));
		const { items, problems } = await sync.compare(undefined, stored, (one) => this.#settled.has(revisionOf(one)));
		if (isFirst) this.#context.presence.reportOthers(items.map(({ stored }) => stored));
		const others = items.filter(({ state }) => state !== "same");
		const wanted = this.#sessions.changeable(others).filter(({ stored }) => !this.#retries.has(revisionOf(stored)));
		const news = wanted.filter(isToPull);
		const large = news.filter(isLarge);
		const small = news.filter((item) => !large.includes(item));
		// Before any is pulled: what is pulled into a fork must not have lines that were redacted in its parent session.
		const fetched = await sync.fetchRedactions(wanted);
		let done = 0;
		const onResult = () => isFirst && reports.send({ lacking: { left: news.length - ++done, of: news.length } });
		const pull = async (chosen) => {
			const results = await sync.pull({ items, chosen, fetched, duration: isFirst ? timeout : DURATION_MS, onResult });
			this.#take(results, chosen, isFirst);
			return results;
		};
		if (isFirst && news.length > 0) reports.send({ lacking: { left: news.length, of: news.length } });
		reports.showFew(problems.map(described), (count) => `${count} more problems; ${pullCommand(givenDir)} names them`);
		this.#seen = now;
		this.#settle(items.filter((item) => !isToPull(item)));
		this.#retryLater(others.filter((item) => isToPull(item) && !news.includes(item)));
		if (large.length > 0) this.large ??= this.#endOf(pull(large), large);
		const results = await pull(small);
		if (results.length === small.length) return false;
		this.#seen = "";
		return results.some(({ error }) => !error);
	}

	/** The end of a pull of large sessions. Its error is said here. */
	async #endOf(pulling, large) {
		try {
			await pulling;
			// Something may have been added to them meanwhile.
			this.#seen = "";
		} catch (error) {
			this.showFailure(error);
			this.#retryLater(large);
		} finally {
			this.large = undefined;
		}
	}

	/** What may pass by itself is not said. */
	showFailure(error) {
		if (!error.retryable) this.#context.reports.show(`others' lines are not pulled: ${error.message}`);
	}

	/** These sessions are asked for again when they have changed, or after a minute. */
	#retryLater(items) {
		for (const { stored } of items) {
			const revision = revisionOf(stored);
			if (!this.#retries.has(revision)) this.#retries.set(revision, performance.now() + RETRY_MS);
		}
		this.#settle(items);
	}

	#settle(items) {
		for (const { stored } of items) this.#settled.add(revisionOf(stored));
	}

	/** Says what there is to say of what was pulled. In the background what may pass by itself is not said. */
	#take(results, items, isFirst) {
		const said = results.filter(({ error }) => isFirst || !(error?.retryable || error?.code === "ERR_SESSION_LOCKED"));
		this.#context.reports.showFew(said.flatMap(outcome), (count) => `${count} more problems; ${pullCommand(this.#context.givenDir)} names them`);
		const pulled = new Set(results.map(({ session }) => session));
		this.#settle(items.filter(({ session }) => pulled.has(session)));
		const failed = new Set(results.filter(({ error, problems }) => error || problems.length > 0).map(({ session }) => session));
		this.#retryLater(items.filter(({ session }) => failed.has(session)));
	}
}

/** What a pull has to say of a session: lines, and the matter of those whose text may be another one each time. */
const outcome = ({ session, error, redacted, problems }) => [
	...(redacted > 0 ? [[`session ${session}: what was redacted elsewhere is redacted here`]] : []),
	...(error ? [[`session ${session}: ${error.message}`, `pull ${session} ${error.code}`]] : []),
	...problems.map(described),
];
const described = ({ session, where, message }) => [`session ${session}: ${where}: ${message}`];
