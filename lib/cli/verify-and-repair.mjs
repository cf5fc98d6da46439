// `pi-sessions verify` and `pi-sessions repair`: print the library's reports.
import { SessionManager } from "../../index.mjs";
import { allSessionFiles } from "../shared/session-dir.mjs";
import { clip, count, counted, safeLine, size } from "../shared/text.mjs";
import { existingSessionDir } from "./dir-options.mjs";
import { UsageError } from "./errors.mjs";
import { paint, withProgress, write, writeJson } from "./output.mjs";
import { ID_COLUMNS, sessionPath } from "./sessions.mjs";
import { yieldToSignals } from "./signals.mjs";

/** @typedef {import("../../index.js").VerifyReport} VerifyReport */
/**
 * @typedef {{ path: string, ok: false, error: string }} Failure a file that could not be checked, or a name that
 * belongs to no file
 */
/** @typedef {{ cwd?: string, dir?: string, all?: boolean, json?: boolean }} Options */

/** The number of faults listed for each kind. `--json` prints all of a report. */
const SHOWN = 20;

/**
 * Checks sessions. Returns the exit code: 1 if one is faulty, or if a named file is not a session of pi.
 * @param {string[]} queries
 * @param {Options} options
 */
export async function verify(queries, options) {
	if (options.all && queries.length > 0) throw new UsageError("--all cannot be combined with named sessions");
	const asked = options.all ? allSessionFiles(existingSessionDir(options)) : queries.length > 0 ? queries : [undefined];
	/** @type {(VerifyReport | Failure)[]} */
	const reports = [];
	const turn = yieldToSignals();
	await withProgress("Verifying", async ({ update }) => {
		for (const [index, query] of asked.entries()) {
			reports.push(await reported(query, options, asked.length > 1));
			update(index + 1, asked.length);
			await turn();
		}
	});
	// With --all, files of other programs are no faults.
	const sessions = options.all ? reports.filter((report) => !isOther(report)) : reports;
	if (options.json) await writeJson(reports);
	// With --all, good sessions are only counted.
	else for (const report of sessions) if (!options.all || !report.ok) await write(`${verdict(report).join("\n")}\n`);
	if (options.all && !options.json)
		await write(`${summary(sessions)}\n${others(reports.filter(isOther))}${noted(sessions)}`);
	return sessions.every(({ ok }) => ok) ? 0 : 1;
}

/** Whether a file is not a session of pi. @param {VerifyReport | Failure} report @returns {report is VerifyReport} */
const isOther = (report) => !("error" in report) && report.otherFormat !== null;

/** Lines about the files that are not sessions of pi. @param {VerifyReport[]} reports */
function others(reports) {
	if (reports.length === 0) return "";
	const lines = reports.map(({ path, otherFormat }) => `  ${safeLine(path)}: ${safeLine(otherFormat)}\n`);
	return `${counted(reports.length, "other file")}, not pi sessions:\n${lines.join("")}`;
}

/**
 * @param {string | undefined} query
 * @param {Options} options
 * @param {boolean} many whether there are other queries: then an error becomes a failure in the report
 * @returns {Promise<VerifyReport | Failure>}
 */
async function reported(query, options, many) {
	let path = query ?? "";
	try {
		if (!options.all) path = await sessionPath(query, options);
	} catch (error) {
		if (!many) throw error;
		return failure(path, error);
	}
	try {
		return SessionManager.verify(path);
	} catch (error) {
		return failure(path, error);
	}
}

/**
 * @param {string} path
 * @param {unknown} error
 * @returns {Failure}
 */
const failure = (path, error) => ({ path, ok: false, error: /** @type {Error} */ (error).message });

/** @param {(VerifyReport | Failure)[]} reports */
function summary(reports) {
	const unreadable = reports.filter((report) => "error" in report).length;
	const faulty = reports.filter(({ ok }) => !ok).length - unreadable;
	return (
		`${counted(reports.length, "session file")}: ${count(reports.length - faulty - unreadable)} good, ${faulty} ` +
		`faulty, ${unreadable} unreadable`
	);
}

