// A directory's file systems and locks: what they lack, whose rights files have, and processes of one host at the same
// time.
import { execFile, execFileSync, spawnSync } from "node:child_process";
import fs, { readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ownAgent, root } from "../../../../__test__/support/scratch.js";
import { testIf, testWith } from "../../../../__test__/support/windows.js";
import { DirectoryStore, loadAll } from "../../lib/index.js";
import { conformanceCases } from "../support/conformance.js";
import {
	append,
	emptyDirectory,
	entries,
	entry,
	failure,
	filesOf,
	hashOf,
	header,
	ids,
	library,
	logOf,
	openDirectory,
	SESSION,
} from "../support/lines.js";
import { changeOpenedFiles, systemError } from "../support/opened-files.js";

const { readLines } = createRequire(library)("./machine/session-file.js");

afterEach(() => vi.restoreAllMocks());

/** What is synchronised below a path from now on, unless `onSync` fails. */
function syncsBelow(path: string, onSync: (name: string) => void = () => {}): string[] {
	const steps: string[] = [];
	changeOpenedFiles((file, name) => {
		for (const call of ["sync", "datasync"]) {
			const sync = file[call].bind(file);
			file[call] = async () => {
				onSync(call);
				await sync();
				steps.push(`${call} ${name.slice(path.length + 1)}`);
			};
		}
	});
	return steps;
}

testWith("syncs")("an append ends once its lines are on the disk", async () => {
	const path = emptyDirectory();
	const steps = syncsBelow(path);
	const { cursor } = await append(openDirectory(path), entries("a", 1));
	expect(steps.slice(-2)).toEqual([`datasync ${logOf("a")}`, `sync ${dirname(logOf("a"))}`]);
	steps.length = 0;
	await append(openDirectory(path), entries("b", 1), cursor);
	expect(steps).toEqual([`datasync ${logOf("a")}`]);
});

/** An append whose lines are written, and not synchronised. */
async function unsynchronised(path: string): Promise<void> {
	syncsBelow(path, (name) => {
		if (name === "datasync") throw systemError("EIO", "i/o error, fdatasync");
	});
	expect((await failure(append(openDirectory(path), entries("a", 1)))).code).toBe("unreachable");
}

// Regression: it found the lines, in the system's memory, and resolved.
testWith("syncs")("a repeated append synchronises what a killed one wrote", async () => {
	const path = emptyDirectory();
	vi.spyOn(fs.promises, "truncate").mockRejectedValue(new Error("killed"));
	await unsynchronised(path);
	vi.restoreAllMocks();
	const steps = syncsBelow(path);
	expect((await append(openDirectory(path), entries("a", 1))).stored).toBe(0);
	expect(steps.slice(-2)).toEqual([`datasync ${logOf("a")}`, `sync ${dirname(logOf("a"))}`]);
});

test("a repeated append rewrites lines that could not be synchronised", async () => {
	const path = emptyDirectory();
	await unsynchronised(path);
	vi.restoreAllMocks();
	expect((await append(openDirectory(path), entries("a", 1))).stored).toBe(1);
});

// Regression: it cut the log where it had ended when it was last seen, and what another process had stored since was
// gone.
test("an append that cannot inspect its log cuts nothing off", async () => {
	const path = emptyDirectory();
	const store = openDirectory(path);
	const { cursor } = await append(store, entries("a", 1));
	const second = await append(openDirectory(path), entries("b", 1), cursor);
	expect(second.stored).toBe(1);
	changeOpenedFiles((file, name) => {
		if (name.endsWith(".lines")) file.stat = () => Promise.reject(systemError("EIO", "i/o error, fstat"));
	});
	expect((await failure(append(store, entries("c", 1), cursor))).code).toBe("unreachable");
	vi.restoreAllMocks();
	expect((await openDirectory(path, "b").load(SESSION)).lines).toHaveLength(2);
});

// Regression: it failed although it was stored.
test.each(["EINVAL", "ENOTSUP", "EOPNOTSUPP", "EBADF"])(
	"where directories cannot be synchronised an append succeeds (%s)",
	async (code) => {
		const path = emptyDirectory();
		changeOpenedFiles(async (file, _name, flags) => {
			if (flags === undefined && (await file.stat()).isDirectory())
				file.sync = () => Promise.reject(systemError(code, "fsync"));
		});
		expect((await append(openDirectory(path), entries("a", 1))).stored).toBe(1);
	},
);

