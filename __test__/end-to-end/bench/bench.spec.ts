// The benchmark itself: it measures the cases of its page on both sides, or says why not. No test depends on a time.
import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Json, jsonLines, root, scratch } from "../../support/scratch.js";

function run(script: string, ...args: string[]): { status: number | null; stdout: string; stderr: string } {
	return spawnSync(process.execPath, [join(root, "bench", script), ...args], { encoding: "utf8" });
}

/** A generated session: the sizes of its lines, and its entries. */
function generated(...args: string[]): { sizes: number[]; entries: Json[]; stdout: string; bytes: Buffer } {
	const file = join(scratch(), "generated.jsonl");
	const { status, stdout, stderr } = run("generate.mjs", file, ...args);
	expect(stderr).toBe("");
	expect(status).toBe(0);
	const sizes = readFileSync(file, "utf8")
		.split("\n")
		.slice(0, -1)
		.map((line) => Buffer.byteLength(line) + 1);
	return { sizes, entries: jsonLines(file).slice(1), stdout, bytes: readFileSync(file) };
}

describe("the generated session", () => {
	// Regression: started by a link the script did nothing, and reported success.
	test("is made by the script in a linked clone, too", () => {
		const link = join(scratch(), "clone");
		symlinkSync(root, link);
		const file = join(scratch(), "generated.jsonl");
		const { status, stdout } = spawnSync(
			process.execPath,
			[join(link, "bench/generate.mjs"), file, "--entries", "10"],
			{ encoding: "utf8" },
		);
		expect([status, stdout]).toEqual([0, expect.stringMatching(/^11 lines, /)]);
		expect(jsonLines(file)).toHaveLength(11);
	});

	test("has no U+2028 and no U+2029", () => {
		for (const [at, kind] of [[], ["--images", "0.5"]].entries()) {
			const { bytes } = generated("--bytes", String(4 << 20), "--seed", String(at + 1), ...kind);
			for (const separator of ["\u2028", "\u2029"]) {
				expect(bytes.includes(separator)).toBe(false);
				expect(bytes.includes(JSON.stringify(separator).slice(1, -1))).toBe(false);
			}
		}
	});
});

test("a case is measured on both sides", () => {
	const json = join(scratch(), "bench.json");
	const { status, stdout } = run(
		"run.mjs",
		"--cases",
		"open-1mb,append-message,warm-small",
		"--rounds",
		"1",
		"--json",
		json,
	);
	expect(stdout).not.toContain("Failed");
	expect(status).toBe(0);
	const { rows, raw } = JSON.parse(readFileSync(json, "utf8"));
	const names = rows.map((row: Json) => row.case);
	expect(names).toEqual(expect.arrayContaining(["open-1mb", "append-message", "warm-small getTree"]));
	for (const { pi, ours, ratio } of rows) {
		expect(pi).toBeGreaterThan(0);
		expect(ours).toBeGreaterThan(0);
		expect(ratio).toBeCloseTo(pi / ours, 6);
	}
	for (const side of ["pi", "ours"]) {
		const [{ [side]: answer }] = raw["open-1mb"].rounds;
		expect(answer.peak).toBeGreaterThan(1 << 20);
		expect(Number.isFinite(answer.growth)).toBe(true);
	}
	for (const name of names) expect(stdout).toContain(name);
});

test("commands of pi-sessions are measured", () => {
	const alone = run("cli.mjs", "--quick", "--rounds", "1");
	expect([alone.status, alone.stderr]).toEqual([0, ""]);
	expect(
		alone.stdout
			.split("\n")
			.slice(2, -1)
			.map((row) => row.replace(/\d[\d.]* m?s \|$/, "T |")),
	).toEqual(
		["stats of 4 MiB", "show of 4 MiB", "show --limit 100 of 4 MiB", "tree of 4 MiB"].map((name) => `| ${name} | T |`),
	);
});

// Regression: one fast round of eleven sufficed for a start, and no figure existed for a first start or the extension.
test("a check fails for a slower start or extension", async () => {
	const { EXTENSION_FIGURES, FIGURES, fallen } = await import(join(root, "bench/check.mjs"));
	const start = { case: "start-answer", ratio: FIGURES["start-answer"].median, high: 9 };
	const first = { case: "start-first", pi: 800, ours: 800 + FIGURES["start-first"].more };
	expect(fallen([start, first])).toEqual([]);
	const slower = [{ ...start, ratio: 0.89 }, { ...first, pi: 799 }, { case: "start-first" }];
	expect(fallen(slower)).toEqual([
		"start-answer: 0.89 times as fast as pi, less than 0.9",
		"start-first: 101.00 ms more than pi, more than 100 ms",
		"start-first: not measured ms more than pi, more than 100 ms",
	]);
	const rows = [
		{ case: "list", ratio: 31, high: 31 },
		{ case: "letter", ratio: 0.9, high: 1 },
		{ case: "switch", ratio: 3.5, high: 4, piGrowth: 100, oursGrowth: 45 },
	];
	expect(fallen(rows, EXTENSION_FIGURES)).toEqual([]);
	const worse = rows.map((row) => ({ ...row, ratio: 0.5, high: 0.9, oursGrowth: 100 }));
	expect(fallen(worse, EXTENSION_FIGURES)).toHaveLength(4);
});

// Regression: a case with another name than its figure was not checked, and the check passed.
test("every figure of the check belongs to a case", async () => {
	const { FIGURES } = await import(join(root, "bench/check.mjs"));
	const { CASES } = await import(join(root, "bench/cases.mjs"));
	expect(Object.keys(FIGURES).filter((name) => !CASES.some((one: { name: string }) => one.name === name))).toEqual([]);
	expect(run("run.mjs", "--check", "--rounds", "9")).toMatchObject({
		status: 2,
		stderr: "--check has its own number of rounds: leave out --rounds\n",
	});
});
