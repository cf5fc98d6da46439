// The benchmark itself: what it measures is what its page says, on both sides, or it says why not. Never how long.
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

const sum = (sizes: number[]): number => sizes.reduce((all, size) => all + size, 0);

describe("the generated session", () => {
	test("has the mix that is stated: mean line, long lines, who wrote what, compactions, letters", () => {
		const { sizes, entries, stdout } = generated("--bytes", String(24 << 20));
		const bytes = sum(sizes);
		const long = sizes.filter((size) => size > 4096);
		expect(bytes / sizes.length / 1024).toBeCloseTo(6, 0);
		expect(long.length / sizes.length).toBeCloseTo(0.2, 1);
		expect(sum(long) / bytes).toBeCloseTo(0.8, 1);
		const share = (role: string): number =>
			entries.reduce(
				(all, { message }, at) => all + ((message as Json)?.role === role ? (sizes[at + 1] as number) : 0),
				0,
			) / bytes;
		expect(share("toolResult")).toBeCloseTo(0.49, 1);
		expect(share("assistant")).toBeCloseTo(0.47, 1);
		expect(share("user")).toBeCloseTo(0.03, 1);
		const compactions = entries.flatMap(({ type }, at) => (type === "compaction" ? [at] : []));
		expect(compactions.length).toBe(Math.floor(entries.length / 1_500));
		const texts = entries.filter(({ type }) => type === "message").map((one) => JSON.stringify(one));
		// A message has more than one text, so more messages than texts have such letters.
		const wide = texts.filter((text) => /[^\0-\xFF]/.test(text)).length / texts.length;
		expect(wide).toBeGreaterThan(0.08);
		expect(wide).toBeLessThan(0.35);
		expect(stdout).toContain(`${sizes.length.toLocaleString("en")} lines`);
	});

	// Regression: by a link the script did nothing, and said that this was good.
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

	test("is a tree in which every parent is before its child, the same for the same seed", () => {
		const one = generated("--entries", "400", "--seed", "7");
		const known = new Set<unknown>([null]);
		for (const { id, parentId } of one.entries) {
			expect(known.has(parentId)).toBe(true);
			expect(known.has(id)).toBe(false);
			known.add(id);
		}
		expect(generated("--entries", "400", "--seed", "7").bytes.equals(one.bytes)).toBe(true);
		expect(generated("--entries", "400", "--seed", "8").bytes.equals(one.bytes)).toBe(false);
	});

	test("has no U+2028 and no U+2029, at which Node 24 ends the lines that pi lists", () => {
		for (const [at, kind] of [[], ["--sizes", "small"], ["--wide", "1"], ["--images", "0.5"]].entries()) {
			const { bytes } = generated("--bytes", String(4 << 20), "--seed", String(at + 1), ...kind);
			for (const separator of ["\u2028", "\u2029"]) {
				expect(bytes.includes(separator)).toBe(false);
				expect(bytes.includes(JSON.stringify(separator).slice(1, -1))).toBe(false);
			}
		}
	});

	test("of images has their share, one of small lines no long ones", () => {
		const images = generated("--bytes", String(8 << 20), "--images", "0.9");
		const held = images.entries.map(
			(one, at) => [JSON.stringify(one).includes('"type":"image"'), images.sizes[at + 1] as number] as const,
		);
		expect(sum(held.flatMap(([has, size]) => (has ? [size] : []))) / sum(images.sizes)).toBeCloseTo(0.9, 1);
		const small = generated("--entries", "2000", "--sizes", "small", "--compact-every", "0");
		expect(Math.max(...small.sizes)).toBeLessThan(4096);
		expect(small.entries.some(({ type }) => type === "compaction")).toBe(false);
	});
});

test("a case is measured on both sides: time, ratio, peak and what is kept after", () => {
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

test("starts of pi are measured by itself and under the hook, and an application's import", () => {
	const json = join(scratch(), "starts.json");
	const { status, stdout, stderr } = run(
		"run.mjs",
		"--cases",
		"start-version,start-native,start-0.87.1,start-application",
		"--rounds",
		"1",
		"--json",
		json,
	);
	expect(stderr + stdout).not.toContain("Failed");
	expect(status).toBe(0);
	const { rows, raw } = JSON.parse(readFileSync(json, "utf8"));
	expect(rows.map((row: Json) => row.case)).toEqual([
		"start-version",
		"start-native-version",
		"start-0.87.1",
		"start-application",
	]);
	for (const { pi, ours } of rows) for (const time of [pi, ours]) expect(time).toBeGreaterThan(0);
	// Of a process that is still there, where the system tells.
	if (process.platform === "linux") expect(raw["start-0.87.1"].rounds[0].ours.peak).toBeGreaterThan(1 << 20);
});

test("an unknown case is named, with those that there are", () => {
	const { status, stderr } = run("run.mjs", "--cases", "open-1tb");
	expect(status).toBe(2);
	expect(stderr).toContain("No such case: open-1tb");
	expect(stderr).toContain("footer-128mb");
});

test("commands of pi-sessions are measured, alone and against another checkout", () => {
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
	const both = run("cli.mjs", "--cases", "tree of 4", "--rounds", "1", "--against", root);
	expect(both.stdout).toMatch(/\| tree of 4 MiB \| [\d.]+ m?s \| [\d.]+ m?s \| [\d.]+× \|\n$/);
	expect(run("cli.mjs", "--cases", "tree of 4 TB")).toMatchObject({
		status: 2,
		stderr: expect.stringContaining("No such case: tree of 4 TB. There are: stats --all without catalog"),
	});
	const wrong = run("cli.mjs", "--cases", "tree of 4", "--against", scratch());
	expect(wrong).toMatchObject({
		status: 1,
		stderr: expect.stringMatching(/^against: pi-sessions tree .* ended by exit code 1: /),
	});
});

describe("the check", () => {
	test("fails a case of which no round reached its figure, and one that uses more memory", async () => {
		const { FIGURES, fallen } = await import(join(root, "bench/check.mjs"));
		const { CASES } = await import(join(root, "bench/cases.mjs"));
		const names = CASES.map(({ name }: { name: string }) => name);
		expect(Object.keys(FIGURES).filter((name) => !names.includes(name))).toEqual([]);
		const { ratio, memory } = FIGURES["looks-128mb"];
		const row = (more: object) => ({
			case: "looks-128mb",
			ratio,
			low: ratio,
			high: ratio,
			piGrowth: 100,
			oursGrowth: 100 * memory,
			...more,
		});
		expect(fallen([row({ ratio: ratio / 2 }), { case: "no figure", ratio: 0, high: 0 }])).toEqual([]);
		expect(fallen([row({ high: ratio - 0.01 })])).toEqual([expect.stringContaining(`less than ${ratio}`)]);
		expect(fallen([row({ oursGrowth: 100 * memory + 1 })])).toEqual([expect.stringContaining(`more than ${memory}`)]);
		expect(fallen([{ case: "append-image" }])).toEqual([expect.stringContaining("not measured")]);
	});
});
