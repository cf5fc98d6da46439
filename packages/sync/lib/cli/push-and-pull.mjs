// `pi-sync push`, `pull` and `sync`: between the sessions here and a store.
import { basename } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { PING } from "../base/calls.js";
import { privateError } from "../base/errors.js";
import local from "../machine/local-sessions.js";
import { isToPull } from "../sync/sync.js";
import { listedFor, storedSession } from "./manage.mjs";
import { isPath, localSession, sessionHere } from "./places.mjs";
import { syncHere, syncOf, syncsOfAll, withStore } from "./store-connection.mjs";
import {
	CommandError,
	counted,
	paint,
	safeLine,
	size,
	UsageError,
	withProgress,
	write,
	writeJson,
	writeWarning,
} from "./terminal.mjs";

/** @typedef {import("./store-connection.mjs").Connection} Connection */
/** @typedef {import("./store-connection.mjs").Options} Options */
/** @typedef {import("../index.js").SessionSync} SessionSync */
/**
 * @typedef {{ rows: Row[], elsewhere?: { sessions: number }, privateCount?: number, emptyCount?: number }} Work
 * `elsewhere`: what is stored of projects
 *   that have no directory here; `privateCount`: how many private sessions were left out, where nothing else is said; `emptyCount`: how many have no entry yet
 */
/**
 * @typedef {{ session: string, file: string, what: string, error?: string, notes?: string[] }} Row what was done with a
 * session, or would be
 */

/** How often a push is tried, with pauses of 0.4 s at first, which double. */
const TRIES = 5;
const FIRST_PAUSE_MS = 200;

/**
 * A command that works on one session, or on those of projects, and reports what it did.
 * @param {(connection: Connection, query: string | undefined, options: Options) => Promise<Work>} work
 * @param {string} nothing what it prints if there was nothing to do
 * @returns {(query: string | undefined, options: Options) => Promise<number>}
 */
const command = (work, nothing) => async (query, options) => {
	if (options.all && query !== undefined) throw new UsageError("--all cannot be combined with a session");
	return await withStore(options, async (connection) =>
		report(connection, await work(connection, query, options), options, nothing),
	);
};

export const push = command(async (connection, query, options) => {
	// A store that does not answer is reported once, not once for each session.
	await connection.store.list(PING);
	return pushed(connection, query, options);
}, "Everything is stored");

export const pull = command(pulled, "The store has nothing new");

/** Pull, then push. */
export const sync = command(async (connection, query, options) => {
	// An id that is only here cannot be found in the store.
	const isStored =
		query === undefined || isPath(query) || (await storedIds(connection, query)).some((id) => id.startsWith(query));
	const down = isStored ? await pulled(connection, query, options) : { rows: [] };
	try {
		const up = await pushed(connection, query, options);
		const said = new Set(down.rows.map(({ session, what }) => `${session} ${what}`));
		return {
			...down,
			...up,
			rows: [...down.rows, ...up.rows.filter(({ session, what }) => !said.has(`${session} ${what}`))],
		};
	} catch (error) {
		// A session that could not be pulled may not be here.
		if (error instanceof CommandError && down.rows.some((row) => row.error !== undefined)) return down;
		throw error;
	}
}, "Nothing to do: here and in the store are the same sessions");

/**
 * @param {Connection} connection @param {string | undefined} query @param {Options} options @returns {Promise<Work>}
 */