/** The rights of everything below a directory, by path: of files without the right to execute. */
const modesOf = (path: string) =>
	(readdirSync(path, { recursive: true }) as string[]).map((name) => {
		const stat = fs.statSync(join(path, name));
		return `${name} ${(stat.mode & 0o3777).toString(8)} ${stat.isDirectory() ? "folder" : "file"}`;
	});

// Regression: the umask was taken from them, and the second user was refused.
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

// Regression: EEXIST was all that was looked at, and other users were refused for ever.
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
 * What a script says that another user of this system runs. It loads everything first: the clone may be in a directory
 * that the user cannot enter, such as root's home.
 */
function runAs(uid: number, gid: number, script: string, env: NodeJS.ProcessEnv = process.env): string {
	// A folder that the other user cannot enter, wherever the clone is: the paths of all modules lead through it.
	const home = fs.mkdtempSync(join(tmpdir(), "psn-home-"));
	fs.chmodSync(home, 0o700);
	fs.symlinkSync(root, join(home, "clone"));
	const inHome = (path: string): string => join(home, "clone", relative(root, path));
	// Node looks for a package again for each module that requires it.
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

// Only the system's administrator can be two users.
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
			// Each may remove what the other one made.
			runAs(
				60_002,
				60_000,
				`new library.DirectoryStore({ path: ${JSON.stringify(path)}, host: "bob" }).delete(${JSON.stringify(SESSION)}).catch(() => process.exit(1))`,
			);
			expect(filesOf(path).filter((file) => file.startsWith("lines/"))).toEqual([expect.stringMatching(/\.deleted$/)]);
		},
	);
}

/**
 * As where the system tells no types: whoever asks for them looks at each file, and fails as a whole if one is gone.
 */
function withoutTypes(afterNames: (folder: string) => void): void {
	const { readdir, lstat } = fs.promises;
	vi.spyOn(fs.promises, "readdir").mockImplementation((async (
		folder: string,
		options?: { withFileTypes?: boolean },
	) => {
		const names = await readdir(folder);
		afterNames(folder.replace(/\/$/, ""));
		if (!options?.withFileTypes) return names;
		return Promise.all(names.map(async (name) => Object.assign(await lstat(join(folder, name)), { name })));
	}) as never);
}

// Regression: the folder counted as empty, and of two processes of a host one lost an acknowledged line.
test("a vanishing file does not hide the others", async () => {
	const path = emptyDirectory();
	await append(openDirectory(path), entries("a", 1));
	const other = openDirectory(path, "b");
	const { cursor } = await append(other, entries("b", 1));
	const folder = join(path, dirname(logOf("b")));
	writeFileSync(join(folder, "going"), "");
	withoutTypes((read) => {
		if (read === folder) rmSync(join(folder, "going"), { force: true });
	});
	expect(ids(await loadAll(openDirectory(path, "reader"), SESSION))).toEqual(["a0", "b0"]);
	writeFileSync(join(folder, "going"), "");
	expect((await append(other, entries("c", 1), cursor)).stored).toBe(1);
	expect((await openDirectory(path, "reader").list()).sessions).toMatchObject([{ hosts: ["a", "b"] }]);
});

// Regression: the lock had the name by which the directory was opened, and two batches followed the same one.
testWith("links")("processes exclude each other by whatever path they use", async () => {
	const [path, links, { agent }] = [emptyDirectory(), emptyDirectory(), ownAgent()];
	fs.symlinkSync(path, join(links, "link"));
	const stores = Array.from({ length: 16 }, (_, at) => openDirectory(at % 2 === 0 ? path : join(links, "link")));
	await append(openDirectory(path), entries("first", 1));
	await Promise.all(stores.map((store, at) => append(store, [entry(`own${at}`)])));
	const page = await loadAll(openDirectory(path, "reader"), SESSION);
	expect([page.problems, page.lines.length]).toEqual([[], 17]);
	expect(readdirSync(join(agent, "session-stores/locks")).filter((name) => name.includes("-session-"))).toHaveLength(1);
});

