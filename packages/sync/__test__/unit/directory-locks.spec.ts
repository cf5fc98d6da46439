// How processes of one host exclude each other in a directory.
import { execFile, spawnSync } from "node:child_process";
import fs, { readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, expect, vi } from "vitest";
import { ownAgent } from "../../../../__test__/support/scratch.js";
import { testIf, testWith } from "../../../../__test__/support/windows.js";
import { DirectoryStore, loadAll } from "../../lib/index.js";
import {
	append,
	emptyDirectory,
	entries,
	entry,
	failure,
	header,
	ids,
	library,
	openDirectory,
	SESSION,
} from "../support/lines.js";
import { systemError } from "../support/opened-files.js";

afterEach(() => vi.restoreAllMocks());

// Regression: the name of the lock depended on the path by which the directory was opened, and two batches followed the
// same one.
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

/** Runs a command in its own network namespace. */
const APART = ["unshare", process.getuid?.() === 0 ? "-n" : "-rn"] as const;

const canBeApart = process.platform === "linux" && spawnSync(APART[0], [APART[1], "true"]).status === 0;

// Regression: the lock was a network address, and one process overwrote the other's lines.
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
		// Between the check of a log and the write.
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

// Regression: if the home is on a drive without locks, nothing could be stored, and no setting helped.
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
			/^Cannot lock .*-session-\d+: ENOLCK: .* \(if files there cannot be locked, make the directory session-stores\/locks a link/,
		),
	]);
	expect(error.message).toContain(join(locks, "locks"));
	expect(ids(await openDirectory(path).load(SESSION))).toEqual(["a0"]);
});
