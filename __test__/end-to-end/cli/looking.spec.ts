// Commands that show sessions change no file. Also the output for unusually large sessions.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { branched, good, goodJson, lines, put, run, world } from "../../support/cli.js";
import { type Json, message, modeOf, root, snapshot, user } from "../../support/scratch.js";

test("looking changes no old or torn file", async () => {
	const at = world();
	const old = [{ type: "message", timestamp: "2024-01-01T00:00:00.000Z", message: user("from version one") }];
	const v1 = put(at, "old", old, { header: { version: undefined } });
	const torn = put(at, "torn", branched);
	writeFileSync(torn, `${readFileSync(torn, "utf8")}{"type":"mess`);
	const long = put(at, "long", [message("a", null, user("below a long header"))], {
		header: { extra: "x".repeat(100_000) },
	});
	const empty = join(at.cwd, "empty.jsonl");
	writeFileSync(empty, "");
	const before = snapshot(dirname(at.agent));
	for (const path of [v1, torn, long]) {
		for (const args of [["show"], ["tree", "--json"], ["stats"], ["export"]])
			await good(at, [args[0] as string, path, ...args.slice(1)]);
	}
	expect(await good(at, ["show", v1])).toContain("from version one");
	expect(await good(at, ["show", long])).toContain("below a long header");
	expect((await run(at, ["show", empty])).code).toBe(1);
	expect(snapshot(dirname(at.agent))).toEqual(before);
});

// Regression: the page said that showing writes nothing, but it wrote the catalog.
test("looking writes only the catalog, and nothing without it", async () => {
	const at = world();
	put(at, "s-1", branched);
	const home = dirname(at.agent);
	const before = snapshot(home);
	const looks = [
		["list"],
		["list", "--all", "--json"],
		["search", "--all", "parser"],
		["show", "s-1"],
		["tree", "s-1"],
		["stats", "--all"],
		["verify", "--all"],
		["export", "s-1"],
	];
	for (const args of looks) await good(at, args, { PI_SESSION_NATIVE_CATALOG: "off" });
	expect(snapshot(home)).toEqual(before);
	for (const args of looks) await good(at, args);
	const catalog = ["", "-shm", "-wal"].map((part) => `session-catalog.sqlite${part}`);
	expect(readdirSync(at.agent).sort()).toEqual([...catalog, "sessions"]);
	for (const name of catalog) expect(modeOf(join(at.agent, name))).toBe(0o600);
	const others = Object.entries(snapshot(home)).filter(([name]) => !catalog.some((one) => name === `./agent/${one}`));
	expect(Object.fromEntries(others)).toEqual(before);
	// The page and the help mention this.
	const page = readFileSync(join(root, "docs/cli.md"), "utf8");
	for (const said of [page, await good(at, ["--help"])]) {
		expect(said).toContain("session-catalog.sqlite");
		expect(said).toContain("PI_SESSION_NATIVE_CATALOG=off");
	}
});

// Regression: a search for sessions created the session directory of a directory without sessions.
test("looking creates no session directory", async () => {
	const at = world();
	put(at, "s-1", branched);
	const before = snapshot(join(at.agent, "sessions"));
	for (const args of [["list"], ["show"], ["tree"], ["stats"], ["verify"], ["search", "x"], ["export"], ["fork"]])
		await run(at, [...args, "--cwd", "/nowhere"]);
	expect(await run(at, ["list", "--cwd", "/nowhere"])).toMatchObject({
		code: 0,
		out: expect.stringContaining("No sessions for /nowhere"),
	});
	expect(snapshot(join(at.agent, "sessions"))).toEqual(before);
	// Without an agent's directory nothing is created, either.
	const empty = world();
	for (const args of [
		["list"],
		["list", "--all"],
		["show"],
		["stats", "--all"],
		["verify", "--all"],
		["list", "--dir", "./none"],
	])
		await run(empty, args);
	expect(readdirSync(empty.cwd)).toEqual([]);
	expect(existsSync(join(empty.agent, "sessions"))).toBe(false);
});

// Regression: an id of 5,000 characters was printed in full.
test("an id of 5,000 characters is clipped", async () => {
	const at = world();
	const path = put(at, "x".repeat(5000), branched, { name: "one.jsonl" });
	put(at, "x".repeat(4999), branched, { name: "two.jsonl" });
	const [long, missing] = ["x".repeat(6000), "x".repeat(7000)];
	const faulty = put(
		at,
		"s-faulty",
		[
			message(long, missing, user("orphan")),
			message(long, null, user("twice")),
			message("a", `b${long}`, user("round")),
			message(`b${long}`, "a", user("and round")),
		],
		{ name: "faulty.jsonl" },
	);
	expect((await run(at, ["verify", faulty, "--json"])).out).toContain(missing);
	expect((await run(at, ["verify", faulty])).out).toMatch(
		/the parent of entry x+… does not exist: x+…\n {2}several lines have the id x+…: lines 2, 3\n {2}the parents of these entries form a cycle: .*bx+…/,
	);
	for (const args of [
		["verify", "--all"],
		["repair", faulty, "--dry-run"],
		["repair", faulty],
		["list"],
		["show", path],
		["show", "xx"],
		["search", "parser"],
		["tree", path],
		["stats", "--all"],
	]) {
		const { out, err } = await run(at, args);
		expect(`${out}${err}`).not.toContain("x".repeat(200));
	}
});

test("tree stays narrow for deep sessions and forks", async () => {
	const at = world();
	const deep: Json[] = [message("m0", null, user("begin"))];
	for (let index = 1; index <= 5_000; index++) deep.push(message(`m${index}`, `m${index - 1}`, user(`step ${index}`)));
	// A branch point at every tenth step, each with a side branch that branches again.
	for (let index = 0; index < 5_000; index += 10) {
		deep.push(
			message(`s${index}`, `m${index}`, user("aside")),
			message(`t${index}`, `s${index}`, user("one")),
			message(`u${index}`, `s${index}`, user("two")),
		);
	}
	put(at, "s-deep", deep);
	const out = lines(await good(at, ["tree", "--limit", "all"]));
	expect(out).toHaveLength(deep.length);
	expect(Math.max(...out.map((line) => line.search(/[●○]/)))).toBeLessThanOrEqual(6);
	const { entries } = await goodJson(at, ["tree"]);
	expect(entries).toHaveLength(deep.length);
	expect(Math.max(...entries.map(({ depth }: { depth: number }) => depth))).toBeLessThanOrEqual(3);
});
