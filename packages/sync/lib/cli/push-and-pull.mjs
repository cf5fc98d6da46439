// `pi-sync push`, `pull` and `sync`: between the sessions of this machine and a store.
import { basename } from "node:path";
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
	write,
	writeJson,
	writeWarning,
} from "./terminal.mjs";

/** Why a session is not pulled now. */
export const OPEN = "open in a pi of this machine: pulled after pi closes it";

/** @typedef {import("./store-connection.mjs").Connection} Connection */
/** @typedef {import("./store-connection.mjs").Options} Options */
/** @typedef {import("../index.js").SessionSync} SessionSync */
/**
 * @typedef {{ rows: Row[], privateCount?: number, emptyCount?: number }} Work `privateCount`: the number of skipped
 * private sessions, if there are no rows; `emptyCount`: the number of sessions without an entry
 */
/**
 * The result for a session, or the expected result.
 * @typedef {{ session: string, file: string, what: string, error?: string }} Row
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
		const said = new Set(down.rows.map(({ session, what }) => `${session} ${what}`));
		return {
			...down,
			...up,
			rows: [...down.rows, ...up.rows.filter(({ session, what }) => !said.has(`${session} ${what}`))],
		};
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
	for (const sync of syncs) {
		if (options.dryRun) {
			for (const one of await sync.local(session)) {
				const lag = await sync.lagOf(one);
				if (lag > 0) rows.push({ session: one.session, file: one.file, what: `${size(lag)} to be stored` });
			}
			continue;
		}
		for (const { session: id, file, bytes, error } of await sync.push({ session })) {
			// For a named session it is an error.
			if (query === undefined && Object(error).code === "deleted") rows.push(deletedRow({ session: id, file }));
			else if (bytes > 0 || error)
				rows.push({ session: id, file, what: `${size(bytes)} stored`, error: error?.message });
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
	/** @type {Row[]} */
	const rows = [];
	for (const sync of syncs) {
		const { items, problems, deleted } = await sync.compare({ session });
		for (const problem of problems) rows.push(problemRow(problem));
		for (const one of deleted) rows.push(deletedRow(one));
		const open = await sync.behind(items.filter(({ state }) => state === "open"));
		for (const { session: id, file = "" } of open) rows.push({ session: id, file, what: OPEN });
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
		for (const result of await sync.pull({ items })) {
			const { session: id, file, isNew, added, redacted, problems, error } = result;
			const failure =
				error?.message ??
				(problems.length > 0 ? problems.map(({ where, message }) => `${where}: ${message}`).join("; ") : undefined);
			const what = [
				`${counted(added, "line")} added`,
				...(redacted > 0 ? [`${counted(redacted, "line")} redacted, as on other machines`] : []),
			].join(", ");
			if (isNew || added + redacted > 0 || failure !== undefined)
				rows.push({ session: id, file, what, error: failure });
		}
	}
	return { rows };
}

/** @param {{ session: string, file: string }} one @returns {Row} */
const deletedRow = ({ session, file }) => ({
	session,
	file,
	what: "deleted from the store, its file stays (to store it again, make a fork: pi-sessions fork)",
});

/** @param {import("../index.js").Problem} problem @returns {Row} */
const problemRow = ({ session, where, message }) => ({ session, file: "", what: "", error: `${where}: ${message}` });

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
async function report({ shown, store }, { rows, privateCount = 0, emptyCount = 0 }, options, nothing) {
	const failed = rows.filter(({ error }) => error !== undefined);
	if (options.json)
		await writeJson({ store: shown, host: store.host, dryRun: Boolean(options.dryRun), sessions: rows });
	else {
		for (const { session, file, what, error } of rows) {
			// A session may have no file.
			const name = file === "" ? safeLine(session) : `${safeLine(session)}  ${paint.dim(safeLine(basename(file)))}`;
			await write(
				error === undefined
					? `${paint.green(what)}  ${name}\n`
					: `${paint.red("failed")}  ${name}: ${safeLine(error)}\n`,
			);
		}
		const others = [
			...(privateCount > 0 ? [counted(privateCount, "private session")] : []),
			...(emptyCount > 0 ? [`${counted(emptyCount, "session")} with nothing to store yet`] : []),
		];
		if (rows.length === 0) await write(`${nothing}${others.length > 0 ? `, but for ${others.join(" and ")}` : ""}\n`);
	}
	return failed.length > 0 ? 1 : 0;
}
