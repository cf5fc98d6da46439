// `pi-sync push`, `pull` and `sync`: between the sessions of this machine and a store.
import { basename } from "node:path";
import { PING } from "../base/calls.js";
import { privateError } from "../base/errors.js";
import local from "../machine/local-sessions.js";
import sessionFile from "../machine/session-file.js";
import { isToPull } from "../sync/sync.js";
import { listedFor, storedSession } from "./delete-and-move.mjs";
import { checkDirectory, isPath, localSession, sessionHere } from "./sessions.mjs";
import { syncHere, syncOf, syncsOfAll, withStore } from "./store-connection.mjs";
import {
	CommandError,
	counted,
	paint,
	safeLine,
	size,
	UsageError,
	withoutId,
	write,
	writeJson,
	writeWarning,
} from "./terminal.mjs";

/** The reason why a session is not pulled now. */
export const OPEN = "open in a pi of this machine: pulled after pi closes it";
/** The codes of errors that have one cause, which is the store, in whatever session they appear. */
const STORE_WIDE = new Set(["unreachable", "full", "read-only"]);

/** @typedef {import("./store-connection.mjs").Connection} Connection */
/** @typedef {import("./store-connection.mjs").Options} Options */
/** @typedef {import("../index.js").SessionSync} SessionSync */
/**
 * @typedef {{ rows: Row[], privateCount?: number, emptyCount?: number, without?: string }} Work `privateCount`: the
 * number of skipped private sessions, if there are no rows; `emptyCount`: the number of sessions without an entry;
 * `without`: the project, if it has no sessions on this machine
 */
/**
 * The result for a session, or in a dry run the expected result. docs/store-adapters.md describes the fields.
 * @typedef {object} Row
 * @property {string} session
 * @property {string} file empty if the session has no file
 * @property {"pushed" | "pulled" | "open" | "deleted" | "failed"} state
 * @property {number} [bytes]
 * @property {number} [added]
 * @property {number} [redacted]
 * @property {string} [error]
 * @property {string} [code]
 */

/**
 * A command that works on one session, or on the sessions of projects, and reports the results.
 * @param {(connection: Connection, query: string | undefined, options: Options) => Promise<Work>} work
 * @param {string} nothing the output if there was nothing to do
 * @returns {(query: string | undefined, options: Options) => Promise<number>}
 */
const command = (work, nothing) => async (query, options) => {
	if (options.all && query !== undefined) throw new UsageError("--all cannot be combined with a session");
	return await withStore(options, async (connection) =>
		report(connection, await work(connection, query, options), options, nothing),
	);
};

export const push = command(async (connection, query, options) => {
	checkDirectory("--dir", options.dir);
	// A store that does not answer is reported once, not once for each session.
	await connection.store.list(PING);
	return pushed(connection, query, options);
}, "Everything is stored");

export const pull = command(pulled, "The store has nothing new");

