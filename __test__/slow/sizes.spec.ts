// Files whose size or shape needs more memory than there is: a call returns a result or fails, but the process does not
// end.
import { spawnSync } from "node:child_process";
import { truncateSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { appendRepeated, header, LOAD, message, scratch, text, user, writeSession } from "../support/scratch.js";

const MB = 1 << 20;
const START = [header(), message("a", null, user("one")), message("b", "a", user("two"))];

/** A session that continues with that many bytes of `filler`. */
function goingOn(filler: string, bytes: number): string {
	const file = writeSession(scratch(), START);
	appendRepeated(file, filler, bytes);
	return file;
}

/**
 * Runs `code` in a process with so much memory. `code` can use `SessionManager`, `file` and `dir`. Returns its output
 * and its peak.
 */
function within(kilobytes: number, file: string, code: string): { said: any; peak: number } {
	const script = `${LOAD}
		const [file, dir] = process.argv.slice(1);
		const tried = (work) => { try { return work(); } catch (error) { return error.message; } };
		(async () => {
			const said = await (async () => { ${code} })();
			console.log(JSON.stringify({ said, peak: process.resourceUsage().maxRSS / 1024 }));
		})();`;
	const shell = `ulimit -v ${kilobytes} && exec "$0" "$@"`;
	const ran = spawnSync("bash", ["-c", shell, process.execPath, "-e", script, file, dirname(file)], {
		encoding: "utf8",
		env: { ...process.env, PI_SESSION_NATIVE_CATALOG: "off" },
		maxBuffer: 64 * MB,
	});
	expect([ran.status, ran.signal, ran.stderr.slice(-500)]).toEqual([0, null, ""]);
	return JSON.parse(ran.stdout);
}

test("a session that ends in gigabytes of zeros works", () => {
	const file = writeSession(scratch(), START);
	const size = 4_500 * MB;
	const start = text(START).length;
	truncateSync(file, size);
	const { said, peak } = within(
		4_000_000,
		file,
		`const manager = SessionManager.open(file);
		const before = manager.getDiagnostics();
		manager.appendCustomEntry("one");
		manager.appendCustomEntry("two");
		manager.flush();
		const after = manager.getDiagnostics();
		const list = await SessionManager.list("/c", dir);
		const report = SessionManager.verify(file);
		return { entries: manager.getEntryCount(), before, after, report, list: (await SessionManager.listAll(dir)).length };`,
	);
	expect(said.entries).toBe(4);
	expect(said.before.damaged).toEqual([]);
	// The end is also right beyond 4 GiB.
	const damaged = [{ line: 4, start, end: size, reason: "not valid JSON" }];
	expect(said.after).toMatchObject({ damaged, foreignChanges: [], repairs: [] });
	expect(said.report).toMatchObject({ ok: false, damaged, lines: 6, entries: 4, endsWithNewline: true });
	expect(said.list).toBe(1);
	expect(peak).toBeLessThan(400);
});

test("a line too large for the memory is an error", () => {
	const file = goingOn("x", 900 * MB);
	const { said } = within(
		1_300_000,
		file,
		"return [tried(() => SessionManager.open(file).getEntryCount()), tried(() => SessionManager.verify(file).lines)];",
	);
	const told = `ENOMEM: not enough memory, read '${file}'`;
	expect(said).toEqual([told, told]);
});

test("20 MB of newlines take no memory each", () => {
	const count = 20 * MB;
	const file = goingOn("\n", count);
	const { said, peak } = within(
		4_000_000,
		file,
		"return [SessionManager.open(file).getEntryCount(), SessionManager.verify(file).lines, SessionManager.verify(file).ok];",
	);
	expect(said).toEqual([2, count + 3, true]);
	expect(peak).toBeLessThan(250);
});

// Regression: they were in memory three times: in the pass that plans, in the pass that checks, and in the pass that
// writes.
test("a redaction keeps its new lines in memory once", () => {
	const lines = Array.from({ length: 16 }, (_, at) => message(`m${at}`, null, user(`secret ${"x".repeat(4 * MB)}`)));
	const file = writeSession(scratch(), [header(), ...lines]);
	const { said, peak } = within(
		4_000_000,
		file,
		'return SessionManager.redact(file, { text: "secret" }).lines.length;',
	);
	expect(said).toBe(16);
	expect(peak).toBeLessThan(220);
});

test("two million damaged lines are counted and removed by repair", () => {
	const count = 2_000_000;
	const file = goingOn("x\n", 2 * count);
	const { said, peak } = within(
		4_000_000,
		file,
		`const { damaged, totals } = SessionManager.open(file).getDiagnostics();
		const report = SessionManager.verify(file);
		const { repairs, repairCount, after } = SessionManager.repair(file);
		return { told: [damaged.length, report.damaged.length, repairs.length], totals, same: report.totals, repairCount, last: repairs[999], after };`,
	);
	const totals = { damaged: count, orphans: 0, duplicateIds: 0, cycles: 0 };
	expect(said).toMatchObject({ told: [1000, 1000, 1000], totals, same: totals, repairCount: count });
	expect(said.last).toEqual({ line: 1003, what: "removed: not valid JSON" });
	expect(said.after).toMatchObject({ ok: true, entries: 2, lines: 3 });
	expect(peak).toBeLessThan(500);
});
