// `pi-sessions list` and `pi-sessions search`: sessions, and places in them, as tables.
import { statSync } from "node:fs";
import { homedir } from "node:os";
import { UsageError } from "./errors.mjs";
import { staticNamed } from "./library.mjs";
import { columns, paint, progress, table, write, writeJson } from "./output.mjs";
import { listSessions, sessionDir, title, workingDirectory } from "./sessions.mjs";
import { age, clip, counted, safeLine, size } from "./text.mjs";

/** @typedef {import("./library.mjs").SessionInfo} SessionInfo */
/** @typedef {import("./sessions.mjs").Place & { json?: boolean }} Options */

/** Ids are UUIDv7: so many characters hold the millisecond. */
const ID_SHOWN = 13;

/** @param {string} path */
function bytesOf(path) {
	return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** @param {string} cwd */
const short = (cwd) => {
	const home = homedir();
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
		return await write(options.all ? "No sessions\n" : `No sessions for ${safeLine(workingDirectory(options))}; --all lists those of every folder\n`);
	}
	const ids = shortIds(sessions);
	const rows = sessions.map((session) => [
		clip(/** @type {string} */ (ids.get(session)), 36),
		age(session.modified),
		size(bytesOf(session.path)),
		String(session.messageCount),
		...(options.all ? [clip(short(session.cwd) || "?", 40)] : []),
	]);
	const head = ["ID", "AGE", "SIZE", "MSGS", ...(options.all ? ["FOLDER"] : [])];
	const widths = head.map((one, column) => Math.max(one.length, ...rows.map((row) => row[column]?.length ?? 0)));
	const room = Math.max(20, columns() - widths.reduce((sum, width) => sum + width + 2, 0));
	const painted = rows.map((row, index) => {
		const session = /** @type {SessionInfo} */ (sessions[index]);
		const text = title(session, room);
		return [paint.cyan(row[0] ?? ""), ...row.slice(1), session.name === undefined ? text : paint.bold(text)];
	});
	await write(`${table([...head, "NAME OR FIRST MESSAGE"], painted, ["left", "right", "right", "right", "left", "left"])}\n`);
	if (sessions.length < all.length) await write(paint.dim(`${counted(all.length - sessions.length, "older session")} not shown; --limit 0 shows all\n`));
}

/** @param {SessionInfo} session */
function asJson(session) {
	const { allMessagesText: _, ...fields } = session;
	return { ...fields, bytes: bytesOf(session.path) };
}

/**
 * The shortest beginnings of ids that tell these sessions apart.
 * @param {SessionInfo[]} sessions
 * @returns {Map<SessionInfo, string>}
 */
function shortIds(sessions) {
	const sorted = [...sessions].sort((a, b) => (a.id < b.id ? -1 : 1));
	const shared = (/** @type {string} */ a, /** @type {string | undefined} */ b) => {
		let at = 0;
		while (b !== undefined && at < a.length && a[at] === b[at]) at++;
		return b === undefined ? 0 : at;
	};
	return new Map(
		sorted.map((session, index) => {
			const same = Math.max(shared(session.id, sorted[index - 1]?.id), shared(session.id, sorted[index + 1]?.id));
			return [session, session.id.slice(0, Math.max(ID_SHOWN, same + 1))];
		}),
	);
}

/**
 * What `SessionManager.search` gives.
 * @typedef {{ path: string, id: string, name?: string, cwd: string, entryId: string, role: string, timestamp: string, snippet: string }} SearchHit
 */

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
	/** @type {(query: string, options: object) => Promise<SearchHit[]>} */
	const find = staticNamed("search");
	const bar = progress("Searching");
	/** @type {SearchHit[]} */
	let hits;
	try {
		hits = await find(query, {
			...(options.all ? {} : { cwd: workingDirectory(options) }),
			...(sessionDir(options) === undefined ? {} : { dir: sessionDir(options) }),
			...(options.limit > 0 ? { limit: options.limit } : {}),
			...(options.json ? {} : { mark: [OPEN, CLOSE] }),
			onProgress: bar.update,
		});
	} finally {
		bar.stop();
	}
	if (options.json) return await writeJson(hits);
	if (hits.length === 0) return await write(`Nothing found for ${safeLine(query)}${options.all ? "" : " in this folder's sessions; --all searches every folder's"}\n`);
	let session = "";
	for (const hit of hits) {
		if (hit.path !== session) {
			session = hit.path;
			await write(`${paint.cyan(safeLine(hit.id))}  ${paint.bold(clip(hit.name ?? "", 60))}${paint.dim(`  ${safeLine(short(hit.cwd))}`)}\n`);
		}
		const when = Number.isNaN(Date.parse(hit.timestamp)) ? "?" : age(new Date(hit.timestamp));
		await write(`  ${paint.dim(`${clip(hit.entryId, 8)} ${when.padStart(4)}`)} ${clip(hit.role, 16).padEnd(10)} ${marked(hit.snippet)}\n`);
	}
}

/**
 * A snippet with the words found in it made bold.
 * @param {string} snippet
 */
function marked(snippet) {
	return snippet
		.split(OPEN)
		.map((piece, index) => {
			const [found = "", rest] = index === 0 ? ["", piece] : piece.split(CLOSE);
			const inner = safeLine(`x${found}x`).slice(1, -1);
			const after = safeLine(`x${rest ?? ""}x`).slice(1, -1);
			return (inner === "" ? "" : paint.bold(paint.yellow(inner))) + after;
		})
		.join("");
}
