// The rights of files in a directory, and users of one system who share it.
import { execFileSync } from "node:child_process";
import fs, { readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterEach, expect, vi } from "vitest";
import { root } from "../../../../__test__/support/scratch.js";
import { testIf, testWith } from "../../../../__test__/support/windows.js";
import { loadAll } from "../../lib/index.js";
import {
	append,
	emptyDirectory,
	entries,
	entry,
	failure,
	filesOf,
	header,
	ids,
	library,
	openDirectory,
	SESSION,
} from "../support/lines.js";
import { systemError } from "../support/opened-files.js";

afterEach(() => vi.restoreAllMocks());

/** The rights of all files and folders below a directory, by path; for files without the right to execute. */
const modesOf = (path: string) =>
	(readdirSync(path, { recursive: true }) as string[]).map((name) => {
		const stat = fs.statSync(join(path, name));
		return `${name} ${(stat.mode & 0o3777).toString(8)} ${stat.isDirectory() ? "folder" : "file"}`;
	});

// Regression: the umask was applied to them, and the second user was refused.
for (const umask of [0, 0o022, 0o077]) {
	testWith("modes")(`new files have the directory's rights despite umask ${umask}`, async () => {
		const path = emptyDirectory();
		fs.chmodSync(path, 0o2770);
		const before = process.umask(umask);
		try {
			await append(openDirectory(path), entries("a", 1));
		} finally {
			process.umask(before);
		}
		expect(modesOf(path).filter((one) => !/ (2770 folder|660 file)$/.test(one))).toEqual([]);
		expect(modesOf(path).length).toBeGreaterThan(3);
	});
}

// Regression: only EEXIST was checked, and other users were refused for ever.
testWith("modes")("the next append sets rights after a kill", async () => {
	const path = emptyDirectory();
	fs.chmodSync(path, 0o2770);
	const { chmod } = fs.promises;
	const stops = (what: RegExp) =>
		vi.spyOn(fs.promises, "chmod").mockImplementation((async (name: string, mode: number) => {
			if (what.test(name)) throw systemError("EIO", "killed");
			return chmod(name, mode);
		}) as never);
	const before = process.umask(0o077);
	try {
		for (const what of [/sessions$/, /none$/, /\.lines$/]) {
			stops(what);
			await failure(append(openDirectory(path), entries("a", 1)));
			vi.restoreAllMocks();
		}
		await append(openDirectory(path), entries("a", 1));
	} finally {
		process.umask(before);
	}
	expect(modesOf(path).filter((one) => !/ (2770 folder|660 file)$/.test(one))).toEqual([]);
});

/**
 * The output of a script that another user of this system runs. It loads all modules first, because the clone may be in
 * a directory that the user cannot enter, such as root's home.
 */
function runAs(uid: number, gid: number, script: string, env: NodeJS.ProcessEnv = process.env): string {
	// A folder that the other user cannot enter, wherever the clone is. The paths of all modules lead through it.
	const home = fs.mkdtempSync(join(tmpdir(), "psn-home-"));
	fs.chmodSync(home, 0o700);
	fs.symlinkSync(root, join(home, "clone"));
	const inHome = (path: string): string => join(home, "clone", relative(root, path));
	// Node resolves a package again for each module that requires it.
	const code = `
		const Module = require("node:module");
		const [find, addon] = [Module._resolveFilename, require.resolve("pi-session-native")];
		Module._resolveFilename = (name, ...rest) => (name === "pi-session-native" ? addon : find(name, ...rest));
		const library = require(${JSON.stringify(inHome(library))});
		require("pi-session-native");
		process.setgroups([]); process.setgid(${gid}); process.setuid(${uid});
		${script}`;
	const path = { ...env, NODE_PATH: inHome(join(root, "node_modules")) };
	try {
		return String(
			execFileSync(process.execPath, ["--preserve-symlinks", "-e", code], { env: path, cwd: tmpdir(), stdio: "pipe" }),
		);
	} finally {
		rmSync(home, { recursive: true });
	}
}

/** Appends as another user of this system. */
function appendAs(uid: number, gid: number, umask: number, path: string, host: string, line: Buffer): void {
	const code = `
		process.umask(${umask});
		const store = new library.DirectoryStore({ path: ${JSON.stringify(path)}, host: ${JSON.stringify(host)}, locks: ${JSON.stringify(join(tmpdir(), `psn-locks-${uid}`))} });
		const append = { header: Buffer.from(${JSON.stringify(String(header()))}), lines: [Buffer.from(${JSON.stringify(String(line))})], project: "shop" };
		store.append(${JSON.stringify(SESSION)}, append).catch((error) => {
			console.error(error.message);
			process.exit(1);
		});`;
	runAs(uid, gid, code);
}

// Only the system's administrator can change to another user.
for (const [one, other] of [
	[0o022, 0o077],
	[0o077, 0o022],
] as const) {
	testIf(process.getuid?.() === 0, "only root can be two users")(
		`two users of one group share a directory (umask ${one})`,
		async () => {
			const path = emptyDirectory();
			fs.chownSync(path, 60_001, 60_000);
			fs.chmodSync(path, 0o2770);
			appendAs(60_001, 60_000, one, path, "alice", entry("a"));
			appendAs(60_002, 60_000, other, path, "bob", entry("b"));
			appendAs(60_001, 60_000, one, path, "alice", entry("c"));
			expect(ids(await loadAll(openDirectory(path), SESSION)).sort()).toEqual(["a", "b", "c"]);
			// Each user may remove the other's files.
			runAs(
				60_002,
				60_000,
				`new library.DirectoryStore({ path: ${JSON.stringify(path)}, host: "bob" }).delete(${JSON.stringify(SESSION)}).catch(() => process.exit(1))`,
			);
			expect(filesOf(path).filter((file) => file.startsWith("lines/"))).toEqual([expect.stringMatching(/\.deleted$/)]);
		},
	);
}

// Regression: the home was read when a store was opened, and the system's error was thrown.
testIf(process.getuid?.() === 0, "only root can be a user without a home")(
	"a user without a home can read",
	async () => {
		const path = emptyDirectory();
		fs.chmodSync(path, 0o755);
		await append(openDirectory(path), entries("a", 1));
		const code = `library.openStore(${JSON.stringify(path)}, { host: "b" }).then(async (store) => {
			const { sessions } = await store.list();
			const error = await store.append(${JSON.stringify(SESSION)}, { header: Buffer.from(${JSON.stringify(String(header()))}), lines: [Buffer.from(${JSON.stringify(String(entry("b")))})] }).catch((error) => error);
			console.log(sessions.length, error.name, error.code, error.message);
		});`;
		expect(runAs(61_234, 61_234, code, { PATH: process.env.PATH })).toMatch(
			// In Deno the processes have the home of the user who started the tests.
			/^1 StoreError failed Cannot lock .*: .*(uv_os_homedir|EACCES)/,
		);
	},
);
