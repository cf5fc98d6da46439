// `pi-sessions search`: places where words were said, by session.
import { partsOf, roleOf } from "./entries.mjs";
import { UsageError } from "./errors.mjs";
import { SessionManager } from "./library.mjs";
import { columns, paint, progress, write, writeJson } from "./output.mjs";
import { resume, resumeLines } from "./resume.mjs";
import { existingSessionDir, underHome, workingDirectory } from "./session-dir.mjs";
import { ID_COLUMNS, listSessions, openReadOnly } from "./sessions.mjs";
import { age, asText, clip, counted, safeLine, widthOf, wrapped } from "./text.mjs";
import { limitsOf } from "./times.mjs";

/** @typedef {import("./library.mjs").SearchHit} SearchHit */
/** @typedef {import("./library.mjs").SearchOptions} SearchOptions */
/**
 * @typedef {import("./session-dir.mjs").SessionScope & {
 *   limit: number, resume?: boolean, in?: string[], role?: string[], since?: string, until?: string, phrase?: boolean,
 * }} Options
 */

/** Marks around the words found that no text of a session holds after it was made safe. */
const OPEN = "\u0001";
const CLOSE = "\u0002";

/**
 * Gives the exit code: 1 if nothing was found.
 * @param {string[]} words
 * @param {Options} options
 */
export async function search(words, options) {
	const query = words.join(" ").trim();
	if (query === "") throw new UsageError("Words to look for are needed");
	const dir = existingSessionDir(options);
	const bar = progress("Searching");
	/** @type {SearchHit[]} */
	let hits;
	try {
		hits = await SessionManager.search(query, {
			...(options.all ? {} : { cwd: workingDirectory(options) }),
			...(dir === undefined ? {} : { sessionDir: dir }),
			...filters(options),
			// One more tells whether there are more.
			limit: options.limit + (options.json ? 0 : 1),
			...(options.json ? {} : { mark: [OPEN, CLOSE] }),
			onProgress: bar.update,
		});
	} finally {
		bar.stop();
	}
	numberEntries(hits);
	const [first] = hits;
	if (options.resume && first) return await resume(first.path, options);
	if (options.json) await writeJson(hits);
	else if (!first) await write(`${wrapped(await nothingFound(query, options), columns()).join("\n")}\n`);
	else await writeHits(hits, options);
	return first ? 0 : 1;
}

/**
 * @param {Options} options
 * @returns {SearchOptions}
 */
function filters(options) {
	return {
		...(options.in ? { in: /** @type {NonNullable<SearchOptions["in"]>} */ (options.in) } : {}),
		...(options.role ? { roles: /** @type {NonNullable<SearchOptions["roles"]>} */ (options.role) } : {}),
		...limitsOf(options, false),
		...(options.phrase ? { phrase: true } : {}),
	};
}

/**
 * Entries of version 1 have no ids. Those that were found get the numbers by which they are shown and named.
 * @param {SearchHit[]} hits
 */
function numberEntries(hits) {
	/** @type {Map<string, import("./library.mjs").SessionEntry[]>} */
	const read = new Map();
	for (const hit of hits.filter(({ entryId }) => entryId === "")) {
		const entries = read.get(hit.path) ?? openReadOnly(hit.path).getEntries();
		read.set(hit.path, entries);
		const alike = entries.filter((entry) => asText(entry.timestamp) === hit.timestamp && roleOf(entry) === hit.role);
		const found = oneLine(hit.snippet.replace(/[\u0001\u0002«»]|^…|…$/g, ""));
		hit.entryId = (alike.find((entry) => partsOf(entry).some(({ text }) => oneLine(text.replace(/[«»]/g, "")).includes(found))) ?? alike[0])?.id ?? "";
	}
}

/** @param {string} text */
const oneLine = (text) => text.replace(/\s+/g, " ").trim();

/**
 * What was searched, and what was not.
 * @param {string} query
 * @param {Options} options
 */
async function nothingFound(query, options) {
	const searched = (await listSessions(options)).length;
	const others = options.all ? 0 : (await listSessions({ ...options, all: true })).length - searched;
	const dir = options.dir === undefined ? "" : ` in ${safeLine(options.dir)}`;
	const where = options.all ? `all ${counted(searched, "session")}${dir}` : `the ${counted(searched, "session")} of ${safeLine(workingDirectory(options))}${dir}`;
	const rest = others > 0 ? ` Not searched: ${counted(others, "session")} of other directories (--all searches them).` : "";
	const left = options.in ? "" : " Tool output, thinking and images are not searched.";
	return `Nothing found for ${safeLine(query)} in ${where}.${rest}${left}`;
}

/**
 * @param {SearchHit[]} hits
 * @param {Options} options
 */
async function writeHits(hits, options) {
	const more = hits.length > options.limit;
	const shown = more ? hits.slice(0, options.limit) : hits;
	for (const [index, hit] of shown.entries()) {
		const lines = hit.path === shown[index - 1]?.path ? [] : [sessionLine(hit)];
		lines.push(...hitLines(hit), ...(hit.path === shown[index + 1]?.path ? [] : resumeLines(hit, options).map((line) => `  ${line}`)));
		await write(`${lines.join("\n")}\n`);
	}
	if (more) for (const line of wrapped(`There are more than ${options.limit}; --limit all shows all`, columns())) await write(`${paint.dim(line)}\n`);
}

/** @param {SearchHit} hit */
function sessionLine(hit) {
	const id = clip(hit.id, Math.min(ID_COLUMNS, columns()));
	const name = clip(hit.name ?? "", Math.min(60, columns() - widthOf(id) - 2));
	const dir = clip(underHome(hit.cwd), columns() - widthOf(id) - widthOf(name) - 4);
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
