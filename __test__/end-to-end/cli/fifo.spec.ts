// A FIFO in place of a file. Opening it for reading waits for a writer, so no command may open it.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { branched, good, goodJson, put, run, world } from "../../support/cli.js";

const makeFifo = (path: string): void => {
	mkdirSync(dirname(path), { recursive: true });
	execFileSync("mkfifo", [path]);
};

// Regression: stats --all hung forever on a FIFO among the sessions.
test.skipIf(process.platform === "win32")("stats --all names a FIFO among the sessions, and ends", async () => {
	const at = world();
	const path = put(at, "0194-session", branched);
	const fifo = join(dirname(path), "x.jsonl");
	makeFifo(fifo);
	const { code, out, err } = await run(at, ["stats", "--all", "--json"]);
	expect({ code, err }).toEqual({ code: 1, err: "" });
	expect(JSON.parse(out)).toMatchObject({
		sessions: 1,
		unreadable: [{ path: fifo, error: `Not a regular file: ${fifo}` }],
	});
	expect((await goodJson(at, ["list", "--all"])).map((session: { path: string }) => session.path)).toEqual([path]);
	expect(await run(at, ["show", fifo])).toMatchObject({ code: 1, err: `Error: Not a file: ${fifo}\n` });
	expect(await run(at, ["verify", "--all"])).toMatchObject({ code: 1, out: expect.stringContaining(fifo) });
});

// Regression: they hung on it.
test.skipIf(process.platform === "win32")("no command waits for a FIFO at .pi/settings.json", async () => {
	const at = world();
	put(at, "0194-session", branched);
	const fifo = join(at.cwd, ".pi", "settings.json");
	makeFifo(fifo);
	const warning = `Warning: Settings are ignored because they cannot be read: ${fifo}: not a regular file\n`;
	for (const args of [["list"], ["search", "parser"], ["stats"], ["stats", "--all"]])
		expect(await run(at, args), args.join(" ")).toMatchObject({ code: 0, err: warning });
	expect(await run(at, ["complete", "pi-sessions", "show", ""])).toMatchObject({
		code: 0,
		out: "0194-session\tThe parser\n/file\n",
		err: warning,
	});
	expect(await good({ ...at, cwd: at.agent }, ["list", "--all"])).toContain("The parser");
});