/**
 * @param {VerifyReport | Failure} report
 * @returns {string[]}
 */
function verdict(report) {
	const path = safeLine(report.path);
	if ("error" in report) return [`${paint.red("unreadable")}  ${path}: ${safeLine(report.error)}`];
	if (report.otherFormat !== null)
		return [`${paint.red("not a pi session")}  ${path}: ${safeLine(report.otherFormat)}`];
	const version = report.version === null ? "no header" : `version ${report.version}`;
	const about = `${counted(report.entries, "entry", "entries")}, ${size(report.bytes)}, ${version}`;
	if (report.ok) return [`${paint.green("good")}  ${path}  ${paint.dim(about)}`, ...notes(report)];
	return [`${paint.red("faulty")}  ${path}  ${paint.dim(about)}`, ...faults(report), ...notes(report)];
}

/** @param {string} id */
const short = (id) => clip(id, ID_COLUMNS);

/** @param {VerifyReport} report */
function faults({ damaged, orphans, duplicateIds, cycles, totals, endsWithNewline }) {
	return [
		...some(
			damaged,
			totals.damaged,
			({ line, start, end, reason }) => `line ${line} is damaged (bytes ${start} to ${end}): ${reason}`,
		),
		...some(
			orphans,
			totals.orphans,
			({ line, id, parentId }) => `line ${line}: the parent of entry ${short(id)} does not exist: ${short(parentId)}`,
		),
		...some(
			duplicateIds,
			totals.duplicateIds,
			({ id, lines, count }) =>
				`several lines have the id ${short(id)}: lines ` +
				`${lines.slice(0, SHOWN).join(", ")}${count > SHOWN ? ", …" : ""}`,
		),
		...some(
			cycles,
			totals.cycles,
			({ ids }) =>
				"the parents of these entries form a cycle: " +
				`${ids.slice(0, 8).map(short).join(", ")}${ids.length > 8 ? ", …" : ""}`,
		),
		...(endsWithNewline ? [] : ["  the final newline is missing"]),
	];
}

/** The line with the number of sessions that have notes. @param {(VerifyReport | Failure)[]} reports */
function noted(reports) {
	const some = reports.filter((report) => !("error" in report) && report.unpairedCalls.length > 0).length;
	return some > 0 ? `${counted(some, "session")} with notes; verify a single session to see them\n` : "";
}

/** Findings that are no damage. @param {VerifyReport} report */
const notes = ({ unpairedCalls }) =>
	some(
		unpairedCalls,
		unpairedCalls.length,
		({ line, toolCallId, reason }) =>
			`note: line ${line} contains ${reason} in the context: ${short(toolCallId)}. A provider may refuse the ` +
			"conversation",
	);

/**
 * @template T
 * @param {T[]} items
 * @param {number} total the number of all items, of which `items` are the first
 * @param {(item: T) => string} show
 */
function some(items, total, show) {
	const lines = items.slice(0, SHOWN).map((item) => `  ${safeLine(show(item))}`);
	const more = total > items.length ? `the first ${count(items.length)} of all` : "all";
	return total > SHOWN ? [...lines, `  and ${count(total - SHOWN)} more of these (--json lists ${more})`] : lines;
}

/**
 * Repairs a session. Returns the exit code: 1 if faults remain.
 * @param {string} query
 * @param {Options & { dryRun?: boolean }} options
 */
export async function repair(query, options) {
	const path = await sessionPath(query, options);
	if (options.dryRun) return await verify([path], options);
	const done = SessionManager.repair(path);
	if (options.json) await writeJson(done);
	else {
		const lines =
			done.repairs.length === 0
				? ["Nothing to repair"]
				: some(done.repairs, done.repairCount, ({ line, what }) => `line ${line}: ${clip(what, 3 * ID_COLUMNS)}`);
		if (done.backup !== null) lines.push(`The original file is kept as ${safeLine(done.backup)}`);
		await write(`${[...lines, ...verdict(done.after)].join("\n")}\n`);
	}
	return done.after.ok ? 0 : 1;
}
