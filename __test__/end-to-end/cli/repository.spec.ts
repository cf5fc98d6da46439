// `--repository`: the sessions of every worktree of a repository.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { good, goodJson, lines, put, run, type World, world } from "../../support/cli.js";
import { assistant, message, user } from "../../support/scratch.js";

/** A repository with a second worktree, and sessions in both, in folders of them, and beside them. */
function repository(): { at: World; worktree: string } {
	const at = world();
	const git = (...args: string[]): void =>
		void execFileSync("git", ["-c", "user.name=x", "-c", "user.email=x", ...args], {
			cwd: at.cwd,
			stdio: "pipe",
			env: { ...at.env, GIT_CONFIG_GLOBAL: "/dev/null" },
		});
	git("init", "-q");
	git("commit", "-q", "--allow-empty", "-m", "one");
	const worktree = `${at.cwd}-feature`;
	git("worktree", "add", "-q", worktree);
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

test("list, search and stats are of all worktrees and the folders in them", async () => {
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
		`Nothing found for nothing like it in the 4 sessions of the repository of ${at.cwd}`,
	);
	// In a directory of one's own, too.
	const dir = join(at.agent, "sessions", `--${at.cwd.slice(1).replaceAll("/", "-")}--`);
	expect(await idsOf(at, "-r", "--dir", dir)).toEqual(["main"]);
	// Without it nothing changes.
	expect(await idsOf(at)).toEqual(["main"]);
});

test("outside of a repository it is the working directory alone", async () => {
	const { at } = repository();
	const outside = { ...at, cwd: `${at.cwd}-2` };
	expect(await idsOf(outside, "-r")).toEqual(["beside"]);
	expect((await goodJson(outside, ["stats", "-r"])).sessions).toBe(1);
	expect(await idsOf({ ...at, env: { ...at.env, PATH: "/nonexistent" } }, "-r")).toEqual(["main"]);
});

// A repository of settings would make one project of all that a user has.
test("a repository in the home directory makes no project", async () => {
	const { at } = repository();
	execFileSync("git", ["init", "-q"], { cwd: at.env.HOME as string, stdio: "pipe" });
	expect(await idsOf({ ...at, cwd: `${at.cwd}-2` }, "-r")).toEqual(["beside"]);
	expect(await idsOf(at, "-r")).toEqual(OWN);
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
