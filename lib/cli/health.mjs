// `pi-sessions verify` and `pi-sessions repair`: the library checks and mends, this shows what it says.
import { staticNamed } from "./library.mjs";
import { paint, progress, write, writeJson } from "./output.mjs";
import { listSessions, sessionPath } from "./sessions.mjs";
import { counted, safeLine, size } from "./text.mjs";

/**
 * What `SessionManager.verify` gives.
 * @typedef {object} VerifyReport
 * @property {string} path
 * @property {boolean} ok
 * @property {number | null} version
 * @property {string | null} sessionId
 * @property {number} bytes
 * @property {number} lines
 * @property {number} entries
 * @property {{ line: number, start: number, end: number, reason: string }[]} damaged
 * @property {{ line: number, id: string, parentId: string }[]} orphans
 * @property {{ id: string, lines: number[] }[]} duplicateIds
 * @property {{ ids: string[] }[]} cycles
 * @property {boolean} endsWithNewline
 */

/**
 * What `SessionManager.repair` gives.
 * @typedef {{ path: string, backup: string | null, before: VerifyReport, after: VerifyReport, repairs: { line: number, what: string }[] }} RepairReport
 */

/** @typedef {{ cwd?: string, dir?: string, all?: boolean, json?: boolean }} Options */

/** Faults of one kind that are listed one by one; `--json` has all. */
const SHOWN = 20;

/**
 * Looks for faults in one session or more. Gives the exit code: 1 if any has one.
 * @param {string[]} queries
 * @param {Options} options
 */
export async function verify(queries, options) {
	/** @type {(path: string) => VerifyReport} */
	const check = staticNamed("verify");
	const paths = await pathsOf(queries, options);
	/** @type {(VerifyReport | { path: string, ok: false, error: string })[]} */
	const reports = [];
	const bar = progress("Verifying");
	for (const [index, path] of paths.entries()) {
		try {
			reports.push(check(path));
		} catch (error) {
			reports.push({ path, ok: false, error: /** @type {Error} */ (error).message });
		}
		bar.update(index + 1, paths.length);
	}
	bar.stop();
	if (options.json) await writeJson(reports);
	else for (const report of reports) await write(`${verdict(report).join("\n")}\n`);
	return reports.every(({ ok }) => ok) ? 0 : 1;
}

/**
 * @param {string[]} queries
 * @param {Options} options
 */
async function pathsOf(queries, options) {
	if (options.all) return (await listSessions(options)).map(({ path }) => path);
	const found = [];
	for (const query of queries.length > 0 ? queries : [undefined]) found.push(await sessionPath(query, options));
	return found;
}

/**
 * @param {VerifyReport | { path: string, ok: false, error: string }} report
 * @returns {string[]}
 */
function verdict(report) {
	const path = safeLine(report.path);
	if ("error" in report) return [`${paint.red("unreadable")}  ${path}: ${safeLine(report.error)}`];
	const version = report.version === null ? "no header" : `version ${report.version}`;
	const about = `${counted(report.entries, "entry", "entries")}, ${size(report.bytes)}, ${version}`;
	if (report.ok) return [`${paint.green("good")}  ${path}  ${paint.dim(about)}`];
	return [`${paint.red("faulty")}  ${path}  ${paint.dim(about)}`, ...faults(report)];
}

/** @param {VerifyReport} report */
function faults({ damaged, orphans, duplicateIds, cycles, endsWithNewline }) {
	return [
		...some(damaged, ({ line, start, end, reason }) => `line ${line} is damaged (bytes ${start} to ${end}): ${reason}`),
		...some(orphans, ({ line, id, parentId }) => `line ${line}: entry ${id} names a parent that is not there, ${parentId}`),
		...some(duplicateIds, ({ id, lines }) => `id ${id} stands on lines ${lines.join(", ")}`),
		...some(cycles, ({ ids }) => `entries are each other's parents: ${ids.slice(0, 8).join(", ")}${ids.length > 8 ? ", …" : ""}`),
		...(endsWithNewline ? [] : ["  the last line has no end"]),
	];
}

/**
 * @template T
 * @param {T[]} items
 * @param {(item: T) => string} show
 */
function some(items, show) {
	const lines = items.slice(0, SHOWN).map((item) => `  ${safeLine(show(item))}`);
	return items.length > SHOWN ? [...lines, `  and ${items.length - SHOWN} more of these (--json lists all)`] : lines;
}

/**
 * Mends a session. Gives the exit code: 1 if faults are left.
 * @param {string} query
 * @param {Options & { dryRun?: boolean }} options
 */
export async function repair(query, options) {
	const path = await sessionPath(query, options);
	if (options.dryRun) return await verify([path], options);
	/** @type {(path: string) => RepairReport} */
	const mend = staticNamed("repair");
	const done = mend(path);
	if (options.json) await writeJson(done);
	else {
		const lines = done.repairs.length === 0 ? ["Nothing to repair"] : some(done.repairs, ({ line, what }) => `line ${line}: ${what}`);
		if (done.backup !== null) lines.push(`The file as it was: ${safeLine(done.backup)}`);
		await write(`${[...lines, ...verdict(done.after)].join("\n")}\n`);
	}
	return done.after.ok ? 0 : 1;
}
