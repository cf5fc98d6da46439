import fs, { readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { testIf, testWith } from "../../../../__test__/support/windows.js";
import { loadAll } from "../../lib/index.js";
import { conformanceCases } from "../support/conformance.js";
import {
	append,
	emptyDirectory,
	entries,
	entry,
	failure,
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

/** The files below a path that are synced from now on, unless `onSync` fails. */
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

/** An append whose lines are written, but not synced. */
async function unsynchronised(path: string): Promise<void> {
	syncsBelow(path, (name) => {
		if (name === "datasync") throw systemError("EIO", "i/o error, fdatasync");
	});
	expect((await failure(append(openDirectory(path), entries("a", 1)))).code).toBe("unreachable");
}

// Regression: it found the lines, which were only in the system's memory, and resolved.
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

// Regression: it cut the log at its former end, so the lines that another process had stored since then were lost.
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

/**
 * As on a system that returns no types: a call that needs them reads the status of each file, and fails as a whole if
 * one is gone.
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

// Regression: the folder counted as empty, and one of two processes of a host lost an acknowledged line.
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

// Regression: another user of the directory could have new files created in any place.
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

// Regression: on Windows file systems without links the first appends of two hosts to a new store failed.
test("without second names, two hosts may create a store together", async () => {
	const path = emptyDirectory();
	const denied = systemError("EPERM", "operation not permitted");
	vi.spyOn(fs.promises, "link").mockRejectedValue(denied);
	vi.spyOn(fs.promises, "rename").mockImplementationOnce(async (from, to) => {
		// Not earlier, because the addon with the lock belongs to this system.
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

// Regression: Android refuses hard links with EACCES, and no append to a store succeeded there. Other systems refuse
// them with EPERM, as stress/stores.spec.ts does.
test.each(conformanceCases)("without second names: $name", async ({ run }) => {
	vi.spyOn(fs.promises, "link").mockRejectedValue(systemError("EACCES", "not supported"));
	const path = emptyDirectory();
	await run({ open: async (host) => openDirectory(path, host) });
});

testIf(process.platform === "linux", "file names are text")("a file name that is no text stops no list", async () => {
	const path = emptyDirectory();
	await append(openDirectory(path), entries("a", 1));
	writeFileSync(Buffer.concat([Buffer.from(`${join(path, dirname(logOf("a")))}/`), Buffer.from([0xff, 0xfe])]), "x");
	expect((await openDirectory(path).list()).sessions).toHaveLength(1);
});

/** The calls on files that are opened from now on read and write only a few bytes, as on a network drive. */
function inSmallSteps(...names: ("read" | "write")[]): void {
	changeOpenedFiles((file) => {
		for (const name of names) {
			const call = file[name].bind(file);
			file[name] = (bytes: Buffer, offset: number, length: number, at: number) =>
				call(bytes, offset, Math.min(length, 7), at);
		}
	});
}

// The check after the write would overwrite it with spaces; until then it would be there.
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

// Regression: where the system had not written the spaces yet, parts of the line stayed.
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
	const { lines, bytes } = await readLines(handle, 0);
	await handle.close();
	const whole = [header(), ...entries("a", 2)].map(String);
	expect([lines.map(String), bytes]).toEqual([whole, `${whole.join("\n")}\n`.length]);
});
