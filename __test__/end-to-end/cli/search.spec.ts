// `pi-sessions search`: places where words were said.
import { expect, test } from "vitest";
import { type Json, assistant, message, toolResult, user } from "../../support/scratch.js";
import { branched, good, goodJson, lines, put, run, world } from "../../support/cli.js";

test("shows places by session, the words in them marked on a terminal", async () => {
	const at = world();
	put(at, "s-one", branched);
	put(at, "s-two", [message("a", null, user("the parser again")), message("b", "a", assistant("nothing"))], { cwd: "/other" });
	const { code, out, err } = await run(at, ["search", "parser"]);
	expect({ code, err }).toEqual({ code: 0, err: "" });
	expect(out).toContain("s-one");
	expect(out).toContain("What is wrong with the parser?");
	expect(out).not.toContain("s-two");
	expect((await run(at, ["search", "parser", "--all"])).out).toContain("the parser again");
	expect((await run(at, ["search", "parser"], { FORCE_COLOR: "1" })).out).toContain("\u001b[1m\u001b[33mparser");
	expect((await run(at, ["search", "nowhere-said"])).out).toContain("Nothing found for nowhere-said");
});

test("--json gives the library's hits, --limit fewer", async () => {
	const at = world();
	put(at, "s-one", branched);
	const hits = JSON.parse((await run(at, ["search", "mended", "--json"])).out);
	expect(hits.length).toBeGreaterThan(1);
	expect(hits[0]).toMatchObject({ id: "s-one", cwd: at.cwd, entryId: expect.any(String), snippet: expect.stringContaining("«mended»") });
	expect(JSON.parse((await run(at, ["search", "mended", "--json", "--limit", "1"])).out)).toHaveLength(1);
});

test("--in, --role, --since, --until and --phrase choose what is searched", async () => {
	const at = world();
	const ago = (days: number) => ({ timestamp: new Date(Date.now() - days * 86_400_000).toISOString() });
	put(at, "s-one", [
		message("u", null, user("a needle of old"), ago(30)),
		message("a", "u", assistant("old needle"), ago(5)),
		message("t", "a", toolResult("needle in a haystack"), ago(1)),
	]);
	const entries = async (...args: string[]) => (await goodJson(at, ["search", "needle", ...args])).map((hit: Json) => hit.entryId).sort().join("");
	expect(await entries()).toBe("au");
	expect(await entries("--in", "tool")).toBe("t");
	expect(await entries("--in", "tool,user")).toBe("tu");
	expect(await entries("--role", "user")).toBe("u");
	expect(await entries("--since", "7d")).toBe("a");
	expect(await entries("--until", "7d")).toBe("u");
	expect((await goodJson(at, ["search", "--phrase", "old", "needle"])).map((hit: Json) => hit.entryId)).toEqual(["a"]);
	expect(await run(at, ["search", "needle", "--in", "tools"])).toMatchObject({ code: 2 });
	expect(await run(at, ["search", "needle", "--since", "soon"])).toMatchObject({ code: 2 });
});

test("no text of a session acts on the terminal", async () => {
	const at = world();
	put(at, "s-evil", [message("a", null, user("needle \u001b]0;owned\u0007 \u001b[31mred \u009b2J needle"))]);
	const { out } = await run(at, ["search", "needle"]);
	expect(out).toContain("needle");
	expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
});

// Regression: 50 hits were given where all were asked for; that there were more was not told.
test("--limit all gives all hits, and without it a line says that there are more", async () => {
	const at = world();
	put(at, "s-many", Array.from({ length: 120 }, (_, index) => message(`m${index}`, index === 0 ? null : `m${index - 1}`, user(`needle ${index}`))));
	expect(await goodJson(at, ["search", "needle", "--limit", "all"])).toHaveLength(120);
	expect(await goodJson(at, ["search", "needle"])).toHaveLength(50);
	const hits = (out: string): number => out.match(/^ {2}m\d/gm)?.length ?? 0;
	const all = await good(at, ["search", "needle", "--limit", "all"]);
	expect(hits(all)).toBe(120);
	expect(all).not.toContain("There are more");
	for (const [args, count] of [[[], 50], [["--limit", "119"], 119]] as const) {
		const out = await good(at, ["search", "needle", ...args]);
		expect(hits(out)).toBe(count);
		expect(lines(out).at(-1)).toBe(`There are more than ${count}; --limit all shows all`);
	}
	// None is none, as in the library.
	expect(JSON.parse((await run(at, ["search", "needle", "--limit", "0", "--json"])).out)).toEqual([]);
	const exact = await good(at, ["search", "needle", "--limit", "120"]);
	expect(hits(exact)).toBe(120);
	expect(exact).not.toContain("There are more");
});

// Regression: it ended as if something had been found, and did not say where it had looked.
test("nothing found is exit code 1, and says what was searched and what was not", async () => {
	const at = world();
	put(at, "s-1", branched);
	put(at, "s-2", [message("a", null, user("else"))], { cwd: "/other" });
	const told = async (...args: string[]): Promise<string> => {
		const { code, out, err } = await run(at, ["search", "never-said", ...args], { COLUMNS: "1000" });
		expect({ code, err }).toEqual({ code: 1, err: "" });
		return out;
	};
	expect(await told()).toBe(`Nothing found for never-said in the 1 session of ${at.cwd}. Not searched: 1 session of other directories (--all searches them). Tool output, thinking and images are not searched.\n`);
	expect(await told("--all")).toBe("Nothing found for never-said in all 2 sessions. Tool output, thinking and images are not searched.\n");
	expect(await told("--all", "--json")).toBe("[]\n");
});

// Regression: they had none.
test("entries of version 1 have their number, by which they can be shown", async () => {
	const at = world();
	const old = (text: string, second: number): Json => ({ type: "message", timestamp: `2024-01-01T00:00:0${second}.000Z`, message: user(text) });
	const path = put(at, "s-old", [old("begin", 0), old("a needle", 1), old("another\n  needle", 2), old("a third needle", 2)], { header: { version: undefined } });
	const hits = await goodJson(at, ["search", "needle"]);
	expect(hits.map(({ entryId, snippet }: any) => [entryId, snippet]).sort()).toEqual([["00000002", "a «needle»"], ["00000003", "another «needle»"], ["00000004", "a third «needle»"]]);
	expect(await good(at, ["search", "another"])).toContain("  00000003 ");
	expect(await good(at, ["show", path, "--leaf", "00000003"])).toContain("another\n  needle");
});
