// The follower's pulls: what the store has of this project and this machine lacks, at pi's start and then again and again.
import { once } from "node:events";
import { messageOf } from "../base/errors.js";
import { revisionOf } from "../machine/notes.js";
import { isToPull } from "../sync/sync.js";
import { emptiedLine, pullCommand } from "./common.mjs";

/** @typedef {import("../index.js").PullResult} PullResult */
/** @typedef {import("../index.js").StoredSession} StoredSession */
/** @typedef {import("../index.js").SyncItem} SyncItem */

/** For how long a pull in the background begins more sessions. */
const DURATION_MS = 5000;
/** How soon others' lines are asked for again, and where nobody says anything. */
const PAUSE_MS = 5000;
const LONG_PAUSE_MS = 60_000;
/** When a session whose pull failed, or that was left out, is looked at again: each time a whole session may be loaded. */
const RETRY_MS = 60_000;
/** How often it is asked, while a session is open here, which other hosts have it open. */
const PRESENCE_MS = 20_000;

export class Pulls {
	#context;
	#sessions;
	#sync;
	#isFirst = true;
	/** From when on a session is looked at again, by its revision. One that is up to date is not, while it stays as it is in the list. @type {Map<string, number>} */
	#lookAgainAt = new Map();
	/** When lines were last pulled into a session. @type {Map<string, number>} */
	#pulledAt = new Map();
	#presenceAt = -Infinity;

	/**
	 * @param {import("./follower.mjs").Context} context
	 * @param {import("./sessions.mjs").Sessions} sessions
	 * @param {import("./sessions.mjs").Place} place what is pulled into
	 */
	constructor(context, sessions, place) {
		this.#context = context;
		this.#sessions = sessions;
		this.#sync = sessions.syncFor(place);
	}

	/**
	 * Pulls what is new, the newest sessions first. After a few seconds no more are begun, so that one that another host begins meanwhile comes
	 * before the older ones that are left, and those that take longer are not waited for. Gives after how many milliseconds that is to be done
	 * again.
	 */
	async pull() {
		const { list, presence, reports, timeout, givenDir } = this.#context;
		const isFirst = this.#isFirst;
		const pause = this.#sessions.isIdle() ? LONG_PAUSE_MS : PAUSE_MS;
		const open = this.#sessions.openIds();
		const wantsPresence = isFirst || (open.size > 0 && performance.now() - this.#presenceAt >= PRESENCE_MS);
		const stored = await list({ project: this.#sync.project, presence: wantsPresence });
		if (wantsPresence) {
			presence.reportOthers(stored.sessions.filter(({ session }) => isFirst || open.has(session)));
			this.#presenceAt = performance.now();
		}
		this.#isFirst = false;
		const isDue = (/** @type {StoredSession} */ one) => (this.#lookAgainAt.get(revisionOf(one)) ?? 0) <= performance.now();
		// One that the list does not have any more may have been lost.
		if (!isFirst && stored.sessions.length === this.#lookAgainAt.size && !stored.sessions.some(isDue)) return pause;
		const { items, problems } = await this.#sync.compare({ list: stored, only: isDue });
		const revisions = new Set(stored.sessions.map(revisionOf));
		for (const revision of this.#lookAgainAt.keys()) if (!revisions.has(revision)) this.#lookAgainAt.delete(revision);
		const show = (/** @type {string[][]} */ lines) => reports.showFew(lines, (count) => `${count} more problems; ${pullCommand(givenDir)} names them`);
		show(problems.map(described));
		const isTooSoon = (/** @type {SyncItem} */ { session, file }) =>
			performance.now() - (this.#pulledAt.get(session) ?? -Infinity) < RETRY_MS && this.#sessions.isLargeOpen(file);
		const changeable = this.#sessions.changeable(items).filter((item) => !isTooSoon(item));
		const news = changeable.filter(isToPull);
		const report = (/** @type {number} */ left) => isFirst && news.length > 0 && reports.send({ lacking: { left, of: news.length } });
		for (const item of items) if (!news.includes(item)) this.#lookAgain(item.stored, isToPull(item));
		report(news.length);
		const byId = new Map(news.map(({ session, stored }) => [session, stored]));
		let done = 0;
		const onResult = (/** @type {PullResult} */ { session, added, error, problems }) => {
			if (added > 0) this.#pulledAt.set(session, performance.now());
			this.#lookAgain(/** @type {StoredSession} */ (byId.get(session)), error !== undefined || problems.length > 0);
			report(news.length - ++done);
		};
		const duration = isFirst ? timeout : DURATION_MS;
		const over = new AbortController();
		// Not before: where fetching what was redacted takes longer, nothing would ever be begun.
		const onBegin = () => void setTimeout(() => over.abort(), duration);
		const pulling = this.#sync.pull({ items: changeable, signal: over.signal, onBegin, onResult }).then(
			(results) => show(results.filter(({ error }) => isFirst || !mayPass(error)).flatMap(outcome)),
			(error) => {
				for (const { stored } of news) this.#lookAgain(stored, true);
				this.showFailure(error);
			},
		);
		await Promise.race([pulling, once(over.signal, "abort")]);
		return done > 0 && done < news.length ? 0 : pause;
	}

	/** Looks at a session again when it changes; if its pull is not finished, after a minute, too. @param {StoredSession} stored @param {boolean} isUnfinished */
	#lookAgain(stored, isUnfinished) {
		this.#lookAgainAt.set(revisionOf(stored), isUnfinished ? performance.now() + RETRY_MS : Infinity);
	}

	/** What may pass by itself is not said. @param {unknown} error */
	showFailure(error) {
		if (!mayPass(error)) this.#context.reports.show(`others' lines are not pulled: ${messageOf(error)}`);
	}
}

/** Whether an error of a pull may pass by itself. @param {unknown} error */
const mayPass = (error) => Object(error).retryable === true || Object(error).code === "ERR_SESSION_LOCKED";

/** What a pull has to say of a session: lines, and the matter of those whose text may be another one each time. @param {PullResult} result */
const outcome = ({ session, error, redacted, emptied, problems }) => [
	...(redacted > 0 ? [[`session ${session}: what was redacted elsewhere is redacted here`]] : []),
	...(emptied > 0 ? [[emptiedLine(session)]] : []),
	...(error ? [[`session ${session}: ${error.message}`, `pull ${session} ${Object(error).code}`]] : []),
	...problems.map(described),
];
/** @param {import("../index.js").Problem} problem */
const described = ({ session, where, message }) => [`session ${session}: ${where}: ${message}`];
