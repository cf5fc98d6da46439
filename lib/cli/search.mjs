// `pi-sessions search`: places where words were said, by session.
import { UsageError } from "./errors.mjs";
import { SessionManager } from "./library.mjs";
import { columns, paint, progress, write, writeJson } from "./output.mjs";
import { sessionDir, underHome, workingDirectory } from "./session-dir.mjs";
import { ID_COLUMNS } from "./sessions.mjs";
import { age, clip, safeLine, widthOf, wrapped } from "./text.mjs";

/** @typedef {import("./library.mjs").SearchHit} SearchHit */
/** @typedef {import("./session-dir.mjs").SessionScope & { limit: number }} Options */

/** Marks around the words found that no text of a session holds after it was made safe. */
const OPEN = "\u0001";
const CLOSE = "\u0002";

/**
 * @param {string[]} words
 * @param {Options} options
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