// Regression: another user of the directory had new files made wherever he liked.
testWith("links")("nothing is written through a planted link", async () => {
	const [path, elsewhere] = [emptyDirectory(), emptyDirectory()];
	await append(openDirectory(path), entries("a", 1));
	const log = join(path, logOf("b"));
	for (const name of ["sessions", dirname(logOf("b")), dirname(dirname(logOf("b"))), logOf("b")]) {
		const kept = join(path, "kept");
		if (fs.existsSync(join(path, name))) fs.renameSync(join(path, name), kept);
		else writeFileSync(join(elsewhere, "log"), "");
		fs.symlinkSync(fs.existsSync(log) || name !== logOf("b") ? elsewhere : join(elsewhere, "log"), join(path, name));
		const session = name === "sessions" ? "s2" : SESSION;
		expect(
			await failure(openDirectory(path, "b").append(session, { header: header(session), lines: entries("b", 1) })),
		).toMatchObject({ code: "failed" });
		expect(
			readdirSync(elsewhere, { recursive: true }).filter(
				(one) => fs.statSync(join(elsewhere, String(one))).size > 0 && one !== "log",
			),
		).toEqual([]);
		rmSync(join(path, name));
		if (fs.existsSync(kept)) fs.renameSync(kept, join(path, name));
	}
	expect((await append(openDirectory(path, "b"), entries("b", 1))).stored).toBe(1);
	expect(fs.statSync(join(elsewhere, "log")).size).toBe(0);
});

/** Runs a command in a network namespace of its own. */
const APART = ["unshare", process.getuid?.() === 0 ? "-n" : "-rn"] as const;
const canBeApart = process.platform === "linux" && spawnSync(APART[0], [APART[1], "true"]).status === 0;

// Regression: the lock was an address of the network, and one process wrote over what the other one had written.
testIf(canBeApart, "no network namespace can be made here")(
	"processes exclude each other across network namespaces",
	async () => {
		const path = emptyDirectory();
		const program = join(path, "append.cjs");
		writeFileSync(
			program,
			`
		const { promises: fs } = require("node:fs");
		const { open } = fs;
		// Between the look at a log and the write.
		fs.open = async (...args) => {
			const file = await open(...args);
			const stat = file.stat.bind(file);
			file.stat = async () => {
				const found = await stat();
				await new Promise((resolve) => setTimeout(resolve, 5));
				return found;
			};
			return file;
		};
		const { DirectoryStore } = require(${JSON.stringify(library)});
		const store = new DirectoryStore({ path: ${JSON.stringify(path)}, host: "a", locks: ${JSON.stringify(join(path, "locks"))} });
		(async () => {
			let after;
			for (let at = 0; at < 20; at++) {
				const line = Buffer.from(JSON.stringify({ type: "message", id: process.argv[2] + at }));
				({ cursor: after } = await store.append(${JSON.stringify(SESSION)}, { header: Buffer.from(${JSON.stringify(String(header()))}), lines: [line], after }));
			}
		})();`,
		);
		const letters = ["x", "y", "z"];
		await Promise.all(
			letters.map((letter) => promisify(execFile)(APART[0], [APART[1], process.execPath, program, letter])),
		);
		const page = await loadAll(openDirectory(path, "reader"), SESSION);
		expect(page.problems).toEqual([]);
		expect(ids(page).sort()).toEqual(
			letters.flatMap((letter) => Array.from({ length: 20 }, (_, at) => `${letter}${at}`)).sort(),
		);
	},
);

// Regression: where the home is on a drive without locks nothing could be stored, and no setting helped.
testWith("links")("locks may be on another drive, behind a link", async () => {
	const [path, locks, elsewhere] = [emptyDirectory(), emptyDirectory(), emptyDirectory()];
	fs.symlinkSync(elsewhere, join(locks, "locks"));
	await append(new DirectoryStore({ path, host: "a", locks }), entries("a", 1));
	expect(readdirSync(elsewhere)).toHaveLength(1);
	const addon = createRequire(library)("pi-session-native");
	vi.spyOn(addon, "tryLockFile").mockImplementation(() => {
		throw systemError("ENOLCK", "no locks available, lock");
	});
	const error = await failure(append(new DirectoryStore({ path, host: "a", locks }), entries("b", 1)));
	expect([error.code, error.message]).toEqual([
		"failed",
		expect.stringMatching(
			/^Cannot lock .*-session-\d+: ENOLCK: .* \(if files there cannot be locked, make the directory a link/,
		),
	]);
	expect(error.message).toContain(join(locks, "locks"));
	expect(ids(await openDirectory(path).load(SESSION))).toEqual(["a0"]);
});

// Regression: on Windows the first appends of two hosts to a new store failed where it has no links.
test("without second names, two hosts may create a store together", async () => {
	const path = emptyDirectory();
	const denied = systemError("EPERM", "operation not permitted");
	vi.spyOn(fs.promises, "link").mockRejectedValue(denied);
	vi.spyOn(fs.promises, "rename").mockImplementationOnce(async (from, to) => {
		// Not before: the addon that has the lock is this system's.
		vi.spyOn(process, "platform", "get").mockReturnValue("win32");
		fs.copyFileSync(from, to);
		throw denied;
	});
	expect((await append(openDirectory(path), entries("a", 1))).stored).toBe(1);
	vi.spyOn(fs.promises, "rename").mockRejectedValue(denied);
	expect((await failure(append(openDirectory(emptyDirectory()), entries("b", 1)))).code).toBe("denied");
	vi.restoreAllMocks();
	expect(ids(await loadAll(openDirectory(path, "reader"), SESSION))).toEqual(["a0"]);
});

// Regression: the home was looked up as soon as a store was opened, and the system's error was thrown.
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
			// Deno's processes have the home of whoever began the tests.
			/^1 StoreError failed Cannot lock .*: .*(uv_os_homedir|EACCES)/,
		);
	},
);

