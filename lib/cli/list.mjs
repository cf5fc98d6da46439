// `pi-sessions list` and `pi-sessions search`: sessions and search hits as tables.
import { statSync } from "node:fs";
import { homedir } from "node:os";
import { basename } from "node:path";
import { UsageError } from "./errors.mjs";
import { SessionManager } from "./library.mjs";
import { columns, paint, progress, table, write, writeJson } from "./output.mjs";
import { sessionDir, workingDirectory } from "./session-dir.mjs";
import { ID_COLUMNS, listSessions, sessionFiles, title } from "./sessions.mjs";
import { age, asText, clip, counted, safeLine, size, widthOf, wrapped } from "./text.mjs";

/** @typedef {import("./library.mjs").SearchHit} SearchHit */
/** @typedef {import("./library.mjs").SessionInfo} SessionInfo */
/** @typedef {import("./sessions.mjs").SessionScope & { json?: boolean }} Options */

/** Ids are UUIDv7: this many characters contain the millisecond. */
const ID_SHOWN = 13;
/** Columns of a whole one. */
const ID_MOST = 36;

/** @param {string} path */
function bytesOf(path) {
	return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** @param {unknown} dir */
const short = (dir) => {
	const [cwd, home] = [asText(dir), homedir()];
	return cwd === home || cwd.startsWith(`${home}/`) ? `~${cwd.slice(home.length)}` : cwd;
};

/**
 * @param {Options & { limit: number }} options
 */
export async function list(options) {
	const all = await listSessions(options);
	const sessions = options.limit > 0 ? all.slice(0, options.limit) : all;
	if (options.json) return await writeJson(sessions.map(asJson));
	if (all.length === 0) {
		return await write(options.all ? "No sessions\n" : `No sessions for ${safeLine(workingDirectory(options))}; --all lists those of every directory\n`);
	}
	// A beginning must be unique among all sessions. The ids of those that are not listed are taken from file names.
	const others = options.all ? all.map(({ id }) => id) : sessionFiles({ ...options, all: true }).map(idInName);
	const { ids, repeated } = shownIds(sessions, others);
	const rows = sessions.map((session, index) => [
		ids[index] ?? "",
		age(session.modified),
		size(bytesOf(session.path)),
		String(session.messageCount),
		...(options.all ? [clip(short(session.cwd) || "?", 40)] : []),
		title(session, columns()),
	]);
	const drawn = table(
		[
			{ title: "ID", paint: paint.cyan },
			{ title: "AGE", align: "right", rank: 1 },
			{ title: "SIZE", align: "right", rank: 3 },
			{ title: "MSGS", align: "right", rank: 4 },
			...(options.all ? [{ title: "FOLDER", least: 16, rank: 2 }] : []),
			{ title: "NAME OR FIRST MESSAGE", least: 16, paint: (/** @type {string} */ text, /** @type {number} */ row) => (sessions[row]?.name === undefined ? text : paint.bold(text)) },
		],
		rows,
	);
	await write(`${drawn}\n`);
	if (repeated) for (const line of wrapped(REPEATED, columns())) await write(`${paint.dim(line)}\n`);
	if (sessions.length < all.length) await write(`${paint.dim(`${counted(all.length - sessions.length, "older session")} not shown; --limit 0 shows all`)}\n`);
}

/**
 * Without the texts, which would be read for it.
 * @param {SessionInfo} session
 */
function asJson({ path, id, cwd, name, parentSessionPath, created, modified, messageCount, firstMessage }) {
	return { path, id, cwd, name, parentSessionPath, created, modified, messageCount, firstMessage, bytes: bytesOf(path) };
}

/** The id in the name of a session's file, as pi names them. @param {string} path */
const idInName = (path) => basename(path, ".jsonl").replace(/^[^_]*_/, "");

const REPEATED = "Sessions with the same visible id are numbered; select them by file path (see --json)";

/**
 * The ids of sessions as they are listed: as much of each as names it, and what is cut alike numbered.
 * @param {SessionInfo[]} sessions
 * @param {string[]} others the ids of all that there are
 */
function shownIds(sessions, others) {
	// The other columns leave that much in any terminal.
	const most = Math.max(ID_SHOWN, Math.min(ID_MOST, columns() - 6));
	const names = shortIds([...sessions.map(({ id }) => id), ...others]);
	/** @type {Map<string, number>} */
	const counts = new Map();
	const cut = sessions.map(({ id }) => clip(names.get(id), most));
	for (const text of cut) counts.set(text, (counts.get(text) ?? 0) + 1);
	/** @type {Map<string, number>} */
	const seen = new Map();
	const ids = cut.map((text) => {
		if (counts.get(text) === 1) return text;
		const place = (seen.get(text) ?? 0) + 1;
		seen.set(text, place);
		const mark = ` (${place})`;
		return `${clip(text, most - mark.length)}${mark}`;
	});
	return { ids, repeated: seen.size > 0 };
}

/**
 * The shortest beginnings that tell ids from each other.
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

/** Marks around the words found that no text of a session holds after it was made safe. */
const OPEN = "\u0001";
const CLOSE = "\u0002";

/**
 * @param {string[]} words
 * @param {Options & { limit: number }} options
 */
export async function search(words, options) {
	const query = words.join(" ").trim();
	if (query === "") throw new UsageError("Words to look for are needed");
	const bar = progress("Searching");
	/** @type {SearchHit[]} */
	let hits;
	try {
		hits = await SessionManager.search(query, {
			...(options.all ? {} : { cwd: workingDirectory(options) }),
			...(sessionDir(options) === undefined ? {} : { sessionDir: sessionDir(options) }),
			// One more tells whether there are more.
			limit: options.limit > 0 ? options.limit + (options.json ? 0 : 1) : Infinity,
			...(options.json ? {} : { mark: [OPEN, CLOSE] }),
			onProgress: bar.update,
		});
	} finally {
		bar.stop();
	}
	if (options.json) return await writeJson(hits);
	if (hits.length === 0) return await write(`Nothing found for ${safeLine(query)}${options.all ? "" : " in this directory's sessions; --all searches every directory's"}\n`);
	const more = options.limit > 0 && hits.length > options.limit;
	let session = "";
	for (const hit of more ? hits.slice(0, options.limit) : hits) {
		if (hit.path !== session) await write(`${sessionLine(hit)}\n`);
		session = hit.path;
		await write(`${hitLines(hit).join("\n")}\n`);
	}
	if (more) for (const line of wrapped(`There are more than ${options.limit}; --limit 0 shows all`, columns())) await write(`${paint.dim(line)}\n`);
}

/** @param {SearchHit} hit */
function sessionLine(hit) {
	const id = clip(hit.id, Math.min(ID_COLUMNS, columns()));
	const name = clip(hit.name ?? "", Math.min(60, columns() - widthOf(id) - 2));
	const dir = clip(short(hit.cwd), columns() - widthOf(id) - widthOf(name) - 4);
	const parts = [id && paint.cyan(id), name && paint.bold(name), dir && paint.dim(dir)];
	return parts.filter(Boolean).join("  ");
}

/**
 * Where a hit is and what was found; below each other where the terminal is narrow.
 * @param {SearchHit} hit
 */
function hitLines(hit) {
	const width = columns();
	const when = Number.isNaN(Date.parse(hit.timestamp)) ? "?" : age(new Date(hit.timestamp));
	const place = `  ${clip(hit.entryId, 8)} ${when.padStart(4)}`;
	const role = clip(hit.role, Math.min(16, width - place.length - 1));
	const head = `${paint.dim(place)} ${role.padEnd(width < 60 ? 0 : 10)}`;
	return width < 60 ? [head, `    ${marked(hit.snippet, width - 4)}`] : [`${head} ${marked(hit.snippet, width - place.length - Math.max(10, role.length) - 2)}`];
}

/**
 * A snippet with the words found in it made bold. Where there is no room for all, it begins shortly before the first of
 * them.
 * @param {string} snippet
 * @param {number} width
 */
function marked(snippet, width) {
	/** @type {{ text: string, found: boolean }[]} */
	const pieces = [];
	for (const [index, piece] of snippet.split(OPEN).entries()) {
		const [found = "", rest = ""] = index === 0 ? ["", piece] : piece.split(CLOSE);
		pieces.push({ text: inside(found), found: true }, { text: inside(rest), found: false });
	}
	const first = pieces.findIndex(({ text, found }) => found && text !== "");
	const before = pieces.slice(0, first).map(({ text }) => text).join("");
	const total = pieces.reduce((sum, { text }) => sum + widthOf(text), 0);
	if (first > 0 && total > width && widthOf(before) > width / 4) {
		const kept = [...before].slice(-Math.floor(width / 4)).join("");
		pieces.splice(0, first, { text: `…${kept}`, found: false });
	}
	let room = width;
	return pieces
		.map(({ text, found }) => {
			const fits = widthOf(text) <= room;
			// Cutting trims; the space that sets a piece apart stays.
			const space = text.startsWith(" ") && room > 1 ? " " : "";
			const shown = fits ? text : `${space}${clip(text, room - space.length)}`;
			room = fits ? room - widthOf(text) : 0;
			return found && shown !== "" ? paint.bold(paint.yellow(shown)) : shown;
		})
		.join("");
}

/**
 * A piece of a line made safe, white space at its ends kept.
 * @param {string} text
 */
const inside = (text) => safeLine(`x${text}x`).slice(1, -1);
