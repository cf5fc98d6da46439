// `pi-sessions search` finds the entries that contain words.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { bin, branched, good, lines, put, putBelow, run, type World, world } from "../../support/cli.js";
import { assistant, type Json, message, root, toolResult, user } from "../../support/scratch.js";

/** The hits that `--json` prints, one a line. */
const hitsOf = (out: string): Json[] => lines(out).map((line) => JSON.parse(line));
const goodHits = async (at: World, args: string[]): Promise<Json[]> =>
	hitsOf(await good(at, ["search", ...args, "--json"]));
const needles = (count: number): Json[] =>
	Array.from({ length: count }, (_, index) =>
		message(`m${index}`, index === 0 ? null : `m${index - 1}`, user(`needle ${index}`)),
	);

test("search shows places by session and marks the words", async () => {
	const at = world();
	put(at, "s-one", branched);
	put(at, "s-two", [message("a", null, user("the parser again")), message("b", "a", assistant("nothing"))], {
		cwd: "/other",
	});
	const { code, out, err } = await run(at, ["search", "parser"]);
	expect({ code, err }).toEqual({ code: 0, err: "" });
	expect(out).toContain("s-one");
	expect(out).toContain("What is wrong with the parser?");
	expect(out).not.toContain("s-two");
	expect((await run(at, ["search", "parser", "--all"])).out).toContain("the parser again");
	expect((await run(at, ["search", "parser"], { FORCE_COLOR: "1" })).out).toContain("\u001b[1m\u001b[33mparser");
	expect((await run(at, ["search", "nowhere-said"])).out).toContain("Nothing found for nowhere-said");
});

test("--json gives the library's hits, one a line, --limit fewer", async () => {
	const at = world();
	put(at, "s-one", branched);
	const hits = await goodHits(at, ["mended"]);
	expect(hits.length).toBeGreaterThan(1);
	expect(hits[0]).toMatchObject({
		id: "s-one",
		cwd: at.cwd,
		entryId: expect.any(String),
		snippet: expect.stringContaining("«mended»"),
	});
	expect(await goodHits(at, ["mended", "--limit", "1"])).toHaveLength(1);
});