/** Pull, then push. */
export const sync = command(async (connection, query, options) => {
	const isStored = query === undefined || isPath(query) || (await hasStored(connection, query));
	const down = isStored ? await pulled(connection, query, options) : { rows: [] };
	try {
		const up = await pushed(connection, query, options);
		return { ...up, rows: [...down.rows, ...up.rows] };
	} catch (error) {
		// A session that could not be pulled may have no file on this machine.
		if (error instanceof CommandError && down.rows.some((row) => row.error !== undefined)) return down;
		throw error;
	}
}, "Nothing to do: this machine and the store have the same sessions");

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
	// For a named session it is an error.
	if (query === undefined)
		for (const dir of new Set(syncs.map(({ dir }) => dir)))
			await local.localSessions(dir, (file, why) =>
				writeWarning(`Not stored: ${safeLine(file)}: ${safeLine(why)}`, Boolean(options.json)),
			);
	// Of all projects, because a session may have been stored under another name of its project.
	const list = options.dryRun ? await connection.store.list({ session }) : undefined;
	const gone = new Set(list?.deleted.map((one) => one.session));
	const listed = list && idsIn(list);
	for (const sync of syncs) {
		if (listed) {
			for (const one of await sync.local(session)) {
				const lag = await lagOf(sync, one, listed);
				if (gone.has(one.session) && (lag > 0 || query !== undefined)) rows.push(deletedRow(one));
				else if (lag > 0) {
					const problem = listed.has(one.session) ? undefined : sync.projectProblem;
					const state = problem === undefined ? "pushed" : "failed";
					const expected = failure(problem === undefined ? undefined : { message: problem });
					rows.push({ session: one.session, file: one.file, state, bytes: lag, ...expected });
				}
			}
			continue;
		}
		for (const { session: id, file, bytes, error } of await sync.push({ session })) {
			// For a named session it is an error.
			if (query === undefined && Object(error).code === "deleted") rows.push(deletedRow({ session: id, file }));
			else if (bytes > 0 || error)
				rows.push({ session: id, file, state: error ? "failed" : "pushed", bytes, ...failure(error) });
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
		...(all.length === 0 && !options.all && { without: syncs[0]?.project }),
		emptyCount: all.filter(({ sync, ...one }) => !sync.isPrivate(one) && !sync.isNoted(one.session)).length,
	};
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
			throw new CommandError(`Session ${safeLine(query)} was deleted from the store, and has no file on this machine`);
		}
		session = storedSession(query, list);
		if (!list.sessions.some((stored) => stored.session === session))
			return { rows: list.problems.filter((problem) => problem.session === session).map(problemRow) };
		// It is pulled into the directory of its file; without one into the working directory's.
		const found = await sessionHere(session, options);
		if (found) syncs = [await syncOf(connection, found, options)];
	} else if (options.all) syncs = await syncsOfAll(connection, options);
	if (syncs.length === 0) syncs = [await syncHere(connection, options)];
	// Other directories of `--all` only cause a warning, because a directory that was deleted has no project any more.
	const problem = query === undefined && !options.all ? syncs[0]?.projectProblem : undefined;
	if (problem !== undefined) throw new CommandError(problem);
	/** @type {Row[]} */
	const rows = [];
	for (const sync of syncs) {
		const { items, problems } = await sync.compare({ session });
		for (const problem of problems) rows.push(problemRow(problem));
		const open = await sync.behind(items.filter(({ state }) => state === "open"));
		for (const { session: id, file = "" } of open) rows.push({ session: id, file, state: "open" });
		const fresh = items.filter(isToPull);
		if (options.dryRun) {
			// How much of a known session is missing is only known after a pull.
			for (const { session: id, file = "", state, stored } of fresh)
				rows.push({ session: id, file, state: "pulled", ...(state === "new" && { bytes: stored.bytes }) });
			continue;
		}
		for (const result of await sync.pull({ items })) {
			const { session: id, file, isNew, added, redacted, problems, error } = result;
			const text = problems.map(({ where, message }) => `${where}: ${message}`).join("; ");
			const failed = failure(error ?? (text === "" ? undefined : { message: text, code: "failed" }));
			if (isNew || added + redacted > 0 || failed.error !== undefined)
				rows.push({
					session: id,
					file,
					state: failed.error === undefined ? "pulled" : "failed",
					added,
					redacted,
					...failed,
				});
		}
	}
	return { rows };
}

/**
 * The ids in a list, also of sessions that were deleted or cannot be read.
 * @param {import("../index.js").SessionList} list
 */
export const idsIn = ({ sessions, deleted, problems }) =>
	new Set([...sessions, ...deleted, ...problems].map(({ session }) => session));

/**
 * The number of bytes that a push would store of a session. If the store does not list it, nothing of it is stored,
 * whatever the notes of this machine say: the store was created again.
 * @param {SessionSync} sync
 * @param {import("../machine/local-sessions.js").LocalSession} one
 * @param {Set<string>} listed the ids in the store's list
 * @returns {Promise<number>}
 */
export const lagOf = async (sync, one, listed) =>
	listed.has(one.session) || sync.isPrivate(one) ? sync.lagOf(one) : sessionFile.lagOf(one.file, undefined);