async function pushed(connection, query, options) {
	/** @type {string | undefined} */
	let session;
	let syncs;
	if (query === undefined)
		syncs = options.all ? await syncsOfAll(connection, options) : [await syncHere(connection, options)];
	else {
		const found = await localSession(query, options);
		session = found.session;
		const sync = await syncOf(connection, found, options);
		if (sync.isPrivate(found)) throw new CommandError(privateError(session).message);
		syncs = [sync];
	}
	/** @type {Row[]} */
	const rows = [];
	// Of a session that was named it has been said.
	if (query === undefined)
		for (const dir of new Set(syncs.map(({ dir }) => dir)))
			await local.localSessions(dir, (file, why) =>
				writeWarning(`Not stored: ${safeLine(file)}: ${safeLine(why)}`, Boolean(options.json)),
			);
	for (const sync of syncs) {
		if (options.dryRun) {
			const waiting = (await sync.local(session))
				.map((one) => ({ ...one, lag: sync.lagOf(one) }))
				.filter(({ lag }) => lag > 0);
			for (const { session, file, lag } of waiting) rows.push({ session, file, what: `${size(lag)} to be stored` });
			continue;
		}
		const pushes = await withProgress("Storing bytes", (update) => pushPatiently(sync, session, update));
		for (const { session: id, file, bytes, emptied, error } of pushes) {
			const notes = emptiedNote(emptied);
			// Of one that was named it is an error.
			if (query === undefined && Object(error).code === "deleted") rows.push(deletedRow({ session: id, file }));
			else if (bytes > 0 || error || notes.length > 0)
				rows.push({ session: id, file, what: `${size(bytes)} stored`, error: error?.message, notes });
		}
	}
	if (rows.length > 0) return { rows };
	const all = (
		await Promise.all(syncs.map(async (sync) => (await sync.local(session)).map((one) => ({ ...one, sync }))))
	).flat();
	const privateCount = all.filter(({ sync, ...one }) => sync.isPrivate(one)).length;
	return {
		rows,
		privateCount,
		emptyCount: all.filter(({ sync, ...one }) => !sync.isPrivate(one) && !sync.isNoted(one.session)).length,
	};
}

/**
 * Stores what the files hold. What fails by an error that may pass is tried again, until some tries in a row have
 * stored nothing.
 * @param {SessionSync} sync
 * @param {string | undefined} session
 * @param {(done: number, total: number) => void} onProgress
 */
async function pushPatiently(sync, session, onProgress) {
	/** @type {Map<string, import("../index.js").PushResult>} */
	const results = new Map();
	let left = await sync.local(session);
	for (let failures = 0; left.length > 0 && failures < TRIES; failures++) {
		if (failures > 0) await wait(FIRST_PAUSE_MS * 2 ** failures);
		for (const one of await sync.push({ session, local: left, onProgress })) {
			if (one.bytes > 0) failures = 0;
			results.set(one.session, { ...one, bytes: one.bytes + (results.get(one.session)?.bytes ?? 0) });
		}
		left = left.filter(({ session }) => Object(results.get(session)?.error).retryable);
	}
	return [...results.values()];
}

/**
 * @param {Connection} connection
 * @param {string | undefined} query
 * @param {Options} options
 * @returns {Promise<Work>}
 */
async function pulled(connection, query, options) {
	/** @type {string | undefined} */
	let session;
	/** @type {SessionSync[]} */
	let syncs = [];
	if (query !== undefined && isPath(query)) {
		const found = await localSession(query, options);
		session = found.session;
		syncs = [await syncOf(connection, found, options)];
	} else if (query !== undefined) {
		const list = await listedFor(connection, query);
		if (list.deleted.some((one) => one.session === query)) {
			const kept = await sessionHere(query, options);
			if (kept) return { rows: [deletedRow(kept)] };
			throw new CommandError(`Session ${safeLine(query)} was deleted from the store, and is not here`);
		}
		session = storedSession(query, list);
		if (!list.sessions.some((stored) => stored.session === session))
			return { rows: list.problems.filter((problem) => problem.session === session).map(problemRow) };
		// The directory of its file if it has one; else the working directory.
		const found = await sessionHere(session, options);
		if (found) syncs = [await syncOf(connection, found, options)];
	} else if (options.all) syncs = await syncsOfAll(connection, options);
	if (syncs.length === 0) syncs = [await syncHere(connection, options)];
	/** @type {Row[]} */
	const rows = [];
	/** @type {Set<string>} */
	const listed = new Set();
	for (const sync of syncs) {
		const { items, problems, deleted } = await sync.compare({ session });
		for (const item of items) listed.add(item.session);
		for (const problem of problems) rows.push(problemRow(problem));
		for (const one of deleted) rows.push(deletedRow(one));
		const fresh = items.filter(isToPull);
		if (options.dryRun) {
			for (const { session: id, file, state, stored } of fresh)
				rows.push({
					session: id,
					file: file ?? "",
					what: state === "new" ? `${size(stored.bytes)} to be pulled` : "may have changed since the last pull",
				});
			continue;
		}
		/** @type {import("../index.js").PullResult[]} */
		const pulls = await withProgress("Pulling sessions", (update) => sync.pull({ items, onProgress: update }));
		for (const { session: id, file, isNew, added, redacted, emptied, problems, error } of pulls) {
			const failure =
				error?.message ??
				(problems.length > 0 ? problems.map(({ where, message }) => `${where}: ${message}`).join("; ") : undefined);
			const notes = [
				...(redacted > 0 ? [`${counted(redacted, "line")} redacted, as elsewhere`] : []),
				...emptiedNote(emptied),
			];
			if (isNew || added > 0 || failure !== undefined || notes.length > 0)
				rows.push({ session: id, file, what: `${counted(added, "line")} added`, error: failure, notes });
		}
	}
	return { rows, ...(options.all ? { elsewhere: await storedElsewhere(connection, listed) } : {}) };
}