test("--in, --since, --until and --phrase choose what is searched", async () => {
	const at = world();
	const ago = (days: number) => ({ timestamp: new Date(Date.now() - days * 86_400_000).toISOString() });
	put(at, "s-one", [
		message("u", null, user("a needle of old"), ago(30)),
		message("a", "u", assistant("old needle"), ago(5)),
		message("t", "a", toolResult("needle in a haystack"), ago(1)),
	]);
	const entries = async (...args: string[]) =>
		(await goodHits(at, ["needle", ...args]))
			.map((hit: Json) => hit.entryId)
			.sort()
			.join("");
	expect(await entries()).toBe("au");
	expect(await entries("--in", "tool")).toBe("t");
	expect(await entries("--in", "tool,user")).toBe("tu");
	expect(await entries("--since", "7d")).toBe("a");
	expect(await entries("--until", "7d")).toBe("u");
	expect((await goodHits(at, ["--phrase", "old", "needle"])).map((hit: Json) => hit.entryId)).toEqual(["a"]);
	// Regression: white space at its ends was dropped.
	expect((await goodHits(at, ["--phrase", "needle "])).map((hit: Json) => hit.entryId)).toEqual(["u"]);
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

// Regression: the command returned 50 hits if all were wanted, and did not say that there were more.
test("a line says if there are more hits than --limit", async () => {
	const at = world();
	put(at, "s-many", needles(120));
	expect(await goodHits(at, ["needle", "--limit", "all"])).toHaveLength(120);
	expect(await goodHits(at, ["needle", "--per-session", "all"])).toHaveLength(50);
	const hits = (out: string): number => out.match(/^ {2}m\d/gm)?.length ?? 0;
	const all = await good(at, ["search", "needle", "--limit", "all"]);
	expect(hits(all)).toBe(120);
	expect(all).not.toContain("There are more");
	for (const [args, count] of [
		[[], 50],
		[["--limit", "119"], 119],
	] as const) {
		const out = await good(at, ["search", "needle", "--per-session", "all", ...args]);
		expect(hits(out)).toBe(count);
		expect(lines(out).at(-1)).toBe(`There are more hits than ${count}; --limit all shows all`);
	}
	// No hit is an empty result, as in the library, and not a failure.
	expect(await goodHits(at, ["needle", "--limit", "0"])).toEqual([]);
	expect(await good(at, ["search", "needle", "--limit", "0"])).toBe(
		"There are more hits than 0; --limit all shows all\n",
	);
	const exact = await good(at, ["search", "needle", "--limit", "120", "-p", "all"]);
	expect(hits(exact)).toBe(120);
	expect(exact).not.toContain("There are more");
});

// Regression: only the hits of one long session were shown.
test("each session shows three places and counts the others", async () => {
	const at = world();
	put(at, "s-short", [message("m900", null, user("a short needle"))]);
	put(at, "s-long", needles(120));
	const out = await good(at, ["search", "needle"]);
	const places = (text: string): number => text.match(/^ {2}m\d/gm)?.length ?? 0;
	expect(places(out)).toBe(4);
	expect(out).toContain("  117 more in this session; show all by --session s-long --limit all\n");
	expect(out).toMatch(/^s-short /m);
	expect(places(await good(at, ["search", "needle", "--session", "s-lo", "--limit", "200"]))).toBe(120);
	expect(places(await good(at, ["search", "needle", "--per-session", "1"]))).toBe(2);
	expect((await goodHits(at, ["needle"]))[0]).toMatchObject({ hitsInSession: expect.any(Number) });
	expect(await run(at, ["search", "needle", "--session", "none"])).toMatchObject({
		code: 2,
		err: expect.stringContaining("No session"),
	});
});

// Regression: they were not searched, and no line said so.
test("subagents' sessions are shown below their session", async () => {
	const at = world();
	const main = put(at, "s-main", [message("a", null, user("Do it"))]);
	put(at, "s-other", [message("a", null, user("needle"))]);
	const said = [message("h", null, user("a needle of a helper"))];
	putBelow(main, "r1/run-0/session", { id: "s-helper", cwd: "/elsewhere" }, said);
	expect(await good(at, ["search", "needle"])).toMatch(
		/^s-main {2}Do it {2}.*\n {2}↳ s-helper {2}a needle of a helper {2}\/elsewhere\n {2}h /m,
	);
	expect(await good(at, ["search", "needle", "--no-subagents"])).not.toContain("s-helper");
	expect(await goodHits(at, ["helper"])).toMatchObject([{ id: "s-helper", owner: { id: "s-main", path: main } }]);
	expect(await good(at, ["search", "needle", "--session", "s-help"])).toContain("a needle of a helper");
	expect(await good(at, ["show", "s-help"])).toContain("a needle of a helper");
});

// Regression: coloured output was shown as "[32m✓ [39m", and a word that a colour interrupts was not found.
test("search and output ignore escape sequences", async () => {
	const at = world();
	put(at, "s-one", [
		message("a", null, user("\u001b[32m✓ \u001b[39mtests \u001b[33m33\u001b[39m\u001b[2mms\u001b[22m")),
	]);
	expect(await good(at, ["search", "33ms"])).toMatch(/^s-one {2}✓ tests 33ms {2}.*\n.* ✓ tests 33ms$/m);
	expect(await run(at, ["search", "m33"])).toMatchObject({ code: 1 });
});

// Regression: it exited as if something had been found, and did not name the searched directory.
test("an empty result names the scopes, and exits with 1", async () => {
	const at = world();
	put(at, "s-1", branched);
	put(at, "s-2", [message("a", null, user("else"))], { cwd: "/other" });
	const told = async (...args: string[]): Promise<string> => {
		const { code, out, err } = await run(at, ["search", "never-said", ...args], { COLUMNS: "1000" });
		expect({ code, err }).toEqual({ code: 1, err: "" });
		return out;
	};
	const others = "Not searched: 1 session of other directories (--all includes them).";
	const left = "Not searched: tool, thinking, custom (--in selects texts).";
	expect(await told()).toBe(
		`Nothing found for never-said in 1 session of ${at.cwd}. Searched: user, assistant, name, summary. ${left} ${others}\n`,
	);
	expect(await told("--all")).toBe(
		`Nothing found for never-said in all 2 sessions. Searched: user, assistant, name, summary. ${left}\n`,
	);
	expect(await told("--all", "--in", "tool,user,thinking,custom")).toBe(
		"Nothing found for never-said in all 2 sessions. Searched: user, tool, thinking, custom. Not searched: assistant, name, summary (--in selects texts).\n",
	);
	expect(await told("--all", "--in", "user,assistant,name,summary,tool,thinking,custom")).toBe(
		"Nothing found for never-said in all 2 sessions. Searched: user, assistant, name, summary, tool, thinking, custom.\n",
	);
	expect(await told("--all", "--json")).toBe("");
	const dir = dirname(put(at, "s-3", branched, { cwd: "/third" }));
	expect(await told("--all", "--dir", dir)).toContain(`never-said in 1 session (session directory ${dir}). `);
	expect(await told("--dir", dir)).toContain(`in 0 sessions of ${at.cwd} (session directory ${dir}). `);
});

// Regression: it named the sessions of the working directory, but not the omitted subagents.
test("an empty result names the session and its unsearched subagents", async () => {
	const at = world();
	const path = put(at, "s-main", [message("a", null, user("Do it"))]);
	put(at, "s-other", [message("a", null, user("needle"))], { cwd: "/other" });
	const told = async (...args: string[]): Promise<string> =>
		(await run(at, ["search", "needle", ...args], { COLUMNS: "1000" })).out;
	const beginning =
		"Nothing found for needle in session s-main. Searched: user, assistant, name, summary. " +
		"Not searched: tool, thinking, custom (--in selects texts).";
	expect(await told("--session", "s-main")).toBe(`${beginning}\n`);
	const helper = putBelow(path, "h", { id: "s-helper" }, [message("h", null, user("a needle"))]);
	writeFileSync(join(dirname(helper), "log.jsonl"), "no session");
	expect(await told("--session", "s-main")).toBe(
		`${beginning} Not searched: 1 session of its subagents (--session searches one session).\n`,
	);
	expect(await told("--no-subagents")).toContain("Not searched: sessions of subagents (--no-subagents).");
});

// Regression: all 50 hits were in the newest session.
test("--json prints three hits of each session and their number", async () => {
	const at = world();
	const many = Array.from({ length: 60 }, (_, n) =>
		message(`e${n}`, n === 0 ? null : `e${n - 1}`, user(`needle ${n}`)),
	);
	put(at, "s-many", many);
	put(at, "s-one", [message("a", null, user("needle"))]);
	const counts = async (...args: string[]): Promise<Record<string, unknown[]>> => {
		const hits = await goodHits(at, ["needle", ...args]);
		const ids = [...new Set(hits.map(({ id }) => id as string))].sort();
		return Object.fromEntries(
			ids.map((id) => [id, hits.filter((hit) => hit.id === id).map((hit) => hit.hitsInSession)]),
		);
	};
	expect(await counts()).toEqual({ "s-many": [60, 60, 60], "s-one": [1] });
	expect(Object.values(await counts("--limit", "all")).flat()).toHaveLength(61);
	expect((await counts("--session", "s-many"))["s-many"]).toHaveLength(50);
});

// Regression: with --session and --per-session no line mentioned the omitted hits.
test("omitted hits are counted, with options that show them", async () => {
	const at = world();
	put(at, "s-many", needles(2500));
	const told = async (...args: string[]): Promise<string[]> =>
		lines(await good(at, ["search", "needle", "--session", "s-many", ...args], { COLUMNS: "200" })).slice(1);
	const more = (count: string, options: string): string => `  ${count} more in this session; show all by ${options}`;
	const two = await told("--per-session", "2");
	expect([two.length, two.at(-1)]).toEqual([3, more("2,498", "--per-session all --limit all")]);
	const fifty = await told();
	expect([fifty.length, fifty.at(-1)]).toEqual([51, more("2,450", "--limit all")]);
	expect((await told("--per-session", "60")).at(-1)).toBe(more("2,450", "--per-session all --limit all"));
	for (const args of [
		["--limit", "all"],
		["--per-session", "all", "--limit", "all"],
		["--limit", "2500"],
	])
		expect((await told(...args)).filter((line) => !/^ {2}m\d/.test(line))).toEqual([]);
	expect(await told("--limit", "0")).toEqual([]);
});

// Regression: it printed that nothing was found.
test("--per-session 0 is refused", async () => {
	const at = world();
	put(at, "s-1", needles(2));
	expect(await run(at, ["search", "needle", "--per-session", "0"])).toMatchObject({
		code: 2,
		out: "",
		err: expect.stringContaining("Expected a whole number above 0, or all."),
	});
});

// Regression: the exit code was 1, as if nothing had been found.
test("a failed search exits with 2, as grep does", async () => {
	const at = world();
	put(at, "s-1", branched);
	const missing = join(at.cwd, "missing");
	for (const more of [[], ["--json"]]) {
		const { code, out, err } = await run(at, ["search", "parser", "--dir", missing, ...more]);
		expect({ code, out }).toEqual({ code: 2, out: "" });
		expect(err).toContain(`The directory of --dir does not exist: ${missing}`);
	}
	// For other commands it is 1 as before.
	expect(await run(at, ["list", "--dir", missing])).toMatchObject({ code: 1 });
	expect((await good(at, ["--help"])).replace(/\s+/g, " ")).toContain(
		"search exits with 1 if it finds nothing and with 2 if it fails",
	);
});

test("hits are printed at once, also into a pipe", async () => {
	const at = world();
	put(at, "s-one", needles(3));
	// The command is ended before it receives the hits.
	const guard = join(at.cwd, "guard.mjs");
	const code = `import { createRequire } from "node:module";
		const { SessionManager } = createRequire(import.meta.url)(${JSON.stringify(join(root, "index.js"))});
		const search = SessionManager.search;
		SessionManager.search = async (...args) => {
			const hits = await search.apply(SessionManager, args);
			await new Promise((done) => setImmediate(done));
			process.exit(hits.length);
		};`;
	writeFileSync(guard, code);
	const env = { NODE_OPTIONS: `--import=${pathToFileURL(guard)}` };
	for (const args of [[], ["--json"]]) {
		const { code, out } = await run(at, ["search", "needle", ...args], env);
		expect({ code, hits: out.match(/^(?: {2}|\{).*needle/gm)?.length }).toEqual({ code: 3, hits: 3 });
	}
});

test.skipIf(process.platform === "win32")("SIGINT stops it", async () => {
	const at = world();
	put(at, "s-many", needles(50_000));
	const child = spawn(process.execPath, [bin, "search", "needle", "--json", "--limit", "all"], {
		cwd: at.cwd,
		env: at.env,
		stdio: ["ignore", "pipe", "ignore"],
	});
	// As long as several megabytes of its output are not read, the command does not end.
	await once(child.stdout, "data");
	child.stdout.pause();
	child.kill("SIGINT");
	expect(await once(child, "exit")).toEqual([null, "SIGINT"]);
});

// Regression: they had none.
test("hits in version 1 have ids that show accepts", async () => {
	const at = world();
	const old = (text: string, second: number): Json => ({
		type: "message",
		timestamp: `2024-01-01T00:00:0${second}.000Z`,
		message: user(text),
	});
	const path = put(
		at,
		"s-old",
		[old("begin", 0), old("a needle", 1), old("another\n  needle", 2), old("a third needle", 2)],
		{ header: { version: undefined } },
	);
	const hits = await goodHits(at, ["needle"]);
	expect(hits.map(({ entryId, snippet }: any) => [entryId, snippet]).sort()).toEqual([
		["00000002", "a «needle»"],
		["00000003", "another «needle»"],
		["00000004", "a third «needle»"],
	]);
	expect(await good(at, ["search", "another"])).toContain("  00000003 ");
	expect(await good(at, ["show", path, "--leaf", "00000003"])).toContain("another\n  needle");
});
