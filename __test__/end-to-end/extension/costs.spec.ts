// `/costs` in the real pi: the sums of `pi-sessions stats`, on the screen and as text.
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { api, assistant, header, type Json, root, setEnv, text, user } from "../../support/scratch.js";
import { inTerminal, notices, print, put, said, type World, world } from "./pi.js";

const spent = (cost: number, model: string, cache = 0): Json =>
	assistant("done", {
		provider: "acme",
		model,
		usage: {
			input: 1000,
			output: 20,
			cacheRead: 3 * cache,
			cacheWrite: cache,
			totalTokens: 1020 + 4 * cache,
			cost: { input: 0, output: cost, cacheRead: 0, cacheWrite: 0, total: cost },
		},
	});

/**
 * A session of $2 with a subagent's session of $7, which the tool's result also reports, and a session of $3 in another
 * project, whose path is returned.
 */
function fill(at: World): string {
	const run = join(at.here, "0194-main", "abc", "run-0");
	const reported: Json = {
		role: "toolResult",
		toolCallId: "t",
		toolName: "subagent",
		content: [],
		isError: false,
		details: { results: [{ sessionFile: join(run, "session.jsonl") }] },
	};
	put(at, "0194-main", [
		said("a", null, user("Plan the garden"), 50),
		said("b", "a", spent(2, "large"), 50),
		said("c", "b", { ...reported, usage: spent(7, "small", 1_000_000).usage }, 48),
	]);
	mkdirSync(run, { recursive: true });
	writeFileSync(
		join(run, "session.jsonl"),
		text([header({ id: "sub", cwd: at.work }), said("x", null, spent(7, "small", 1_000_000), 49)]),
	);
	return put(
		at,
		"0194-other",
		[said("a", null, user("\u001b[2J\u202eevil"), 3), said("b", "a", spent(3, "large"), 3)],
		{ cwd: "/other" },
	);
}

const total = "2 sessions, 1 session of subagents; 3 model calls, $12.00";
const titles = ["DAY", "WEEK OF", "MONTH", "MODEL", "PROJECT", "SESSION"];

test("/costs --repository adds up the worktrees of this project", async () => {
	const at = await world();
	fill(at);
	const { stdout } = await print(at, "/costs --repository model");
	expect(stdout).toMatch(/^1 session in this project, 1 session of subagents; 2 model calls, \$9\.00/);
	expect(stdout).toMatch(/MODEL/);
	// All sessions of two worktrees.
	const git = (...args: string[]): void =>
		void execFileSync("git", ["-c", "user.name=x", "-c", "user.email=x", ...args], { cwd: at.work, stdio: "pipe" });
	git("init", "-q");
	git("commit", "-q", "--allow-empty", "-m", "one");
	const worktree = join(at.root, "feature");
	git("worktree", "add", "-q", worktree);
	put(at, "0194-feature", [said("a", null, user("In the worktree"), 2), said("b", "a", spent(4, "large"), 2)], {
		cwd: worktree,
	});
	expect((await print(at, "/costs --repository")).stdout).toMatch(/^2 sessions in this project.* \$13\.00/);
	expect((await print(at, "/find worktree")).stdout).toContain("0194-feature");
});

test("/costs shows a table for each grouping", async () => {
	const at = await world();
	fill(at);
	const terminal = await inTerminal(at);
	await terminal.enter("/costs");
	await terminal.shows(total, "DAY", /^› \d{4}-\d\d-\d\d +1 .* \$3\.00/m, "tab shows the next table");
	terminal.press("Tab");
	await terminal.shows("WEEK OF", /\d{4}-\d\d-\d\d +\d .* \$\d+\.00/m);
	terminal.press("Tab");
	await terminal.shows("MONTH", /\d{4}-\d\d +\d .* \$\d+\.00/m);
	terminal.press("Tab");
	await terminal.shows(
		"MODEL",
		/acme\/small +1 +1,000 +20 +3,000,000 +1,000,000 +\$7\.00$/m,
		/acme\/large +2 +2,000 +40 +0 +0 +\$5\.00$/m,
		/^ +total +3 .* \$12\.00$/m,
	);
	terminal.press("Tab");
	await terminal.shows("PROJECT", /work +2 .* \$9\.00$/m, /\/other +1 .* \$3\.00$/m);
	terminal.press("Tab");
	await terminal.shows(
		"SESSION",
		/^› Plan the garden \(\+1 subagent\) +2 .* \$9\.00/m,
		/\\u202eevil +1 .* \$3\.00/m,
		"enter opens the session",
	);
	terminal.press("Escape");
	await terminal.shows("scripted • medium");
});

