// The project of a session.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { testIf } from "../../../../__test__/support/windows.js";
import { projectOf } from "../../lib/index.js";
import { emptyDirectory, library } from "../support/lines.js";

const { findProject, normalizeRemote } = createRequire(library)("./machine/project.js");

test.each([
	["git@github.com:me/shop.git", "github.com/me/shop"],
	["https://github.com/me/shop", "github.com/me/shop"],
	["https://me:token@GitHub.com/Me/Shop.git/", "github.com/me/shop"],
	["ssh://git@github.com:22/me/shop.git", "github.com/me/shop"],
	["git+ssh://git@github.com/me/shop", "github.com/me/shop"],
	["git://git.example.org:9418//group/sub/shop.git", "git.example.org/group/sub/shop"],
	["example.org:shop", "example.org/shop"],
	["example.org:~me/shop.git\n", "example.org/~me/shop"],
	["https://example.org/", undefined],
	["https://example.org/.git", undefined],
	["/srv/git/shop.git", undefined],
	["../shop", undefined],
	["./a:b", undefined],
	["C:\\git\\shop", undefined],
	["C:/git/shop", undefined],
	["file:///srv/git/shop.git", undefined],
	["", undefined],
])("the remote %j is %j", (remote, name) => {
	expect(normalizeRemote(remote)).toBe(name);
});

test("a project is its remote and the path below", async () => {
	const dir = emptyDirectory();
	const git = (...args: string[]) => execFileSync("git", ["-C", join(dir, "work"), ...args], { stdio: "pipe" });
	mkdirSync(join(dir, "work/packages/cart"), { recursive: true });
	// The folders around the temporary folder must not matter.
	vi.stubEnv("GIT_CEILING_DIRECTORIES", dir);
	onTestFinished(() => {
		vi.unstubAllEnvs();
	});
	expect(await projectOf(join(dir, "work"), "laptop")).toBe(`laptop:${join(dir, "work")}`);
	git("init", "-q");
	expect(await projectOf(join(dir, "work/packages"), "laptop")).toBe(`laptop:${join(dir, "work/packages")}`);
	git("remote", "add", "upstream", "https://example.org/them/shop.git");
	expect(await projectOf(join(dir, "work"), "laptop")).toBe("example.org/them/shop");
	git("remote", "add", "fork", "https://example.org/another/shop.git");
	expect(await projectOf(join(dir, "work"), "laptop")).toBe(`laptop:${join(dir, "work")}`);
	git("remote", "add", "origin", "short:me/shop.git");
	git("config", "url.git@example.org:.insteadOf", "short:");
	expect(await projectOf(join(dir, "work"), "laptop")).toBe("example.org/me/shop");
	expect(await projectOf(join(dir, "work/packages/cart"), "laptop")).toBe("example.org/me/shop:packages/cart");
	vi.stubEnv("GIT_DIR", "/nowhere");
	expect(await projectOf(join(dir, "work"), "laptop")).toBe("example.org/me/shop");
	vi.stubEnv("GIT_DIR", undefined);
	git("remote", "set-url", "origin", "/srv/shop.git");
	expect(await projectOf(join(dir, "work"), "laptop")).toBe(`laptop:${join(dir, "work")}`);
	expect(await projectOf(join(dir, "gone"), "laptop")).toBe(`laptop:${join(dir, "gone")}`);
	vi.stubEnv("PATH", "");
	expect(await projectOf(join(dir, "work"), "laptop")).toBe(`laptop:${join(dir, "work")}`);
});