/** @param {{ session: string, file: string }} one @returns {Row} */
const deletedRow = ({ session, file }) => ({ session, file, state: "deleted" });

/** @param {import("../index.js").Problem} problem @returns {Row} */
const problemRow = ({ session, where, message }) => ({
	session,
	file: "",
	state: "failed",
	error: `${where}: ${message}`,
	code: "failed",
});

/** @param {{ message: string, code?: string } | undefined} error */
const failure = (error) => (error ? { error: error.message, code: error.code ?? "failed" } : {});

/** A result in words. @param {Row} row @param {boolean} isDryRun */
function inWords({ state, bytes, added = 0, redacted = 0 }, isDryRun) {
	switch (state) {
		case "pushed":
			return `${size(bytes ?? 0)} ${isDryRun ? "to be stored" : "stored"}`;
		case "pulled":
			if (isDryRun) return bytes === undefined ? "may have changed since the last pull" : `${size(bytes)} to be pulled`;
			return [
				`${counted(added, "line")} added`,
				...(redacted > 0 ? [`${counted(redacted, "line")} redacted, as on other machines`] : []),
			].join(", ");
		case "open":
			return OPEN;
		case "deleted":
			return "deleted from the store, its file stays (to store it again, make a fork: pi-sessions fork)";
		case "failed":
			return "failed";
	}
}

/**
 * Results as lines. Sessions that failed with the same error share a line, because a store that fails does so for each
 * session.
 * @param {Row[]} rows
 * @param {boolean} isDryRun
 */
export function linesOf(rows, isDryRun) {
	/** @type {Map<string | Row, Row[]>} */
	const groups = new Map();
	for (const row of rows) {
		const { error, code = "" } = row;
		// The messages of these errors may contain paths.
		const key = STORE_WIDE.has(code) ? code : (error ?? row);
		groups.set(key, groups.get(key) ?? []);
		groups.get(key)?.push(row);
	}
	return [...groups.values()].map((some) => {
		// The calls that the failure interrupted came first, and their messages have more details than the last one.
		const row = /** @type {Row} */ (some.at(-1));
		const { session, file, state, error } = row;
		const count = new Set(some.map((one) => one.session)).size;
		const name = file === "" ? safeLine(session) : `${safeLine(session)}  ${paint.dim(safeLine(basename(file)))}`;
		const color =
			state === "failed" ? paint.red : state === "pushed" || state === "pulled" ? paint.green : paint.yellow;
		const why = error === undefined ? "" : `: ${safeLine(withoutId(error, session))}`;
		return `${color(inWords(row, isDryRun))}  ${count > 1 ? counted(count, "session") : name}${why}`;
	});
}

/**
 * Whether the id of a stored session, also of an unreadable one, begins with a query.
 * @param {Connection} connection
 * @param {string} query
 */
async function hasStored(connection, query) {
	const { sessions, problems } = await listedFor(connection, query);
	return [...sessions, ...problems].some(({ session }) => session.startsWith(query));
}

/**
 * @param {Connection} connection
 * @param {Work} work
 * @param {Options} options
 * @param {string} nothing
 */
async function report({ shown, store }, { rows, privateCount = 0, emptyCount = 0, without }, options, nothing) {
	if (options.json)
		await writeJson({ store: shown, host: store.host, dryRun: Boolean(options.dryRun), sessions: rows });
	else {
		for (const line of linesOf(rows, Boolean(options.dryRun))) await write(`${line}\n`);
		const others = [
			...(privateCount > 0 ? [counted(privateCount, "private session")] : []),
			...(emptyCount > 0 ? [`${counted(emptyCount, "session")} with nothing to store yet`] : []),
		];
		if (rows.length === 0 && without !== undefined)
			await write(`This project (${safeLine(without)}) has no sessions on this machine\n`);
		else if (rows.length === 0)
			await write(`${nothing}${others.length > 0 ? `, except ${others.join(" and ")}` : ""}\n`);
	}
	return rows.some(({ state }) => state === "failed") ? 1 : 0;
}