// Regression: Enter closed the table.
test("enter opens the session of a row, and only that", async () => {
	const at = await world();
	const other = fill(at);
	const terminal = await inTerminal(at);
	await terminal.enter("/costs day");
	await terminal.shows(total, "DAY");
	terminal.press("Enter");
	for (const title of ["WEEK OF", "MONTH", "MODEL", "PROJECT", "SESSION"]) {
		terminal.press("Tab");
		await terminal.shows(title, total);
	}
	terminal.press("Enter");
	await terminal.shows("Plan the garden", "scripted • medium");
	await terminal.enter("/costs session");
	await terminal.shows(/^› Plan the garden/m, total);
	terminal.press("Down");
	await terminal.shows(/^› .*evil/m);
	rmSync(other);
	terminal.press("Enter");
	await terminal.shows("Cannot open the session", "scripted • medium");
});

const statsOf = (at: World, ...args: string[]): string => {
	const env = { ...process.env, HOME: at.home, PI_CODING_AGENT_DIR: join(at.home, "agent"), COLUMNS: "120" };
	return execFileSync(process.execPath, [join(root, "bin/pi-sessions.mjs"), "stats", "--all", ...args], {
		encoding: "utf8",
		env,
		cwd: at.work,
	});
};

// Regression: /costs added cache reads and cache writes to INPUT.
test("usage, stats and /costs show equal sums in every table", async () => {
	const at = await world();
	fill(at);
	const { stdout, code } = await print(at, "/costs");
	expect(code).toBe(0);
	expect(stdout).toContain(total);
	for (const title of titles)
		expect(stdout).toMatch(new RegExp(`^${title} +CALLS +INPUT +OUTPUT +CACHE READ +CACHE WRITE +COST`, "m"));
	setEnv({ HOME: at.home, PI_CODING_AGENT_DIR: join(at.home, "agent") });
	const by = ["day", "week", "month", "model", "project", "session"] as const;
	const catalog = await api.SessionManager.usage({ by });
	setEnv({ PI_SESSION_NATIVE_CATALOG: "off" });
	const files = await api.SessionManager.usage({ by });
	expect(files).toEqual(catalog);
	expect(files.total).toEqual({
		calls: 3,
		input: 3000,
		output: 60,
		cacheRead: 3_000_000,
		cacheWrite: 1_000_000,
		cost: 12,
	});
	for (const grouping of by) {
		const json = JSON.parse(statsOf(at, "--json", "--by", grouping));
		expect(json.total).toEqual(files.total);
		expect(json.rows).toMatchObject(
			files.by[grouping].map(({ key, models: _, ...sum }) => ({ [grouping]: key, ...sum })),
		);
		// There periods are in chronological order; in /costs the newest is first.
		const lines = statsOf(at, "--by", grouping).trimEnd().split("\n");
		const from = lines.findIndex((line) => line.includes(" CACHE WRITE "));
		const spaces = (line: string): string => line.replace(/ {2,}/g, "  ");
		const told = lines.slice(from).map(spaces);
		const table =
			stdout
				.split("\n\n")
				.map((part) => part.trimEnd().split("\n").map(spaces))
				.find(([head]) => head === told[0]) ?? [];
		expect([...table].sort()).toEqual([...told].sort());
		expect(table).toHaveLength(files.by[grouping].length + 2);
	}
});

test("in print mode and RPC /costs prints text", async () => {
	const at = await world();
	fill(at);
	const told = "/costs does not know everything. Usage: /costs [--repository] [day|week|month|model|project|session]";
	// Regression: it was an answer, with the status 0.
	expect(await print(at, "/costs everything")).toMatchObject({ code: 1, stdout: `${told}\n` });
	const [ofModels, ofProjects, wrong] = await notices(at, ["/costs model", "/costs project", "/costs everything"]);
	expect(ofModels).toMatchObject({ message: expect.stringContaining(total), notifyType: "info" });
	expect(ofProjects?.message).not.toContain("MODEL");
	expect(wrong).toMatchObject({ message: told, notifyType: "error" });
});

test("/costs counts files that are no sessions", async () => {
	const at = await world();
	fill(at);
	writeFileSync(join(at.here, "poem.jsonl"), "no session\n");
	const { stdout } = await print(at, "/costs");
	expect(stdout).toContain("Not added: 1 file or directory that cannot be read or is not a session.");
	expect(stdout).not.toContain("pi-sessions");
});

// Regression: the number of rows was not shown, and at 40 columns numbers were cut.
test("a small terminal shows the rows' range and whole numbers", async () => {
	const at = await world();
	for (let n = 0; n < 28; n++)
		put(at, `0194-${n}`, [
			said("a", null, user(`Session ${n}`), 50 + n),
			said("b", "a", spent(1000 + n, "large"), 50 + n),
		]);
	const terminal = await inTerminal(at);
	terminal.resize(40, 24);
	await terminal.enter("/costs session");
	await terminal.shows(
		/1 to \d+ of 28/,
		/^› Session 27 +1 +20 +\$1,027\.00$/m,
		/^ +total +28 +560 +\$28,378\.00$/m,
		"(no room for",
	);
	for (let n = 0; n < 27; n++) terminal.press("Down");
	await terminal.shows(/to 28 of 28/, /^› Session 0 +1 +20 +\$1,000\.00$/m);
});
