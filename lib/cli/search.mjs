// `pi-sessions search`: prints hits, grouped by session.
import { dirname } from "node:path";
import { SessionManager } from "../../index.mjs";
import { kinds } from "../shared/entries.mjs";
import { CLOSE, OPEN, pieces } from "../shared/snippet.mjs";
import { age, clip, count, counted, safeLine, widthOf, wrapped } from "../shared/text.mjs";
import { underHome } from "../shared/under-home.mjs";
import { existingSessionDir, inNamedDir, scopeName, scopeOf } from "./dir-options.mjs";
import { UsageError } from "./errors.mjs";
import { columns, json, paint, withProgress, write } from "./output.mjs";
import { resumeLines } from "./resume.mjs";
import { ID_COLUMNS, listSessions, sessionPath } from "./sessions.mjs";
import { limitsOf } from "./times.mjs";

/** @typedef {import("../../index.js").SearchHit} SearchHit */
/** @typedef {import("../../index.js").SearchOptions} SearchOptions */
/**
 * @typedef {import("./dir-options.mjs").DirOptions & {
 *   limit: number, perSession?: number, session?: string, subagents: boolean, in?: NonNullable<SearchOptions["in"]>,
 *   since?: string, until?: string, phrase?: boolean,
 * }} Options
 */

/** The number of hits shown for each session, so that a long session does not hide the others. */
const PER_SESSION = 3;

/**
 * Returns the exit code: 1 if nothing was found. If the search throws, the exit code is 2.
 * @param {string[]} words
 * @param {Options} options
 */
export async function search(words, options) {
	const query = words.join(" ");
	if (query.trim() === "") throw new UsageError("No words to search for: name at least one");
	const dir = existingSessionDir(options);
	const session = options.session === undefined ? undefined : await sessionPath(options.session, options);
	const isAll = options.all || session !== undefined;
	const writer = options.json ? jsonWriter() : textWriter(options);
	let writing = Promise.resolve();
	const hits = await withProgress("Searching", ({ update, stop }) =>
		SessionManager.search(query, {
			...(isAll ? {} : scopeOf(options)),
			// A session that is named by its path may be outside of the session directory.
			sessionDir: session === undefined ? dir : dirname(session),
			session,
			subagents: options.subagents,
			perSession: options.perSession ?? (session !== undefined || options.limit === Infinity ? Infinity : PER_SESSION),
			in: options.in,
			...limitsOf(options),
			phrase: options.phrase,
			limit: options.limit + (options.json ? 0 : 1),
			mark: [OPEN, CLOSE],
			onProgress: update,
			onHit(hit) {
				// Standard output and the progress may share a terminal.
				stop();
				// Hits are written in order, and the search does not wait for that.
				writing = writing.then(() => write(writer.hit(hit)));
			},
		}),
	);
	await writing;
	if (hits.length > 0) await write(writer.end());
	else if (!options.json) await write(await nothingFound(query, session, options));
	// With `--limit 0` it is no failure that there is no hit.
	return hits.length > 0 || (options.json && options.limit === 0) ? 0 : 1;
}

/**
 * The message that names the searched and the omitted sessions and texts.
 * @param {string} query
 * @param {string | undefined} session the file of the only session that was searched
 * @param {Options} options
 */
async function nothingFound(query, session, options) {
	const { where, rest } = session === undefined ? await sessionsSearched(options) : sessionSearched(session, options);
	const { scopes, defaultScopes } = kinds();
	const asked = options.in ?? defaultScopes;
	const named = (/** @type {boolean} */ isSearched) =>
		scopes.filter((scope) => asked.includes(scope) === isSearched).join(", ");
	const left = [...(named(false) ? [`${named(false)} (--in selects texts)`] : []), ...rest];
	const text =
		`Nothing found for ${safeLine(query)} in ${where}. Searched: ${named(true)}.` +
		left.map((one) => ` Not searched: ${one}.`).join("");
	return `${wrapped(text, columns()).join("\n")}\n`;
}

/** @param {Options} options */
async function sessionsSearched(options) {
	const searched = (await listSessions(options)).length;
	const others = options.all ? 0 : (await listSessions({ ...options, all: true })).length - searched;
	return {
		where:
			(options.all && searched !== 1 ? "all " : "") +
			counted(searched, "session") +
			(options.all ? "" : ` of ${scopeName(options)}`) +
			inNamedDir(options),
		rest: [
			...(others > 0 ? [`${counted(others, "session")} of other directories (--all includes them)`] : []),
			...(options.subagents ? [] : ["sessions of subagents (--no-subagents)"]),
		],
	};
}

