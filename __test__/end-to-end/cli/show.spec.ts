// `pi-sessions show` for branches, and for sessions that are larger than its memory should be.
import { expect, test } from "vitest";
import { branched, good, put, run, world } from "../../support/cli.js";
import { assistant, message, toolResult } from "../../support/scratch.js";

test("colours change nothing but the colours", async () => {
	const at = world();
	const path = put(at, "branched", branched);
	for (const args of [[path], [path, "--full"]]) {
		const coloured = await good(at, ["show", ...args], { FORCE_COLOR: "1" });
		expect(coloured).toContain("\u001b[");
		expect(coloured.replace(/\u001b\[\d+m/g, "")).toBe(await good(at, ["show", ...args]));
	}
});

/** The megabytes that the command may use for a session of 200 MB. */
const MOST = 170;

// Regression: with colours, all shown entries stayed in memory.
test("large texts and details are released once shown", async () => {
	const at = world();
	const log = "a line of a log\n".repeat((2 << 20) / 16);
	const entries = Array.from({ length: 100 }, (_, index) => {
		const result = { ...toolResult(`result ${index}\n${log}`), details: { log } };
		return message(`d${index}`, index === 0 ? null : `d${index - 1}`, index % 2 ? assistant("Next") : result);
	});
	const path = put(at, "large", entries);
	const note =
		"data:text/javascript,process.on('exit',()=>process.stderr.write(String(process.resourceUsage().maxRSS)))";
	const NODE_OPTIONS = `--max-old-space-size=64 --import=${encodeURI(note)}`;
	for (const [args, env] of [
		[[path], { FORCE_COLOR: "1" }],
		[[path, "--json"], {}],
	] as const) {
		const { code, out, err } = await run(at, ["show", ...args], { NODE_OPTIONS, ...env });
		expect(code).toBe(0);
		expect(out).toContain("result 98");
		expect(Number(err) / 1024).toBeLessThan(MOST);
	}
});
