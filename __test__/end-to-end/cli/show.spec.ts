// `pi-sessions show` for branches, and for sessions that are larger than its memory should be.
import { expect, test } from "vitest";
import { branched, good, lines, put, run, type World, world } from "../../support/cli.js";
import { assistant, type Json, message, toolResult, user } from "../../support/scratch.js";

test("colours change nothing but the colours", async () => {
	const at = world();
	const path = put(at, "branched", branched);
	for (const args of [[path], [path, "--full"], [path, "--leaf", "e4"]]) {
		const coloured = await good(at, ["show", ...args], { FORCE_COLOR: "1" });
		expect(coloured).toContain("\u001b[");
		expect(coloured.replace(/\u001b\[\d+m/g, "")).toBe(await good(at, ["show", ...args]));
	}
});

test("the branch of another leaf is shown, and a session without entries or with an empty id", async () => {
	const at = world();
	const path = put(at, "branched", branched);
	expect(await good(at, ["show", path])).toContain("    … 26 more lines (--full)");
	const other = await good(at, ["show", path, "--leaf", "e4"]);
	expect(other).toContain("Done with the first");
	expect(other).not.toContain("Both are mended");
	expect(await good(at, ["show", put(at, "unnamed", [message("", null, user("no id"))])])).not.toContain("no id");
	expect(lines(await good(at, ["show", put(at, "none", [])]))[0]).toBe("(no name)");
});

/** The megabytes that the command may use for a session of 250 MB. */
const MOST = 240;

/** The output of `show` in a small heap, and its largest memory in MB. */
async function peakOf(at: World, args: string[]): Promise<{ out: string; peak: number }> {
	const note = 'data:text/javascript,process.on("exit",()=>console.error(process.resourceUsage().maxRSS))';
	const { code, out, err } = await run(at, ["show", ...args], {
		NODE_OPTIONS: `--max-old-space-size=64 --import=${encodeURI(note)}`,
	});
	expect(code).toBe(0);
	return { out, peak: Number(err) / 1024 };
}

/** A branch of 100 results, each longer than the one before. */
const results = (of: (index: number) => Json): Json[] =>
	Array.from({ length: 100 }, (_, index) =>
		message(`d${index}`, index === 0 ? null : `d${index - 1}`, index % 2 ? assistant("Next") : of(index)),
	);

test("details of 250 MB need no memory", async () => {
	const at = world();
	const details = "x".repeat(5 << 20);
	const { out, peak } = await peakOf(at, [
		put(
			at,
			"details",
			results((index) => ({ ...toolResult(`result ${index}`), details: { details } })),
		),
	]);
	expect(out).toContain("result 98");
	expect(peak).toBeLessThan(MOST);
}, 120_000);

// Regression: with colours, all shown entries stayed in memory.
test("texts of 250 MB are released once shown", async () => {
	const at = world();
	const path = put(
		at,
		"texts",
		results((index) => toolResult(`result ${index}\n${"a line of a log\n".repeat((5 << 20) / 16)}`)),
	);
	for (const args of [[path], [path, "--json"]]) {
		const { out, peak } = await peakOf(at, args);
		expect(out).toContain("result 98");
		expect(peak).toBeLessThan(MOST);
	}
}, 120_000);