// Regression: Android refuses hard links with EACCES, and no append to a store succeeded there.
describe.each(["EPERM", "EACCES"])("where files have no second names (%s)", (code) => {
	test.each(conformanceCases)("$name", async ({ run }) => {
		vi.spyOn(fs.promises, "link").mockRejectedValue(systemError(code, "not supported"));
		const path = emptyDirectory();
		await run({ open: async (host) => openDirectory(path, host) });
	});
});

testIf(process.platform === "linux", "file names are text")("a file name that is no text stops no list", async () => {
	const path = emptyDirectory();
	await append(openDirectory(path), entries("a", 1));
	writeFileSync(Buffer.concat([Buffer.from(`${join(path, dirname(logOf("a")))}/`), Buffer.from([0xff, 0xfe])]), "x");
	expect((await openDirectory(path).list()).sessions).toHaveLength(1);
});

/** The calls of files that are opened from now on read and write a few bytes at most, as on a network drive. */
function inSmallSteps(...names: ("read" | "write")[]): void {
	changeOpenedFiles((file) => {
		for (const name of names) {
			const call = file[name].bind(file);
			file[name] = (bytes: Buffer, offset: number, length: number, at: number) =>
				call(bytes, offset, Math.min(length, 7), at);
		}
	});
}

// The look after writing would blank it; until then it would be there.
test("the bytes of a redacted line are not written again", async () => {
	const path = emptyDirectory();
	const secret = entry("secret");
	await append(openDirectory(path), [entry("a"), secret]);
	await openDirectory(path).redact(SESSION, [{ hash: hashOf(secret) }]);
	let written = "";
	changeOpenedFiles((file) => {
		const write = file.write.bind(file);
		file.write = (bytes: Buffer, ...rest: any[]) => ((written += bytes), write(bytes, ...rest));
	});
	for (const host of ["a", "b"]) await append(openDirectory(path, host), [secret, entry(`more-${host}`)]);
	expect(["more-a", "more-b", "secret"].map((id) => written.includes(id))).toEqual([true, true, false]);
});

// Regression: what the system had not written of the spaces stayed there of the line.
test("partial writes leave nothing of a redacted line", async () => {
	const path = emptyDirectory();
	const secret = Buffer.from('{"type":"message","id":"a","text":"the password is hunter2"}');
	const store = openDirectory(path);
	await append(store, [secret]);
	inSmallSteps("write");
	await store.redact(SESSION, [{ hash: hashOf(secret) }]);
	expect(fs.readFileSync(join(path, logOf("a")), "utf8").split("\n")[1]).toBe(" ".repeat(secret.length));
});

// Regression: an empty list counted as a deletion, and the host's whole log was removed.
test("an append that is not listed yet may be repeated", async () => {
	const path = emptyDirectory();
	const store = openDirectory(path);
	const { cursor } = await append(store, entries("a", 1));
	const spy = vi.spyOn(fs.promises, "readdir").mockImplementation((async () => []) as never);
	expect(await failure(append(store, entries("b", 1), cursor))).toMatchObject({ code: "unreachable", retryable: true });
	spy.mockRestore();
	expect((await append(store, entries("b", 1), cursor)).stored).toBe(0);
	expect(ids(await loadAll(openDirectory(path, "reader"), SESSION))).toEqual(["a0", "b0"]);
});

// Regression: a push ended as complete.
test("partial reads still read all lines of a file", async () => {
	const file = join(emptyDirectory(), "session.jsonl");
	writeFileSync(file, [header(), ...entries("a", 3)].join("\n"));
	inSmallSteps("read");
	const handle = await fs.promises.open(file);
	const { lines, rest } = await readLines(handle, 0);
	await handle.close();
	expect([lines.map(String), String(rest)]).toEqual([[header(), ...entries("a", 2)].map(String), String(entry("a2"))]);
});
