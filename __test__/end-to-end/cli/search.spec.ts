// `pi-sessions search`: places where words were said.
import { expect, test } from "vitest";
import { assistant, message, user } from "../../support/scratch.js";
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

test("no text of a session acts on the terminal", async () => {
	const at = world();
	put(at, "s-evil", [message("a", null, user("needle \u001b]0;owned\u0007 \u001b[31mred \u009b2J needle"))]);
	const { out } = await run(at, ["search", "needle"]);
	expect(out).toContain("needle");
	expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
});

// Regression: --limit 0 gave 50 hits where help said all; that there were more was not told.
test("--limit 0 gives all hits, and without it a line says that there are more", async () => {
	const at = world();
	put(at, "s-many", Array.from({ length: 120 }, (_, index) => message(`m${index}`, index === 0 ? null : `m${index - 1}`, user(`needle ${index}`))));
	expect(await goodJson(at, ["search", "needle", "--limit", "0"])).toHaveLength(120);
	expect(await goodJson(at, ["search", "needle"])).toHaveLength(50);
	const hits = (out: string): number => out.match(/^ {2}m\d/gm)?.length ?? 0;
	const all = await good(at, ["search", "needle", "--limit", "0"]);
	expect(hits(all)).toBe(120);
	expect(all).not.toContain("There are more");
	for (const [args, count] of [[[], 50], [["--limit", "119"], 119]] as const) {
		const out = await good(at, ["search", "needle", ...args]);
		expect(hits(out)).toBe(count);
		expect(lines(out).at(-1)).toBe(`There are more than ${count}; --limit 0 shows all`);
	}
	const exact = await good(at, ["search", "needle", "--limit", "120"]);
	expect(hits(exact)).toBe(120);
	expect(exact).not.toContain("There are more");
});