/** @param {string} session @param {Options} options */
function sessionSearched(session, { session: query }) {
	const subagents = SessionManager.filesOf(session).subagents.length;
	return {
		where: `session ${safeLine(query)}`,
		rest: subagents > 0 ? [`${counted(subagents, "session")} of its subagents (--session searches one session)`] : [],
	};
}

/** Hits as JSON lines, with the library's default marks. */
function jsonWriter() {
	return {
		/** @param {SearchHit} hit */
		hit: (hit) => `${json({ ...hit, snippet: hit.snippet.replaceAll(OPEN, "«").replaceAll(CLOSE, "»") })}\n`,
		end: () => "",
	};
}

/**
 * Hits for people, grouped by session.
 * @param {Options} options
 */
function textWriter(options) {
	/** @type {SearchHit | undefined} */
	let last;
	let [shown, ofSession] = [0, 0];
	const lines = (/** @type {string[]} */ all) => all.map((line) => `${line}\n`).join("");
	const sessionEnd = () => {
		if (!last) return [];
		const left = last.hitsInSession - ofSession;
		const [isOneOfMany, isCut] = [options.session === undefined, (options.perSession ?? Infinity) < Infinity];
		const id = isOneOfMany ? `--session ${safeLine(last.id)} ` : "";
		const all = `${id}${isCut ? "--per-session all " : ""}--limit all`;
		const more = left > 0 ? wrapped(`  ${count(left)} more in this session; show all by ${all}`, columns()) : [];
		return [...more.map((line) => paint.dim(line)), ...resumeLines(last, options).map((line) => `  ${line}`)];
	};
	/** Before a subagent's session we print the session that it belongs to, even without a hit in that. */
	const sessionStart = (/** @type {SearchHit} */ hit) => {
		if (!hit.owner) return [sessionLine(hit)];
		const isNamed = last && (last.owner ?? last).path === hit.owner.path;
		return [...(isNamed ? [] : [sessionLine(hit.owner)]), `  ↳ ${sessionLine(hit, 4)}`];
	};
	return {
		/** @param {SearchHit} hit */
		hit(hit) {
			// The search returns one hit more than the limit if there are more.
			if (++shown > options.limit) return "";
			const isNext = hit.path !== last?.path;
			const between = isNext ? [...sessionEnd(), ...sessionStart(hit)] : [];
			last = hit;
			ofSession = isNext ? 1 : ofSession + 1;
			return lines([...between, ...hitLines(hit)]);
		},
		end() {
			// With --session, the line below the session says so already.
			const isTold = last !== undefined && options.session !== undefined;
			const more =
				shown > options.limit && !isTold
					? wrapped(`There are more hits than ${options.limit}; --limit all shows all`, columns())
					: [];
			return lines([...sessionEnd(), ...more.map((line) => paint.dim(line))]);
		},
	};
}

/**
 * @param {import("../../index.js").SearchedSession} session
 * @param {number} [indent] columns before the line
 */
function sessionLine(session, indent = 0) {
	const width = columns() - indent;
	const id = clip(session.id, Math.min(ID_COLUMNS, width));
	const name = clip(session.name || session.firstMessage || "", Math.min(60, width - widthOf(id) - 2));
	const dir = clip(underHome(session.cwd), width - widthOf(id) - widthOf(name) - 4);
	const parts = [id && paint.cyan(id), name && paint.bold(name), dir && paint.dim(dir)];
	return parts.filter(Boolean).join("  ");
}

/**
 * The place of a hit and its snippet, on two lines if the terminal is narrow.
 * @param {SearchHit} hit
 */
function hitLines(hit) {
	const width = columns();
	const when = Number.isNaN(Date.parse(hit.timestamp)) ? "?" : age(new Date(hit.timestamp));
	const place = `  ${clip(hit.entryId, 8)} ${when.padStart(4)}`;
	const role = clip(hit.role, Math.min(16, width - place.length - 1));
	const head = `${paint.dim(place)} ${role.padEnd(width < 60 ? 0 : 10)}`;
	return width < 60
		? [head, `    ${marked(hit.snippet, width - 4)}`]
		: [`${head} ${marked(hit.snippet, width - place.length - Math.max(10, role.length) - 2)}`];
}

/**
 * A snippet with the found words in bold.
 * @param {string} snippet
 * @param {number} width
 */
const marked = (snippet, width) =>
	pieces(snippet, width)
		.map(({ text, found }) => (found ? paint.bold(paint.yellow(text)) : text))
		.join("");
