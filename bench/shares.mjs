// How large the catalog is against the sessions: `node bench/shares.mjs [directory of sessions]`, by default the
// generated directory of 1,000 files. The catalog is made anew, in a directory of its own.
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { provide } from "./data.mjs";

const dir = process.argv[2] ? resolve(process.argv[2]) : provide("1,000 files").path;
const scratch = mkdtempSync(join(tmpdir(), "catalog-shares-"));
const catalog = join(scratch, "catalog.sqlite");
process.env.PI_SESSION_CATALOG = catalog;
const { SessionManager } = createRequire(import.meta.url)("../index.js");

const sizeOf = (path) => (existsSync(path) ? statSync(path).size : 0);

/** The catalog's size when nothing is written to it any more. */
async function quiet() {
	for (let before = ""; ; ) {
		const now = ["", "-wal"].map((ending) => (existsSync(catalog + ending) ? statSync(catalog + ending).mtimeMs : 0)).join();
		if (now === before) return sizeOf(catalog) + sizeOf(`${catalog}-wal`);
		before = now;
		await pause(2_000);
	}
}

try {
	const files = readdirSync(dir).filter((name) => name.endsWith(".jsonl"));
	const total = files.reduce((sum, name) => sum + sizeOf(join(dir, name)), 0);
	let letters = 0;
	for (const info of await SessionManager.listAll(dir)) letters += Buffer.byteLength(info.allMessagesText);
	const texts = await quiet();
	await SessionManager.search("a word that is nowhere", { sessionDir: dir });
	const whole = await quiet();
	const row = (name, bytes) => {
		const share = `${((100 * bytes) / total).toFixed(1)} %`;
		console.log(`${name.padEnd(34)}${(bytes / 1e6).toFixed(1).padStart(10)} MB ${share.padStart(8)}`);
	};
	row(`${files.length} session files`, total);
	row("what users and assistants said", letters);
	row("catalog with texts, after a list", texts);
	row("index, after a search", whole - texts);
	row("catalog", whole);
} finally {
	rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
}
