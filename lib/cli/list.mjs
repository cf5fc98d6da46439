// `pi-sessions list`: prints sessions as a table.
import { statSync } from "node:fs";
import { basename } from "node:path";
import { readSessionHeader } from "../../index.mjs";
import { sessionFiles, subagentFiles } from "../shared/session-dir.mjs";
import { age, clip, counted, safeLine, size, wrapped } from "../shared/text.mjs";
import { underHome } from "../shared/under-home.mjs";
import { existingSessionDir, inNamedDir, scopeName, sessionDir } from "./dir-options.mjs";
import { columns, paint, write, writeJson, writePaged } from "./output.mjs";
import { resumeLines } from "./resume.mjs";
import { listSessions, title } from "./sessions.mjs";
import { table } from "./table.mjs";

/** @typedef {import("../../index.js").SessionInfo} SessionInfo */
/** @typedef {import("./sessions.mjs").DirOptions & { limit?: number, pager?: boolean }} Options */

/** Ids are UUIDv7, whose first 13 characters contain the time in milliseconds. */
const ID_SHOWN = 13;
/** Width of a whole id, in columns. */
const ID_MAX = 36;

/** The id in a session file's name, after the time; for other names the whole name. @param {string} path */
const idInName = (path) => basename(path, ".jsonl").replace(/^[^_]*_/, "");

/** @param {string} path */
function bytesOf(path) {
	return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** The number of sessions in the folder of a session's subagents. @param {string} path */
const subagentsOf = (path) => subagentFiles(path).filter(isSession).length;

/** @param {string} path */
function isSession(path) {
	try {
		return readSessionHeader(path) !== null;
	} catch {
		return false;
	}
}

/** @param {Options} options */
export async function list(options) {
	existingSessionDir(options);
	const all = await listSessions(options);
	const sessions = all.slice(0, options.limit);
	if (options.json) await writeJson(sessions.map(asJson));
	else if (all.length === 0) await write(`${nothing(options)}\n`);
	else await writePaged(() => lines(sessions, all, options), options);
}

/** @param {Options} options */
function nothing(options) {
	const dir = inNamedDir(options);
	return options.all
		? `No sessions${dir}`
		: `No sessions for ${scopeName(options)}${dir}; --all lists the sessions of every directory`;
}

/**
 * @param {SessionInfo[]} sessions
 * @param {SessionInfo[]} all
 * @param {Options} options
 */
function lines(sessions, all, options) {
	// The beginnings must be unique among all sessions. The ids of sessions that are not listed come from file names.
	const others = options.all ? all.map(({ id }) => id) : sessionFiles(sessionDir(options)).map(idInName);
	const ids = shortIds([...sessions.map(({ id }) => id), ...others]);
	// Any terminal has room for this beside the other columns.
	const idColumns = Math.max(ID_SHOWN, Math.min(ID_MAX, columns() - 6));
	const subagents = sessions.map(({ path }) => subagentsOf(path));
	const hasSubagents = subagents.some((count) => count > 0);
	const rows = sessions.map((session, row) => [
		clip(ids.get(session.id), idColumns),
		age(session.modified),
		size(bytesOf(session.path)),
		String(session.messageCount),
		...(options.all || options.repository ? [clip(underHome(session.cwd) || "?", 40)] : []),
		...(hasSubagents ? [String(subagents[row] || "")] : []),
		title(session, columns()),
	]);
	const drawn = table(
		[
			{ title: "ID", paint: paint.cyan },
			{ title: "AGE", align: "right", rank: 1 },
			{ title: "SIZE", align: "right", rank: 3 },
			{ title: "MSGS", align: "right", rank: 4 },
			...(options.all || options.repository ? [{ title: "FOLDER", least: 16, rank: 2 }] : []),
			...(hasSubagents ? [/** @type {const} */ ({ title: "SUBAGENTS", align: "right", rank: 5 })] : []),
			{
				title: "NAME OR FIRST MESSAGE",
				least: 16,
				paint: (/** @type {string} */ text, /** @type {number} */ row) =>
					sessions[row]?.name === undefined ? text : paint.bold(text),
			},
		],
		rows,
	);
	const older = all.length - sessions.length;
	const notes = [
		...(older > 0 ? wrapped(`${counted(older, "older session")} not shown; --limit all shows all`, columns()) : []),
		...(options.dir !== undefined && !options.all
			? wrapped(`Only the sessions of ${scopeName(options)}; --all lists all of ${safeLine(options.dir)}`, columns())
			: []),
	];
	return [
		...drawn,
		...notes.map((line) => paint.dim(line)),
		...sessions.slice(0, 1).flatMap((first) => resumeLines(first, options, sessions.length > 1 ? " (the first)" : "")),
	];
}

/**
 * Leaves out the texts, because getting them would read the file.
 * @param {SessionInfo} session
 */
function asJson({ path, id, cwd, name, parentSessionPath, created, modified, messageCount, firstMessage }) {
	return {
		path,
		id,
		cwd,
		name,
		parentSessionPath,
		created,
		modified,
		messageCount,
		firstMessage,
		bytes: bytesOf(path),
		subagents: subagentsOf(path),
	};
}

/**
 * The shortest unique beginnings of ids.
 * @param {string[]} all
 * @returns {Map<string, string>} by id
 */
function shortIds(all) {
	const sorted = [...new Set(all)].sort();
	const shared = (/** @type {string} */ a, /** @type {string | undefined} */ b) => {
		let at = 0;
		while (b !== undefined && at < a.length && a[at] === b[at]) at++;
		return b === undefined ? 0 : at;
	};
	return new Map(
		sorted.map((id, index) => {
			const same = Math.max(shared(id, sorted[index - 1]), shared(id, sorted[index + 1]));
			return [id, id.slice(0, Math.max(ID_SHOWN, same + 1))];
		}),
	);
}