/** @param {number} emptied how many lines of a file */
export const emptiedNote = (emptied) =>
	emptied > 0
		? [`${counted(emptied, "line")} lost all that they say: two machines had redacted them in different ways`]
		: [];

/** @param {{ session: string, file: string }} one @returns {Row} */
const deletedRow = ({ session, file }) => ({
	session,
	file,
	what: "deleted from the store, stays here",
	notes: [`pi-sessions fork ${session} makes a session of it that is stored`],
});

/** @param {import("../index.js").Problem} problem @returns {Row} */
const problemRow = ({ session, where, message }) => ({ session, file: "", what: "", error: `${where}: ${message}` });

/**
 * How many sessions are stored of projects that have no directory here: `--all` cannot know where to put them.
 * @param {Connection} connection
 * @param {Set<string>} listed the sessions of those that have one
 */
async function storedElsewhere({ store }, listed) {
	const { sessions } = await store.list();
	return { sessions: sessions.filter(({ session }) => !listed.has(session)).length };
}

/**
 * The ids of what is stored, those that cannot be read included. @param {Connection} connection @param {string} query
 */
async function storedIds(connection, query) {
	const { sessions, problems } = await listedFor(connection, query);
	return [...sessions, ...problems].map(({ session }) => session);
}

/**
 * @param {Connection} connection
 * @param {Work} work
 * @param {Options} options
 * @param {string} nothing
 */
async function report({ shown, store }, { rows, elsewhere, privateCount = 0, emptyCount = 0 }, options, nothing) {
	const failed = rows.filter(({ error }) => error !== undefined);
	if (options.json)
		await writeJson({ store: shown, host: store.host, dryRun: Boolean(options.dryRun), sessions: rows, elsewhere });
	else {
		for (const { session, file, what, error, notes = [] } of rows) {
			// Without a file there is only the session.
			const name = file === "" ? safeLine(session) : `${safeLine(session)}  ${paint.dim(safeLine(basename(file)))}`;
			await write(
				error === undefined
					? `${paint.green(what)}  ${name}\n`
					: `${paint.red("failed")}  ${name}: ${safeLine(error)}\n`,
			);
			for (const note of notes) await write(`  ${safeLine(note)}\n`);
		}
		const others = [
			...(privateCount > 0 ? [counted(privateCount, "private session")] : []),
			...(emptyCount > 0 ? [`${counted(emptyCount, "session")} with nothing to store yet`] : []),
		];
		if (rows.length === 0) await write(`${nothing}${others.length > 0 ? `, but for ${others.join(" and ")}` : ""}\n`);
		if (elsewhere?.sessions)
			await write(
				`${counted(elsewhere.sessions, "more stored session")} of projects without a session directory here; pi-sync status --all --sessions lists what is stored\n`,
			);
	}
	return failed.length > 0 ? 1 : 0;
}
