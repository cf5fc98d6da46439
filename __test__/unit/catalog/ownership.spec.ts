// The owner of the catalog's file: a setting may name any file, and links may lead anywhere.
import { execFileSync } from "node:child_process";
import {
	chmodSync,
	chownSync,
	lstatSync,
	mkdirSync,
	readFileSync,
	readlinkSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { api, header, modeOf, scratch, setEnv, snapshot, text } from "../../support/scratch.js";
import { testIf, testWith } from "../../support/windows.js";
import { agentDir, listed, listedByReference, namesIn, run, settled, tick } from "./agent-dir.js";

const { SessionManager } = api;

/** Whether a file is a catalog, of this format or another one. */
const formOf = (path: string): number | undefined => {
	const bytes = readFileSync(path);
	return bytes.length > 100 && bytes.readInt32BE(68) === 0x7069_7363 ? bytes.readInt32BE(60) : undefined;
};

/** Lists and searches several times, and calls a function between them. */
async function used(): Promise<void> {
	const want = await listedByReference();
	for (let time = 0; time < 2; time++) {
		expect(await listed()).toEqual(want);
		expect(await SessionManager.search("question")).toHaveLength(12);
		await tick();
	}
}

describe("a setting deleted the file it named:", () => {
	const theirs: [string, (path: string) => void][] = [
		["notes", (path) => writeFileSync(path, "my precious notes\n".repeat(100))],
		["a short note", (path) => writeFileSync(path, "x")],
		["a session", (path) => writeFileSync(path, text([header()]))],
		["the beginning of a database", (path) => writeFileSync(path, "SQLite format 3\0")],
		[
			"another program's database",
			(path) => {
				const page = Buffer.alloc(4096);
				// A complete, empty database of the application "other".
				page.write("SQLite format 3\0", "latin1");
				page.set([0x10, 0x00, 1, 1, 0, 64, 32, 32], 16);
				page.writeInt32BE(1, 28);
				page.writeInt32BE(4, 44);
				page.writeInt32BE(1, 56);
				page.write("othr", 68);
				page.set([13, 0, 0, 0, 0, 0x10, 0x00], 100);
				writeFileSync(path, page);
			},
		],
		["a directory", (path) => mkdirSync(path)],
	];
	test.each(theirs)("%s", async (_what, make) => {
		agentDir();
		const dir = scratch();
		const path = join(dir, "named");
		make(path);
		const before = snapshot(dir);
		setEnv({ PI_SESSION_NATIVE_CATALOG: path });
		await used();
		expect(snapshot(dir)).toEqual(before);
	});

	testWith("pipes")("a pipe", async () => {
		const at = agentDir();
		const path = join(scratch(), "pipe");
		execFileSync("mkfifo", [path]);
		setEnv({ PI_SESSION_NATIVE_CATALOG: path });
		const script = `console.log((await SessionManager.listAll()).filter((info) => info.allMessagesText).length);`;
		expect(await run(script)).toBe("12\n");
		expect(lstatSync(path).isFIFO()).toBe(true);
		expect(namesIn(at.agent)).toEqual(["sessions"]);
	});
});

testWith("modes")("a named empty file becomes the catalog, for its owner", async () => {
	agentDir();
	const dir = scratch();
	const path = join(dir, "named");
	writeFileSync(path, "", { mode: 0o644 });
	chmodSync(path, 0o644);
	setEnv({ PI_SESSION_NATIVE_CATALOG: path });
	await used();
	expect(formOf(path)).toBeGreaterThan(0);
	for (const name of namesIn(dir)) expect(modeOf(join(dir, name)), name).toBe(0o600);
});

/** The number of an ordinary user. */
const USER = 1000;

// Regression: `sudo pi-sessions list` created a catalog that the user could not read, so that each later list read all
// files.
testIf(process.getuid?.() === 0, "only root gives files to other users")(
	"root neither makes nor changes a user's catalog",
	async () => {
		const at = agentDir();
		chownSync(at.agent, USER, USER);
		await used();
		expect(namesIn(at.agent)).toEqual(["sessions"]);
		// It also creates no directory for it in a directory of the user.
		const home = scratch();
		chownSync(home, USER, USER);
		setEnv({ PI_SESSION_NATIVE_CATALOG: join(home, "cache", "catalog") });
		await used();
		expect(namesIn(home)).toEqual([]);
		// The user's own file does not change.
		setEnv({ PI_SESSION_NATIVE_CATALOG: undefined });
		writeFileSync(at.catalog, "", { mode: 0o600 });
		chownSync(at.catalog, USER, USER);
		const before = snapshot(at.agent);
		await used();
		expect(snapshot(at.agent)).toEqual(before);
	},
);

testIf(process.getuid?.() === 0, "only root gives files to other users")(
	"a user's catalog is made in any writable directory",
	async () => {
		const at = agentDir();
		for (const one of namesIn(at.dir)) chmodSync(join(at.dir, one), 0o644);
		for (const one of [at.agent, join(at.agent, "sessions"), at.dir, at.other]) chmodSync(one, 0o755);
		for (const owner of [USER, 0]) {
			const dir = scratch();
			chownSync(dir, owner, owner);
			chmodSync(dir, 0o777);
			const path = join(dir, "catalog");
			const script = `process.setgroups?.([]); process.setgid(${USER}); process.setuid(${USER}); await SessionManager.listAll(); console.log(process.getuid());`;
			setEnv({ PI_SESSION_NATIVE_CATALOG: path });
			expect(await run(script)).toBe(`${USER}\n`);
			expect([formOf(path), statSync(path).uid]).toEqual([expect.any(Number), USER]);
		}
	},
);

// Regression: the agent's catalog had the mode of an earlier file at its path.
testWith("modes")("the agent's catalog does not keep another file's mode", async () => {
	const at = agentDir();
	writeFileSync(at.catalog, "no catalog", { mode: 0o644 });
	chmodSync(at.catalog, 0o644);
	await used();
	for (const name of namesIn(at.agent).filter((name) => name !== "sessions")) {
		expect(modeOf(join(at.agent, name)), name).toBe(0o600);
	}
});

test("a newer catalog stays, an older one is replaced", async () => {
	for (const named of [false, true]) {
		const at = agentDir();
		const path = named ? join(scratch(), "named") : at.catalog;
		setEnv({ PI_SESSION_NATIVE_CATALOG: named ? path : undefined });
		await tick();
		await used();
		await settled({ ...at, catalog: path });
		const form = formOf(path) as number;
		const bytes = readFileSync(path);
		bytes.writeInt32BE(form + 1, 60);
		for (const file of [path, `${path}-wal`]) writeFileSync(file, file === path ? bytes : "");
		await used();
		expect(readFileSync(path).equals(bytes)).toBe(true);
		bytes.writeInt32BE(form - 1, 60);
		writeFileSync(path, bytes);
		await used();
		expect(formOf(path)).toBe(form);
	}
});

// Regression: it stayed with its texts, and no installed release could remove it.
test("a redaction deletes an older catalog, not a newer one", async () => {
	const at = agentDir();
	setEnv({ PI_SESSION_NATIVE_CATALOG: undefined });
	await tick();
	await used();
	await settled(at);
	const [session] = await SessionManager.listAll();
	const bytes = readFileSync(at.catalog);
	const redactIn = (form: number) => {
		bytes.writeInt32BE(form, 60);
		for (const file of [at.catalog, `${at.catalog}-wal`]) writeFileSync(file, file === at.catalog ? bytes : "");
		return SessionManager.redact(session?.path ?? "", { text: "question" }).isCatalogClean;
	};
	const form = formOf(at.catalog) as number;
	expect(redactIn(form + 1)).toBe(false);
	expect(readFileSync(at.catalog).equals(bytes)).toBe(true);
	expect(redactIn(form - 1)).toBe(true);
	expect(namesIn(at.agent)).toEqual(["sessions"]);
});

describe("a link in the catalog's place", () => {
	testWith("links")("to another file stays, and so does the file", async () => {
		const at = agentDir();
		const target = join(scratch(), "notes.txt");
		writeFileSync(target, "notes ".repeat(50));
		symlinkSync(target, at.catalog);
		await used();
		expect([readlinkSync(at.catalog), readFileSync(target, "utf8")]).toEqual([target, "notes ".repeat(50)]);
	});

	testWith("links")("to a missing file makes the catalog in its directory", async () => {
		const at = agentDir();
		const dir = scratch();
		symlinkSync(join(dir, "catalog"), at.catalog);
		await used();
		expect(formOf(join(dir, "catalog"))).toBeGreaterThan(0);
		expect(lstatSync(at.catalog).isSymbolicLink()).toBe(true);
		const away = agentDir();
		symlinkSync(join(dir, "not mounted", "catalog"), away.catalog);
		await used();
		expect(namesIn(dir)).not.toContain("not mounted");
		expect(namesIn(away.agent)).toEqual(["session-catalog.sqlite", "sessions"]);
	});
});
