// Moves stored sessions to another project: a remote that was renamed gives its sessions another name.
//
// A store keeps the project of the host that appended first. So a session is deleted and stored again. It is kept in a file of this machine
// meanwhile, from which a move that was stopped goes on. Other hosts notice that as a store that was set back, and compare everything.
const { createHash } = require("node:crypto");
const { promises: fs } = require("node:fs");
const { join } = require("node:path");
const { readAddress } = require("./address.js");
const { StoreError } = require("./errors.js");
const { loadAll } = require("./load-all.js");
const { checkId, idOf, nameOf } = require("./names.js");
const { readHeader, readLines } = require("./session-file.js");

/** @typedef {import("./index").LineStore} LineStore */

/**
 * Moves a project's sessions, and those of moves that were stopped. Gives each session's id when it is moved.
 * @param {LineStore} store
 * @param {{ from: string, to: string, notes: string, address: string }} options `notes`: the directory of this machine's notes; `address` of the store
 * @returns {AsyncGenerator<string>}
 */
async function* moveSessions(store, { from, to, notes, address }) {
	const folder = join(notes, `moving-${createHash("sha256").update(readAddress(address).identity).digest("hex").slice(0, 16)}`);
	await fs.mkdir(folder, { recursive: true, mode: 0o700 });
	for (const name of (await fs.readdir(folder)).filter((name) => name.endsWith(".jsonl"))) {
		const session = idOf(name.slice(0, -".jsonl".length));
		if (session === undefined) continue;
		await storeAgain(store, session, to, join(folder, name));
		yield session;
	}
	for (const { session } of (await store.list({ project: from })).sessions) {
		const file = join(folder, `${nameOf(checkId(session, "session"))}.jsonl`);
		await keep(store, session, file);
		await store.delete(session);
		await storeAgain(store, session, to, file);
		yield session;
	}
}

/** Writes what is stored to a file. @param {LineStore} store @param {string} session @param {string} file */
async function keep(store, session, file) {
	const page = await loadAll(store, session);
	const [stored] = (await store.list({ session })).sessions;
	const [problem] = page.problems;
	if (problem) throw new StoreError("failed", `Session ${session} is not moved: ${problem.where}: ${problem.message}`);
	if (!stored) throw new StoreError("not-found", `Session ${session} is not in the store any more`);
	const draft = `${file}.draft`;
	const handle = await fs.open(draft, "w", 0o600);
	try {
		await handle.writeFile(Buffer.concat([stored.header, ...page.lines.map(({ line }) => line)].flatMap((line) => [line, Buffer.from("\n")])));
		await handle.sync();
	} finally {
		await handle.close();
	}
	await fs.rename(draft, file);
}

/** @param {LineStore} store @param {string} session @param {string} project @param {string} path */
async function storeAgain(store, session, project, path) {
	const file = await fs.open(path);
	try {
		const { line: header } = await readHeader(file);
		let after;
		for (let offset = header.length + 1, isMore = true; isMore; ) {
			const { lines, bytes, goesOn } = await readLines(file, offset);
			if (lines.length > 0) ({ cursor: after } = await store.append(session, { header, lines, project, after, restores: true }));
			offset += bytes;
			isMore = goesOn && bytes > 0;
		}
	} finally {
		await file.close();
	}
	await fs.rm(path);
}

exports.moveSessions = moveSessions;
