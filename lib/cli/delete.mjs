// `pi-sessions delete`: deletes sessions with their backups and subagents' sessions, into the trash if there is one.
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { SessionManager } from "../../index.mjs";
import { CATALOG_WARNING, deleteSession, planDeletion } from "../shared/delete-session.mjs";
import { age, clip, count, counted, safeLine, size } from "../shared/text.mjs";
import { underHome } from "../shared/under-home.mjs";
import { confirmed } from "./confirm.mjs";
import { existingSessionDir, workingDirectory } from "./dir-options.mjs";
import { UsageError } from "./errors.mjs";
import { columns, paint, write, writeJson } from "./output.mjs";
import { listSessions, sessionPath, title } from "./sessions.mjs";
import { table } from "./table.mjs";
import { timeOfDay } from "./times.mjs";

/** @typedef {import("../../index.js").SessionInfo} SessionInfo */
/**
 * @typedef {import("./dir-options.mjs").DirOptions & { olderThan?: string, force?: boolean, yes?: boolean, dryRun?:
 * boolean }} Options
 */
/**
 * @typedef {import("../shared/delete-session.mjs").Deletion & { info: SessionInfo | undefined }} Planned `info` is
 * undefined for damaged files, which lists leave out
 */
/**
 * @typedef {{ path: string, id?: string, files: string[], stays: string[], target?: string, isInTrash?: boolean,
 * isCatalogClean?: boolean, error?: string }} Row what was deleted, or would be
 */

/** Width of the ids shown, in columns. */
const ID_SHOWN = 13;

/**
 * Returns the exit code: 1 if a selected session still exists, or if the catalog still contains data of one.
 * @param {string[]} queries
 * @param {Options} options
 */
export async function deleteSessions(queries, options) {
	check(queries, options);
	const planned =
		options.olderThan === undefined
			? await namedSessions(queries, options)
			: await oldSessions(options.olderThan, options);
	const kept = planned.filter(({ inUse }) => inUse !== undefined && !options.force);
	const gone = planned.filter((one) => !kept.includes(one));
	/** @type {Row[]} */
	const rows = kept.map((one) => ({ ...rowOf(one), error: `${one.inUse}. Add --force to delete it` }));
	if (!options.json) {
		if (planned.length === 0)
			return void (await write(
				`No session${options.all ? "" : ` of ${safeLine(workingDirectory(options))}`} is older than ` +
					`${safeLine(options.olderThan)}\n`,
			));
		if (gone.length > 0) await write(`${preview(gone).join("\n")}\n`);
		for (const row of rows) await write(`${described(row)}\n`);
	}
	if (!options.dryRun && gone.length > 0 && !(await confirmed(questionOf(gone), options))) return 1;
	for (const one of gone) {
		const row = options.dryRun ? rowOf(one) : done(one, options);
		rows.push(row);
		if (!options.json && !options.dryRun) await write(`${described(row)}\n`);
	}
	if (options.json) await writeJson({ dryRun: Boolean(options.dryRun), sessions: rows });
	return rows.every(({ error, isCatalogClean = true }) => error === undefined && isCatalogClean) ? 0 : 1;
}

/**
 * @param {string[]} queries
 * @param {Options} options
 */
function check(queries, { olderThan, all, json, yes, dryRun }) {
	if (queries.length > 0 && olderThan !== undefined)
		throw new UsageError("--older-than cannot be combined with named sessions");
	if (queries.length === 0 && olderThan === undefined)
		throw new UsageError("No sessions were named. Name them, or use --older-than 90d");
	if (all && olderThan === undefined) throw new UsageError("--all needs --older-than");
	if (json && !yes && !dryRun) throw new UsageError("With --json no question is asked: add --yes or --dry-run");
}

/**
 * @param {string[]} queries
 * @param {Options} options
 * @returns {Promise<Planned[]>}
 */
async function namedSessions(queries, options) {
	const paths = [];
	for (const query of queries) paths.push(await sessionPath(query, options));
	const planned = [];
	for (const path of new Set(paths)) {
		const listed = await SessionManager.listAll(dirname(path));
		planned.push({ ...planDeletion(SessionManager, path), info: listed.find((one) => one.path === path) });
	}
	// A subagent's session is deleted with its session.
	const nested = new Set(planned.flatMap(({ files: [, ...subagents] }) => subagents));
	return planned.filter(({ path }) => !nested.has(path));
}