test("a failure of git is no missing repository or remote", async () => {
	const dir = emptyDirectory();
	const work = join(dir, "shop");
	mkdirSync(work);
	for (const [name, value] of Object.entries({ GIT_CEILING_DIRECTORIES: dir, PI_SYNC_PROJECT: "" }))
		vi.stubEnv(name, value);
	onTestFinished(() => {
		vi.unstubAllEnvs();
	});
	const own = { project: `laptop:${work}`, isOwn: true };
	expect(await findProject(work, "laptop")).toEqual(own);
	vi.stubEnv("PATH", "");
	expect(await findProject(work, "laptop")).toEqual(own);
	vi.unstubAllEnvs();
	vi.stubEnv("PI_SYNC_PROJECT", "");
	execFileSync("git", ["init", "-q", work]);
	expect(await findProject(work, "laptop")).toEqual(own);
	execFileSync("git", ["-C", work, "remote", "add", "origin", "https://example.org/me/shop.git"]);
	expect(await findProject(work, "laptop")).toEqual({ project: "example.org/me/shop" });
	vi.stubEnv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1");
	expect(await findProject(work, "laptop")).toEqual({
		...own,
		problem: expect.stringMatching(/^git failed in .*: fatal: detected dubious ownership/),
	});
	expect(await projectOf(work, "laptop")).toBe(`laptop:${work}`);
	vi.stubEnv("PI_SYNC_PROJECT", "set");
	expect(await findProject(work, "laptop")).toEqual({ project: "set" });
	vi.unstubAllEnvs();
	vi.stubEnv("PI_SYNC_PROJECT", "");
	expect([await projectOf("/", "laptop"), await findProject("/", "laptop")]).toEqual([
		"laptop:/",
		{ project: "laptop:/", isOwn: true },
	]);
});

// Regression: a session of a drive that was not there, or that was opened while git was not on the path, was stored for
// ever under a project of this machine.
test("a missing directory or git is no missing remote", async () => {
	const dir = emptyDirectory();
	vi.stubEnv("PI_SYNC_PROJECT", "");
	onTestFinished(() => {
		vi.unstubAllEnvs();
	});
	const problem = async (cwd: string) => (await findProject(cwd, "laptop")).problem;
	mkdirSync(join(dir, "shop/packages"), { recursive: true });
	// A deleted worktree; a drive that is not mounted.
	expect(await problem(join(dir, "gone"))).toBeUndefined();
	expect(await problem(join(dir, "gone/shop"))).toMatch(/^git failed in .*: fatal: cannot change to/);
	vi.stubEnv("PATH", "");
	expect(await problem(join(dir, "gone"))).toBeUndefined();
	expect(await problem(join(dir, "gone/shop"))).toMatch(/^git failed in .*: spawn git ENOENT$/);
	// Without git there are directories without a remote, but no checkouts.
	expect(await problem(join(dir, "shop/packages"))).toBeUndefined();
	mkdirSync(join(dir, "shop/.git"));
	for (const below of ["shop", "shop/packages"])
		expect(await problem(join(dir, below))).toMatch(/^git failed in .*: spawn git ENOENT$/);
});

test("a long path is replaced by its hash", async () => {
	const long = (name: string) => projectOf(`/${"x".repeat(3000)}/${name}`, "laptop");
	expect([
		(await long("a")).length < 1000,
		(await long("a")) === (await long("a")),
		(await long("a")) === (await long("b")),
		(await long("a")).startsWith("laptop:"),
	]).toEqual([true, true, false, true]);
});

test("git is asked without holding up the process", async () => {
	let turns = 0;
	const turning = setInterval(() => turns++, 0);
	const asked = findProject(emptyDirectory(), "laptop");
	expect(turns).toBe(0);
	await asked;
	clearInterval(turning);
	expect(turns).toBeGreaterThan(0);
});

// Regression: git, and the programs that it runs, received the store's password.
testIf(process.platform !== "win32", "Windows: a script is not a program")(
	"git does not see the address of the store",
	async () => {
		const dir = emptyDirectory();
		writeFileSync(join(dir, "git"), `#!/bin/sh\nenv > "${dir}/$$.env"\n`, { mode: 0o755 });
		for (const [name, value] of Object.entries({
			PATH: `${dir}:${process.env.PATH}`,
			PI_SYNC_PROJECT: "",
			PI_SYNC_STORE: "postgres://me:hunter2@db/x",
		}))
			vi.stubEnv(name, value);
		onTestFinished(() => {
			vi.unstubAllEnvs();
		});
		await findProject(dir, "laptop");
		await projectOf(dir, "laptop");
		const seen = readdirSync(dir).filter((name) => name.endsWith(".env"));
		expect(seen.length).toBeGreaterThan(0);
		for (const name of seen) expect(readFileSync(join(dir, name), "utf8")).not.toMatch(/hunter2/);
	},
);
