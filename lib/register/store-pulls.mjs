// The follower's pulls: what the store has of this project and this machine lacks, at pi's start and then again and again.
import { statSync } from "node:fs";
import { createRequire } from "node:module";
import { pullCommand } from "./store-shared.mjs";

const require = createRequire(import.meta.url);
const { revisionOf } = require("../store/notes.js");

/** A session that lacks more than this, in bytes, is pulled beside the others. */
const LARGE = 4 << 20;
/** For how long a pull in the background begins more sessions. */
const DURATION_MS = 5000;
/** How soon others' lines are asked for again, and where that fails, or nobody says anything. */
const PAUSE_MS = 5000;
const LONG_PAUSE_MS = 60_000;

export class Pulls {
	#context;
	#sessions;
	#sync;
	/** How long to wait until the next pull, in milliseconds. */
	pause = 0;
	/** The revisions of the last pull; undefined before the first one, "" if the list is to be compared again. */
	#seen;
	/** The revision of each session whose pull failed, and when that, and what was left out, is asked for again. */
	#failed = new Set();
	#retryAt = Infinity;
	/** The pull of large sessions, while there is one: what others say meanwhile does not wait for it. */
	large;

	/**
	 * @param {import("./store-follower.mjs").Context} context
	 * @param {import("./store-sessions.mjs").Sessions} sessions
	 * @param {import("./store-sessions.mjs").Place} place what is pulled into
	 */
	constructor(context, sessions, place) {
		[this.#context, this.#sessions] = [context, sessions];
		this.#sync = sessions.syncFor(place);
	}

	/** Pulls what is new, if pi is to pull; gives why that failed, or undefined. */
	async pull() {
		try {
			const isMoreToDo = this.#context.settings.pull && (await this.#pullNew());
			this.pause = this.#sessions.isIdle() ? LONG_PAUSE_MS : PAUSE_MS;
			if (isMoreToDo) this.pause = 0;
		} catch (error) {
			this.#seen = "";
			this.pause = LONG_PAUSE_MS;
			return error;
		}
	}

	/**
	 * Pulls unless the store's list is the one that was seen before. After a few seconds it begins no more sessions, so that one that was
	 * begun meanwhile comes before the older ones that are left: gives whether there are some, and others came. What failed or was left out
	 * is asked for again when it has changed, or after a minute: an error may last, and each time a whole session would be loaded.
	 */
	async #pullNew() {
		const sync = this.#sync;
		const { reports, list, timeout, givenDir } = this.#context;
		const isFirst = this.#seen === undefined;
		const stored = await list({ project: sync.project, claims: isFirst });
		const now = JSON.stringify(stored.sessions.map(revisionOf));
		if (performance.now() >= this.#retryAt) {
			this.#failed.clear();
			[this.#seen, this.#retryAt] = ["", Infinity];
		}
		if (now === this.#seen) return false;
		const { items, problems } = await sync.compare(undefined, stored);
		if (isFirst) this.#context.claims.showUses(items.map(({ stored }) => stored));
		const wanted = this.#sessions.changeable(items).filter(({ stored }) => !this.#failed.has(revisionOf(stored)));
		const news = wanted.filter(isNews);
		const large = news.filter((item) => lackOf(item) > LARGE);
		const small = news.filter((item) => !large.includes(item));
		// Before any is pulled: what is pulled into a fork must not have lines that were redacted in its parent session.
		const redacted = await sync.takeRedactions(wanted);
		let done = 0;
		const onResult = () => isFirst && reports.send({ lacking: { left: news.length - ++done, of: news.length } });
		const pull = async (chosen) => {
			const results = await sync.pull({ items: wanted, chosen, redacted, duration: isFirst ? timeout : DURATION_MS, onResult });
			this.#take(results, wanted, isFirst);
			return results;
		};
		if (isFirst && news.length > 0) reports.send({ lacking: { left: news.length, of: news.length } });
		reports.showFew(problems.map(described), (count) => `${count} more problems; ${pullCommand(givenDir)} names them`);
		this.#seen = now;
		if (large.length > 0) this.large ??= this.#endOf(pull(large));
		const results = await pull(small);
		const pulled = results.filter(({ error }) => !error).length;
		if (pulled < items.filter(isNews).length) this.#retryLater();
		const isCut = results.length < small.length;
		if (isCut) this.#seen = "";
		return isCut && pulled > 0;
	}

	/** The end of a pull of large sessions. Its error is said here. @param {Promise<unknown>} pulling */
	async #endOf(pulling) {
		try {
			await pulling;
			// Something may have been added to them meanwhile.
			this.#seen = "";
		} catch (error) {
			if (!error.retryable) this.#context.reports.show(`others' lines are not pulled: ${error.message}`);
			this.#retryLater();
		} finally {
			this.large = undefined;
		}
	}

	#retryLater() {
		this.#retryAt = Math.min(this.#retryAt, performance.now() + LONG_PAUSE_MS);
	}

	/** Says what there is to say of what was pulled, and notes what failed. In the background what may pass by itself is not said. */
	#take(results, items, isFirst) {
		const said = results.filter(({ error }) => isFirst || !(error?.retryable || error?.code === "ERR_SESSION_LOCKED"));
		this.#context.reports.showFew(said.flatMap(outcome), (count) => `${count} more problems; ${pullCommand(this.#context.givenDir)} names them`);
		const rows = new Map(items.map(({ session, stored }) => [session, revisionOf(stored)]));
		for (const { session, error, problems } of results) if (error || problems.length > 0) this.#failed.add(rows.get(session));
	}
}

/** How many bytes of a session are not here, as far as its sizes tell. */
const lackOf = ({ file, stored }) => stored.bytes - (file === undefined ? 0 : (statSync(file, { throwIfNoEntry: false })?.size ?? 0));

const isNews = ({ state }) => state === "new" || state === "changed";

/** What a pull has to say of a session: lines, and the matter of those whose text may be another one each time. */
const outcome = ({ session, error, redacted, problems }) => [
	...(redacted > 0 ? [[`session ${session}: what was redacted elsewhere is redacted here`]] : []),
	...(error ? [[`session ${session}: ${error.message}`, `pull ${session} ${error.code}`]] : []),
	...problems.map(described),
];
const described = ({ session, where, message }) => [`session ${session}: ${where}: ${message}`];
