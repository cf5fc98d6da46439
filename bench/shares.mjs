// Compares the size of the catalog with the sessions: `node bench/shares.mjs [directory of sessions]`, by default the
// generated directory of 1,000 files. It creates a new catalog in a temporary directory.
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { provide } from "./data.mjs";

const dir = process.argv[2] ? resolve(process.argv[2]) : provide("1,000 files").path;
const scratch = mkdtempSync(join(tmpdir(), "catalog-shares-"));
const catalog = join(scratch, "catalog.sqlite");
process.env.PI_SESSION_NATIVE_CATALOG = catalog;
const { SessionManager } = createRequire(import.meta.url)("../index.js");

const sizeOf = (path) => (existsSync(path) ? statSync(path).size : 0);

try {
	const files = readdirSync(dir).filter((name) => name.endsWith(".jsonl"));
	const total = files.reduce((sum, name) => sum + sizeOf(join(dir, name)), 0);
	await SessionManager.listAll(dir);
	const whole = sizeOf(catalog) + sizeOf(`${catalog}-wal`);
	const row = (name, bytes) => {
		const share = `${((100 * bytes) / total).toFixed(1)} %`;
		console.log(`${name.padEnd(34)}${(bytes / 1e6).toFixed(1).padStart(10)} MB ${share.padStart(8)}`);
	};
	row(`${files.length} session files`, total);
	row("catalog", whole);
} finally {
	rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
}
