// `pi-sessions move`: the sessions of a folder that was renamed.
import { execFileSync } from "node:child_process";
import {
	appendFileSync,
	existsSync,
	mkdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { agreeAfter, good, goodJson, put, putBelow, run, runInTerminal, type World, world } from "../../support/cli.js";
import { api, header, type Json, message, text, user } from "../../support/scratch.js";
import { testWith } from "../../support/windows.js";

const headerOf = (path: string): any => JSON.parse(readFileSync(path, "utf8").split("\n")[0] as string);
const restOf = (path: string): string => readFileSync(path, "utf8").split("\n").slice(1).join("\n");

/** A session whose last write was long ago. */
function old(at: World, id: string, options: Parameters<typeof put>[3] = {}): string {
	const path = put(at, id, [message("a", null, user(`words of ${id} in ${at.cwd}`))], options);
	utimesSync(path, 1e9, 1e9);
	return path;
}

/** A subagent's session that was written long ago. */
function oldBelow(session: string, name: string, head: Json): string {
	const path = putBelow(session, name, head, [message("a", null)]);
	utimesSync(path, 1e9, 1e9);
	return path;
}

/**
 * A project whose folder was renamed: a session with a backup and a subagent, a session in a subfolder, a fork
 * elsewhere, and a neighbour.
 */
function renamed(): { at: World; from: string; to: string; main: string; below: string; fork: string; other: string } {
	const at = world();
	const [from, to] = [at.cwd, `${at.cwd}-renamed`];
	const main = old(at, "main");
	oldBelow(main, "run-0/session", { id: "child", cwd: from, parentSession: main });
	writeFileSync(`${main}.bak`, "before");
	const below = old(at, "below", { cwd: join(from, "packages/x") });
	const fork = old(at, "fork", { cwd: "/elsewhere", header: { parentSession: main, kept: "this" } });
	const other = old(at, "other", { cwd: `${from}-2` });
	renameSync(from, to);
	return { at: { ...at, cwd: to }, from, to, main, below, fork, other };
}

const folderOf = (at: World, cwd: string): string =>
	join(at.agent, "sessions", `--${cwd.slice(1).replaceAll("/", "-")}--`);

test("sessions, backups, subagents and fork links follow their folder", async () => {
	const { at, from, to, main, below, fork, other } = renamed();
	const rests = [main, below, fork].map(restOf);
	const shown = await good(at, ["move", from, "--dry-run"]);
	expect(shown).toMatch(/2 sessions\n[\s\S]*main[\s\S]*below[\s\S]*The headers of 1 fork/);
	expect(existsSync(main)).toBe(true);
	expect(await good(at, ["move", from, "--yes"])).toContain("Moved 2 sessions, changed 1 link of forks\n");
	const [newMain, newBelow] = [
		join(folderOf(at, to), main.split("/").at(-1) as string),
		join(folderOf(at, `${to}/packages/x`), below.split("/").at(-1) as string),
	];
	expect([main, below, `${main}.bak`].some(existsSync)).toBe(false);
	expect([newMain, newBelow, fork].map(restOf)).toEqual(rests);
	expect([newMain, newBelow].map((path) => headerOf(path).cwd)).toEqual([to, `${to}/packages/x`]);
	expect(headerOf(newMain.replace(".jsonl", "/run-0/session.jsonl"))).toMatchObject({
		cwd: to,
		parentSession: newMain,
	});
	expect(headerOf(fork)).toMatchObject({ cwd: "/elsewhere", parentSession: newMain, kept: "this" });
	expect(headerOf(other).cwd).toBe(`${from}-2`);
	expect(readFileSync(`${newMain}.bak`, "utf8")).toBe("before");
	for (const path of [newMain, newBelow, fork]) expect(statSync(path).mtimeMs, path).toBe(1e12);
	expect((await goodJson(at, ["list"])).map(({ id }: { id: string }) => id)).toEqual(["main"]);
	// The session that pi continues there.
	expect(api.findMostRecentSession(folderOf(at, to))).toBe(newMain);
	expect(await run(at, ["move", from, "--yes"])).toMatchObject({
		code: 1,
		err: expect.stringContaining(`No session has a working directory in ${from}`),
	});
});

test("a move completes the fork links of a killed one", async () => {
	const { at, from, to, main, fork } = renamed();
	api.SessionManager.move(main, { from, to, sessionDir: folderOf(at, to) });
	expect(headerOf(fork).parentSession).toBe(main);
	expect(await good(at, ["move", from, "--yes"])).toContain("Moved 1 session, changed 1 link of forks\n");
	expect(headerOf(fork).parentSession).toBe(join(folderOf(at, to), main.split("/").at(-1) as string));
});

// Regression: no list contains them, so their links to a moved session broke, and no command could repair them.
test("subagents of a session that stays follow the folder", async () => {
	const { at, from, to, main, other } = renamed();
	const [forked, worker] = [
		oldBelow(other, "forked/session", { id: "forked", cwd: "/elsewhere", parentSession: main }),
		oldBelow(other, "worker/session", { id: "worker", cwd: join(from, "x") }),
	];
	const rests = [forked, worker].map(restOf);
	expect(await good(at, ["move", from, "--yes"])).toContain("Moved 3 sessions, changed 2 links of forks\n");
	const newMain = join(folderOf(at, to), main.split("/").at(-1) as string);
	expect(headerOf(forked)).toMatchObject({ cwd: "/elsewhere", parentSession: newMain });
	expect(headerOf(worker)).toMatchObject({ cwd: join(to, "x") });
	expect([forked, worker].map(restOf)).toEqual(rests);
	for (const path of [forked, worker]) expect(statSync(path).mtimeMs, path).toBe(1e12);
});

test("--session moves one, and only one of that folder", async () => {
	const { at, from, to, main, below } = renamed();
	expect(await run(at, ["move", from, "--session", "other", "--yes"])).toMatchObject({
		code: 1,
		err: expect.stringContaining("is not in"),
	});
	await good(at, ["move", from, to, "--session", "below", "--yes"]);
	expect([main, below].map(existsSync)).toEqual([true, false]);
});

// Regression: "The working directory of this session is not in …", because the path was compared as it was typed.
test("--session finds a session in a directory by any spelling", async () => {
	const { at, from, main } = renamed();
	const home = at.env.HOME as string;
	renameSync(dirname(main), join(home, "s2"));
	symlinkSync("s2", join(home, "link"));
	for (const [dir, session] of [
		["s2", "main"],
		["link", join("s2", basename(main))],
	] as const) {
		const args = ["move", from, at.cwd, "--dir", dir, "--session", session, "--dry-run"];
		expect((await goodJson({ ...at, cwd: home }, args)).sessions).toMatchObject([{ id: "main" }]);
	}
});

test("a session in the user's own directory stays there", async () => {
	const { at, from, to } = renamed();
	const dir = join(to, "sessions");
	const path = join(dir, "own.jsonl");
	mkdirSync(dir);
	writeFileSync(path, text([header({ id: "own", cwd: from }), message("a", null)]));
	writeFileSync(
		join(dir, "fork.jsonl"),
		text([header({ id: "own-fork", cwd: from, parentSession: join(from, "sessions/own.jsonl") }), message("a", null)]),
	);
	for (const name of ["own", "fork"]) utimesSync(join(dir, `${name}.jsonl`), 1e9, 1e9);
	await good(at, ["move", from, "--dir", dir, "--yes"]);
	expect(headerOf(path).cwd).toBe(to);
	expect(headerOf(join(dir, "fork.jsonl"))).toMatchObject({ cwd: to, parentSession: path });
});

test("sessions in use or with a taken name stay", async () => {
	const { at, from, to, main, below } = renamed();
	const now = new Date();
	utimesSync(main, now, now);
	const taken = join(folderOf(at, `${to}/packages/x`), below.split("/").at(-1) as string);
	mkdirSync(dirname(taken), { recursive: true });
	writeFileSync(taken, "theirs");
	const { code, out } = await run(at, ["move", from, "--yes"]);
	expect(code).toBe(1);
	// Regression: with --yes each reason was printed twice.
	for (const reason of [
		"it was written within the last minute. Add --force to move it",
		`the file already exists: ${taken}`,
	])
		expect(out.split(reason), out).toHaveLength(2);
	expect([main, below].map((path) => headerOf(path).cwd)).toEqual([from, `${from}/packages/x`]);
	expect(readFileSync(taken, "utf8")).toBe("theirs");
	expect((await run(at, ["move", from, "--yes", "--force"])).out).toContain("Moved 1 session");
});

// Regression: the minute since the last write was checked only before the question.
test("a session changed after the preview stays", async () => {
	const { at, from, main, below } = renamed();
	const change = (): void => {
		appendFileSync(main, text([message("b", "a")]));
		utimesSync(main, 1e9, 1e9);
		utimesSync(below, new Date(), new Date());
	};
	const { code, out } = await runInTerminal(at, ["move", from], {}, 300, agreeAfter(change));
	expect(code).toBe(1);
	expect(out).toContain(`${main}: it changed after it was listed`);
	expect(out).toContain(`${below}: it was written within the last minute`);
	expect([main, below].map((path) => headerOf(path).cwd)).toEqual([from, join(from, "packages/x")]);
});

// Regression: both were moved, and the second was reported as an error because it had moved with the first.
test("a subagent of a subagent moves with it", async () => {
	const { at, from, to, other } = renamed();
	const [worker, helper] = ["worker", "worker/helper"].map((id) => oldBelow(other, id, { id, cwd: from })) as [
		string,
		string,
	];
	expect(await good(at, ["move", from, "--yes"])).toContain("Moved 3 sessions");
	for (const path of [worker, helper]) expect(headerOf(path).cwd, path).toBe(to);
});

test("a session that already works in the new folder stays", async () => {
	const { at, from, to } = renamed();
	const inner = join(from, "inner");
	mkdirSync(inner, { recursive: true });
	const there = old(at, "there", { cwd: inner });
	expect(
		(await goodJson(at, ["move", from, inner, "--dry-run"])).sessions.map(({ id }: { id: string }) => id).sort(),
	).toEqual(["below", "main"]);
	expect(existsSync(there) && existsSync(to)).toBe(true);
});

test("what cannot be meant is refused", async () => {
	const { at, from, to } = renamed();
	for (const args of [[to, to], [""], [from], [from, "--json"]])
		expect(await run(at, ["move", ...args])).toMatchObject({ code: 2 });
	expect(await run(at, ["move", from, "/nonexistent", "--yes"])).toMatchObject({
		code: 1,
		err: "Error: The directory does not exist: /nonexistent. Move the folder itself first\n",
	});
});

/** Writes the settings of a store. */
const settings = (at: World, value: object | string): void =>
	writeFileSync(join(at.agent, "session-store.json"), typeof value === "string" ? value : JSON.stringify(value));

// Regression: only a rule with the folder's own path was noticed, although a rule applies to everything below a
// directory.
test("moving out of a private rule needs --force with --yes", async () => {
	const { at, from, main } = renamed();
	const home = at.env.HOME as string;
	for (const rule of [from, join(from, "packages"), dirname(from)]) {
		// The new folder has another parent.
		const to = join(home, "..", `${home.split("/").at(-1)}-oss`);
		mkdirSync(to, { recursive: true });
		onTestFinished(() => rmSync(to, { recursive: true, force: true }));
		settings(at, { private: ["0194aaaa-1111-7000-8000-000000000001", rule] });
		const shown = await run(at, ["move", from, to, "--dry-run"]);
		expect(shown.err).toContain(`that do not apply to ${to} (${rule}). Sessions that were private would be pushed`);
		const refused = await run(at, ["move", from, to, "--yes"]);
		expect(refused).toMatchObject({ code: 1, out: "", err: expect.stringContaining("or add --force") });
		expect(existsSync(main)).toBe(true);
		// A rule for the new folder replaces it.
		settings(at, { private: [rule, to] });
		expect((await run(at, ["move", from, to, "--dry-run"])).err).toBe("");
	}
	settings(at, { private: ["~/"] });
	expect((await run(at, ["move", from, "--dry-run"])).err).toBe("");
	settings(at, { private: [from] });
	expect((await run(at, ["move", from, "--yes", "--force"])).code).toBe(0);
	expect(existsSync(main)).toBe(false);
});

// Regression: after the folder was renamed, the target of the rule's link does not exist, so no warning said that the
// rule is lost.
test("a private rule by a link needs --force with --yes", async () => {
	const { at, from, main } = renamed();
	const home = at.env.HOME as string;
	const link = (name: string, target: string): void => symlinkSync(target, join(home, name));
	link("secret", join(from, "packages"));
	link("relative", "secret");
	link("folder", from);
	for (const rule of ["~/secret", "~/relative", "~/folder", "~/folder/packages", "~/relative/x"]) {
		settings(at, { private: [rule] });
		const refused = await run(at, ["move", from, "--yes"]);
		expect(refused).toMatchObject({ code: 1, out: "", err: expect.stringContaining(`(${rule}). Sessions that`) });
	}
	link("circle", "circle");
	link("elsewhere", "/nowhere");
	settings(at, { private: ["~/circle", "~/circle/x", "~/elsewhere"] });
	expect((await run(at, ["move", from, "--dry-run"])).err).toBe("");
	expect(existsSync(main)).toBe(true);
});

testWith("pipes")("a move ignores settings in a pipe or a device", async () => {
	const { at, from } = renamed();
	const file = join(at.agent, "session-store.json");
	for (const make of [() => execFileSync("mkfifo", [file]), () => symlinkSync("/dev/zero", file)]) {
		rmSync(file, { force: true });
		make();
		expect((await run(at, ["move", from, "--dry-run"])).err).toContain(`${file} is not a regular file`);
	}
});

test("a lost project name or unreadable settings cause a warning", async () => {
	const { at, from, to } = renamed();
	settings(at, { projects: { [from]: "mine", "/elsewhere": "other" } });
	expect((await run(at, ["move", from, "--dry-run"])).err).toContain(`(${from}). Add the new directory to`);
	settings(at, { projects: { [from]: "mine", [to]: "mine" } });
	expect((await run(at, ["move", from, "--dry-run"])).err).toBe("");
	for (const text of ["{", " ".repeat(2 << 20)]) {
		settings(at, text);
		expect((await run(at, ["move", from, "--dry-run"])).err).toContain("session-store.json cannot be read");
	}
});

// Regression: they were only a warning, which nobody reads with --yes. So private sessions could be pushed.
test("settings that cannot be read need --force with --yes", async () => {
	const { at, from, main } = renamed();
	for (const text of [`{ "private": ["${from}"], }`, "[", `{ "private": ["${from}"] }${" ".repeat(2 << 20)}`]) {
		settings(at, text);
		const refused = await run(at, ["move", from, "--yes"]);
		expect(refused).toMatchObject({
			code: 1,
			out: "",
			err: expect.stringMatching(/cannot be read.*or add --force\n$/s),
		});
		expect(existsSync(main)).toBe(true);
	}
	expect(await run(at, ["move", from, "--yes", "--force"])).toMatchObject({
		code: 0,
		err: expect.stringContaining("session-store.json cannot be read"),
	});
	expect(existsSync(main)).toBe(false);
});
