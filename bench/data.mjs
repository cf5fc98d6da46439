// The sessions of the cases, generated at their first use and kept in bench/data under a name of their parameters.
import { createHash } from "node:crypto";
import {
	closeSync,
	existsSync,
	mkdirSync,
	openSync,
	readdirSync,
	readFileSync,
	readSync,
	renameSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { DEFAULTS, GENERATOR_VERSION, generateSession, sessionId } from "./generate.mjs";
import { seeded } from "./random.mjs";

const MIB = 1 << 20;

export const dataDir = join(dirname(fileURLToPath(import.meta.url)), "data");

/** Parameters of a session (see generate.mjs), or with `files` of a directory of sessions with `bytes` in all. */
export const DATA = {
	"1 MiB": { bytes: MIB },
	"4 MiB": { bytes: 4 * MIB },
	"10 MiB": { bytes: 10 * MIB },
	"128 MiB": { bytes: 128 * MIB },
	small: { entries: 21_000, sizes: "small", compactEvery: 0 },
	turn: { entries: 1_600 },
	"turn, uncompacted": { entries: 1_600, compactEvery: 0 },
	"128 MiB, ASCII": { bytes: 128 * MIB, wide: 0 },
	"512 MiB images": { bytes: 512 * MIB, images: 0.9 },
	"25 files": { files: 25, bytes: 40 * MIB },
	"1,000 files": { files: 1_000, bytes: 2_800 * MIB },
	"10,000 files": { files: 10_000, bytes: 11_000 * MIB },
};

/** Generates the data if it does not exist. Returns its path and its composition. */
export function provide(name) {
	const parameters = { ...DEFAULTS, ...DATA[name], version: GENERATOR_VERSION };
	const key = createHash("sha256").update(JSON.stringify(parameters)).digest("hex").slice(0, 8);
	const base = join(dataDir, `${name.replace(/[^A-Za-z0-9]+/g, "-")}-${key}`);
	const path = parameters.files ? base : `${base}.jsonl`;
	const notes = `${base}.json`;
	if (!existsSync(notes) || !existsSync(path)) {
		mkdirSync(dataDir, { recursive: true });
		const made = parameters.files ? generateDirectory(path, parameters) : generateSession(path, parameters);
		writeFileSync(notes, JSON.stringify(made));
	}
	return { path, made: JSON.parse(readFileSync(notes, "utf8")) };
}

/** Uneven sizes, as in real directories: many short sessions, and a few long ones. */
function generateDirectory(path, { files, bytes, seed, ...options }) {
	const random = seeded(seed);
	const weights = Array.from({ length: files }, () => 0.05 + random.exponential(1_000, 6_000) / 1_000);
	const whole = weights.reduce((sum, weight) => sum + weight, 0);
	const partial = `${path}.partial`;
	rmSync(partial, { recursive: true, force: true });
	mkdirSync(partial);
	const total = { files, lines: 0, bytes: 0 };
	for (const [index, weight] of weights.entries()) {
		const time = Date.UTC(2025, 0, 1) + index * 3_600_000;
		const stamp = new Date(time).toISOString().replace(/[:.]/g, "-");
		const fileSeed = seed * 10_000 + index;
		const file = join(partial, `${stamp}_${sessionId(fileSeed, time)}.jsonl`);
		const made = generateSession(file, { ...options, seed: fileSeed, bytes: Math.ceil((bytes * weight) / whole) });
		total.lines += made.lines;
		total.bytes += made.bytes;
	}
	rmSync(path, { recursive: true, force: true });
	renameSync(partial, path);
	return total;
}

/** Reads every file once, so that both sides read from the page cache. */
export function warmUp(path) {
	const files = statSync(path).isDirectory() ? readdirSync(path).map((file) => join(path, file)) : [path];
	const buffer = Buffer.allocUnsafe(4 * MIB);
	for (const file of files) {
		const fd = openSync(file, "r");
		while (readSync(fd, buffer) > 0);
		closeSync(fd);
	}
}