/**
 * The sessions whose last message is older than a day.
 * @param {string} day
 * @param {Options} options
 * @returns {Promise<Planned[]>}
 */
async function oldSessions(day, options) {
	existingSessionDir(options);
	const before = /** @type {number} */ (timeOfDay(day, 0, "--older-than"));
	const sessions = await listSessions(options);
	return sessions
		.filter(({ modified }) => modified.getTime() < before)
		.map((info) => ({ ...planDeletion(SessionManager, info.path), info }));
}

/**
 * The table of the sessions that will be deleted, and the files that stay because links lead to them.
 * @param {Planned[]} planned
 */
function preview(planned) {
	const hasMore = planned.some(({ backups, subagents }) => backups + subagents > 0);
	const rows = planned.map(({ path, files, backups, subagents, info }) => [
		clip(info?.id ?? "?", ID_SHOWN),
		info ? age(info.modified) : "?",
		size(files.reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0)),
		...(hasMore
			? [
					[
						...(subagents > 0 ? [counted(subagents, "subagent")] : []),
						...(backups > 0 ? [counted(backups, "backup")] : []),
					].join(", "),
				]
			: []),
		clip(underHome(info?.cwd ?? "") || "?", 40),
		info ? title(info, columns()) : safeLine(path),
	]);
	const links = planned.flatMap(({ path, target }) =>
		target === undefined ? [] : [`${safeLine(path)} is a link. The file that it leads to stays: ${safeLine(target)}`],
	);
	const shown = table(
		[
			{ title: "ID", paint: paint.cyan },
			{ title: "AGE", align: "right", rank: 1 },
			{ title: "SIZE", align: "right", rank: 2 },
			...(hasMore ? [{ title: "WITH", rank: 3 }] : []),
			{ title: "FOLDER", least: 16, rank: 4 },
			{ title: "NAME OR FIRST MESSAGE", least: 16 },
		],
		rows,
	);
	return [...shown, ...links, ...planned.flatMap(staying)];
}

/** The most files that are named, so that the question stays on the screen. `--json` names all. */
const MOST_NAMED = 10;

/**
 * Lines about the files beside a session's subagents that are not deleted.
 * @param {{ path: string, stays: string[] }} planned
 */
const staying = ({ path, stays }) =>
	stays.length > MOST_NAMED
		? [`stay: ${count(stays.length)} files in ${safeLine(path.replace(/\.jsonl$/, ""))}, which are not sessions`]
		: stays.map((file) => `stays: ${safeLine(file)}, which is not a session`);

/** @param {Planned[]} planned */
function questionOf({ length, 0: first }) {
	const what = length === 1 ? "this session" : `these ${counted(length, "session")}`;
	return first?.hasTrash
		? `Move ${what} to the trash?`
		: `The command \`trash\` is not installed. Delete ${what} permanently?`;
}

/** @param {Planned} planned @returns {Row} */
const rowOf = ({ path, paths, info, stays, target }) => ({
	path,
	...(info && { id: info.id }),
	files: paths,
	stays,
	target,
});

/** @param {Planned} planned @param {Options} options @returns {Row} */
function done(planned, options) {
	try {
		return { ...rowOf(planned), ...deleteSession(SessionManager, planned, options) };
	} catch (error) {
		return { ...rowOf(planned), error: /** @type {Error} */ (error).message };
	}
}

/** @param {Row} row */
function described({ path, stays, isInTrash, isCatalogClean, error }) {
	if (error !== undefined) return `${paint.red("not deleted")}  ${safeLine(path)}: ${safeLine(error)}`;
	const catalog = isCatalogClean ? "" : `\n  ${CATALOG_WARNING}`;
	const others = staying({ path, stays }).map((line) => `\n  ${line}`);
	return `${paint.green(isInTrash ? "moved to the trash" : "deleted")}  ${safeLine(path)}${others.join("")}${catalog}`;
}
