// `/costs` in the real pi: the sums of `pi-sessions stats`, on the screen and in text.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Json, assistant, header, root, text, user } from "../../support/scratch.js";
import { inRpc, inTerminal, print, put, said, world, type World } from "./pi.js";

const spent = (cost: number, model: string): Json =>
	assistant("done", { provider: "acme", model, usage: { input: 1000, output: 20, cacheRead: 0, cacheWrite: 0, totalTokens: 1020, cost: { input: 0, output: cost, cacheRead: 0, cacheWrite: 0, total: cost } } });

/** A session of $2 with a subagent's of $7, and one of another project of $3. */
function fill(at: World): void {
	const main = put(at, "0194-main", [said("a", null, user("Plan the garden"), 50), said("b", "a", spent(2, "large"), 50)]);
	const run = join(main.replace(/\.jsonl$/, ""), "abc", "run-0");
	mkdirSync(run, { recursive: true });
	writeFileSync(join(run, "session.jsonl"), text([header({ id: "sub", cwd: at.work }), said("x", null, spent(7, "small"), 49)]));
	put(at, "0194-other", [said("a", null, user("\u001b[2J\u202eevil"), 3), said("b", "a", spent(3, "large"), 3)], { cwd: "/other" });
}

const total = "2 sessions, 1 session of subagents; 3 model calls, $12.00";

test.each([{ hooked: false }, { hooked: true }])("/costs shows days, models, projects and sessions, a session with its subagents (hooked: $hooked)", async ({ hooked }) => {
	const at = await world();
	fill(at);
	const terminal = await inTerminal(at, { hooked });
	await terminal.enter("/costs");
	await terminal.shows(total, "DAY", /^\d{4}-\d\d-\d\d +1 .* \$3\.00$/m, "tab shows the next table");
	terminal.press("Tab");
	await terminal.shows("MODEL", /^acme\/small +1 +1,000 +20 +\$7\.00$/m, /^acme\/large +2 +2,000 +40 +\$5\.00$/m, /^total +3 .* \$12\.00$/m);
	terminal.press("Tab");
	await terminal.shows("PROJECT", /work +2 .* \$9\.00$/m, /^\/other +1 .* \$3\.00$/m);
	terminal.press("Tab");
	await terminal.shows("SESSION", /^Plan the garden \(\+1 subagent\) +2 .* \$9\.00$/m, /^\\u202eevil +1 .* \$3\.00$/m);
	terminal.press("Escape");
	await terminal.shows("scripted • medium");
});

test("in print and RPC mode /costs is text, with the sums of pi-sessions stats", async () => {
	const at = await world();
	fill(at);
	const { stdout, code } = await print(at, "/costs");
	expect(code).toBe(0);
	for (const title of ["DAY", "MODEL", "PROJECT", "SESSION"]) expect(stdout).toContain(title);
	expect(stdout).toContain(total);
	const env = { ...process.env, HOME: at.home, PI_CODING_AGENT_DIR: join(at.home, "agent") };
	const stats = JSON.parse(execFileSync(process.execPath, [join(root, "bin/pi-sessions.mjs"), "stats", "--all", "--json", "--by", "model"], { encoding: "utf8", env, cwd: at.work }));
	expect(stats).toMatchObject({ total: { cost: 12, calls: 3 }, subagents: 1 });
	for (const { model, cost } of stats.rows) expect(stdout).toMatch(new RegExp(`^${model} .* \\$${cost.toFixed(2)}$`, "m"));
	expect((await print(at, "/costs project")).stdout).not.toContain("MODEL");
	expect((await print(at, "/costs everything")).stdout).toBe("Usage: /costs [day|model|project|session]; this is none of them: everything\n");
	await inRpc(at, async (client) => {
		await client.send({ type: "prompt", message: "/costs model" });
		const notified = client.records.find((record: Json) => record.type === "extension_ui_request" && record.method === "notify");
		expect(notified).toMatchObject({ message: expect.stringContaining(total) });
	});
});

test("a session that costs nothing, and no session at all, are shown as such", async () => {
	const at = await world();
	const terminal = await inTerminal(at);
	await terminal.enter("/costs");
	await terminal.shows("0 sessions; 0 model calls, $0.00");
	terminal.press("Enter");
	await terminal.shows("scripted • medium");
});
