// `pi-sessions search`: places where words were said, by session.
import { SessionManager } from "../../index.mjs";
import { CLOSE, OPEN, pieces } from "../shared/snippet.mjs";
import { age, clip, counted, safeLine, widthOf, wrapped } from "../shared/text.mjs";
import { underHome } from "../shared/under-home.mjs";
import { UsageError } from "./errors.mjs";
import { columns, json, paint, withProgress, write } from "./output.mjs";
import { resumeLines } from "./resume.mjs";
import { DEFAULT_SCOPES, SCOPES } from "./search-scopes.mjs";
import { existingSessionDir, workingDirectory } from "./dir-options.mjs";
import { ID_COLUMNS, listSessions } from "./sessions.mjs";
import { limitsOf } from "./times.mjs";

/** @typedef {import("../../index.js").SearchHit} SearchHit */
/** @typedef {import("../../index.js").SearchOptions} SearchOptions */
/**
 * @typedef {import("./dir-options.mjs").DirOptions & {
 *   limit: number, in?: NonNullable<SearchOptions["in"]>, role?: NonNullable<SearchOptions["roles"]>, since?: string, until?: string, phrase?: boolean,
 * }} Options
 */

/**
 * Gives the exit code: 1 if nothing was found. If it fails, the exit code is 2.
 * @param {string[]} words
 * @param {Options} options
 */
export async function search(words, options) {
	const query = words.join(" ").trim();
	if (query === "") throw new UsageError("Words to look for are needed");
	const dir = existingSessionDir(options);
	const writer = options.json ? jsonWriter() : textWriter(options);
	let writing = Promise.resolve();
	const hits = await withProgress("Searching", ({ update, stop }) =>
		SessionManager.search(query, {
			cwd: options.all ? undefined : workingDirectory(options),
			sessionDir: dir,
			in: options.in,
			roles: options.role,
			...limitsOf(options, false),
			phrase: options.phrase,
			limit: options.limit + (options.json ? 0 : 1),
			mark: [OPEN, CLOSE],
			onProgress: update,
			onHit(hit) {
				// The terminal may show both.
				stop();
				// Hits wait for those before them, the search waits for none.
				writing = writing.then(() => write(writer.hit(hit)));
			},
		}),
	);
	await writing;
	if (hits.length > 0) await write(writer.end());
	else if (!options.json) await write(await nothingFound(query, options));
	// Where no hit was asked for, none is missing.
	return hits.length > 0 || (options.json && options.limit === 0) ? 0 : 1;
}

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
	/** @type {readonly string[]} */
	const scopes = options.in ?? DEFAULT_SCOPES;
	const named = (/** @type {boolean} */ isSearched) => SCOPES.filter((scope) => scopes.includes(scope) === isSearched).join(", ");
	const left = named(false) && ` Not searched: ${named(false)} (--in names the texts to search).`;
	const rest = others > 0 ? ` Not searched: ${counted(others, "session")} of other directories (--all searches them).` : "";
	return `${wrapped(`Nothing found for ${safeLine(query)} in ${where}. Searched: ${named(true)}.${left}${rest}`, columns()).join("\n")}\n`;
}

/** Hits as JSON lines, marked as the library marks them. */
function jsonWriter() {
	return {
		/** @param {SearchHit} hit */
		hit: (hit) => `${json({ ...hit, snippet: hit.snippet.replaceAll(OPEN, "«").replaceAll(CLOSE, "»") })}\n`,
		end: () => "",
	};
}

/**
 * Hits for people, by session.
 * @param {Options} options
 */
function textWriter(options) {
	/** @type {SearchHit | undefined} */
	let last;
	let count = 0;
	const lines = (/** @type {string[]} */ all) => all.map((line) => `${line}\n`).join("");
	const sessionEnd = () => (last ? resumeLines(last, options).map((line) => `  ${line}`) : []);
	return {
		/** @param {SearchHit} hit */
		hit(hit) {
			// One more than the limit tells that there are more.
			if (++count > options.limit) return "";
			const between = hit.path === last?.path ? [] : [...sessionEnd(), sessionLine(hit)];
			last = hit;
			return lines([...between, ...hitLines(hit)]);
		},
		end() {
			const more = count > options.limit ? wrapped(`There are more than ${options.limit}; --limit all shows all`, columns()) : [];
			return lines([...sessionEnd(), ...more.map((line) => paint.dim(line))]);
		},
	};
}

/** @param {SearchHit} hit */
function sessionLine(hit) {
	const id = clip(hit.id, Math.min(ID_COLUMNS, columns()));
	const name = clip(hit.name || hit.firstMessage || "", Math.min(60, columns() - widthOf(id) - 2));
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
 * A snippet with the words found in it made bold.
 * @param {string} snippet
 * @param {number} width
 */
const marked = (snippet, width) => pieces(snippet, width).map(({ text, found }) => (found ? paint.bold(paint.yellow(text)) : text)).join("");
