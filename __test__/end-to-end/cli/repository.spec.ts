// `--repository`: the sessions of every worktree of a repository.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { good, goodJson, lines, put, run, type World, world } from "../../support/cli.js";
import { assistant, message, user } from "../../support/scratch.js";

/** Runs git without the user's settings, with permission to clone submodules from files. */
function git(at: World, cwd: string, ...args: string[]): void {
	const settings = ["user.name=x", "user.email=x", "protocol.file.allow=always"].flatMap((one) => ["-c", one]);
	execFileSync("git", [...settings, ...args], {
		cwd,
		stdio: "pipe",
		env: { ...at.env, GIT_CONFIG_GLOBAL: "/dev/null" },
	});
}

/** A repository with a second worktree. There are sessions in both, in their subfolders, and beside them. */
function repository(): { at: World; worktree: string } {
	const at = world();
	git(at, at.cwd, "init", "-q");
	git(at, at.cwd, "commit", "-q", "--allow-empty", "-m", "one");
	const worktree = `${at.cwd}-feature`;
	git(at, at.cwd, "worktree", "add", "-q", worktree);
	for (const [id, cwd] of [
		["main", at.cwd],
		["main-below", join(at.cwd, "packages/a")],
		["other", worktree],
		["other-below", join(worktree, "docs")],
		["beside", `${at.cwd}-2`],
		["above", join(at.cwd, "..")],
	] as const) {
		put(at, id, [message("a", null, user(`panic in ${id}`)), message("b", "a", assistant("done"))], { cwd });
		mkdirSync(cwd, { recursive: true });
	}
	return { at, worktree };
}

const OWN = ["main", "main-below", "other", "other-below"];
const idsOf = async (at: World, ...args: string[]): Promise<string[]> =>
	(await goodJson(at, ["list", ...args])).map(({ id }: { id: string }) => id).sort();

test("list, search and stats include all worktrees", async () => {
	const { at, worktree } = repository();
	for (const cwd of [at.cwd, worktree, join(at.cwd, "packages/a"), join(worktree, "docs")]) {
		expect(await idsOf({ ...at, cwd }, "--repository")).toEqual(OWN);
	}
	expect(await idsOf(at, "-r", "--cwd", worktree)).toEqual(OWN);
	expect(lines(await good(at, ["list", "-r"]))[0]).toMatch(/FOLDER/);
	const hits = lines(await good(at, ["search", "panic", "-r", "--json"])).map((line) => JSON.parse(line).id);
	expect(hits.sort()).toEqual(OWN);
	expect((await goodJson(at, ["stats", "-r"])).sessions).toBe(4);
	expect((await run(at, ["search", "nothing like it", "-r"])).out).toContain(
		`Nothing found for nothing like it in 4 sessions of the repository of ${at.cwd}`,
	);
	// The same with a session directory.
	const dir = join(at.agent, "sessions", `--${at.cwd.slice(1).replaceAll("/", "-")}--`);
	expect(await idsOf(at, "-r", "--dir", dir)).toEqual(["main"]);
	// Without the option nothing changes.
	expect(await idsOf(at)).toEqual(["main"]);
});

test("outside of a repository it is the working directory alone", async () => {
	const { at } = repository();
	const outside = { ...at, cwd: `${at.cwd}-2` };
	expect(await idsOf(outside, "-r")).toEqual(["beside"]);
	expect((await goodJson(outside, ["stats", "-r"])).sessions).toBe(1);
	expect(await idsOf({ ...at, env: { ...at.env, PATH: "/nonexistent" } }, "-r")).toEqual(["main"]);
});

// A repository with the user's settings would make all the user's folders one project.
test("a repository in the home directory makes no project", async () => {
	const { at } = repository();
	git(at, at.env.HOME as string, "init", "-q");
	expect(await idsOf({ ...at, cwd: `${at.cwd}-2` }, "-r")).toEqual(["beside"]);
	expect(await idsOf(at, "-r")).toEqual(OWN);
});

// Regression: there git lists the git directory in place of the working tree, so its sessions were not found.
test.each([
	{
		place: "a submodule",
		make(at: World) {
			const [library, root] = [`${at.cwd}-library`, join(at.cwd, "library")];
			for (const path of [library, at.cwd]) {
				git(at, dirname(path), "init", "-q", path);
				git(at, path, "commit", "-q", "--allow-empty", "-m", "one");
			}
			git(at, at.cwd, "submodule", "-q", "add", library, root);
			return { root, isMainKnown: true };
		},
	},
	{
		place: "a working tree whose git directory is elsewhere",
		make(at: World) {
			git(at, at.cwd, "init", "-q", `--separate-git-dir=${at.cwd}.git`);
			git(at, at.cwd, "commit", "-q", "--allow-empty", "-m", "one");
			return { root: at.cwd, isMainKnown: false };
		},
	},
])("in $place it has the sessions of the root", async ({ make }) => {
	const at = world();
	const { root, isMainKnown } = make(at);
	const worktree = `${at.cwd}-feature`;
	git(at, root, "worktree", "add", "-q", worktree);
	for (const [id, cwd] of [
		["root", root],
		["below", join(root, "docs")],
		["other", worktree],
		["beside", `${at.cwd}-2`],
	] as const) {
		put(at, id, [message("a", null, user(`panic in ${id}`))], { cwd });
		mkdirSync(cwd, { recursive: true });
	}
	for (const cwd of [root, join(root, "docs")])
		expect(await idsOf({ ...at, cwd }, "-r")).toEqual(["below", "other", "root"]);
	// From another worktree git knows only the root of a submodule.
	expect(await idsOf({ ...at, cwd: worktree }, "-r")).toEqual(isMainKnown ? ["below", "other", "root"] : ["other"]);
});

test("does not go with --all or a session", async () => {
	const { at } = repository();
	for (const args of [
		["list", "-r", "--all"],
		["search", "panic", "-r", "-a"],
		["stats", "main", "-r"],
	])
		expect(await run(at, args)).toMatchObject({ code: 2, out: "" });
});
