// Compares the files of the two sides.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync } from "node:fs";
import { join, resolve } from "node:path";
import { attempt, Difference } from "./compare.js";
import { NON_ENTRY_ID, STAND_IN_TYPE } from "./names.js";
import { Random } from "./random.js";
import type { Side } from "./side.js";

interface Tree {
	files: string[];
	dirs: string[];
}

/** All files below the side's folder, by full path. */
function tree(side: Side): Tree {
	const result: Tree = { files: [], dirs: [] };
	const walk = (dir: string) => {
		for (const item of readdirSync(dir, { withFileTypes: true })) {
			const path = join(dir, item.name);
			if (item.isDirectory()) {
				result.dirs.push(path);
				walk(path);
				// Only we have the catalog beside the sessions, on purpose.
			} else if (!item.name.startsWith("session-catalog")) result.files.push(path);
		}
	};
	walk(side.root);
	return result;
}

export function sessionFiles(side: Side): string[] {
	return tree(side).files.filter((path) => path.endsWith(".jsonl"));
}

/**
 * Sets a different time for each session file, the same on both sides, because searches and lists use it for their
 * order.
 */
export function stampFiles(side: Side, seed: number): void {
	const byName = new Map(sessionFiles(side).map((path) => [side.names.normalise(path), path]));
	const order = new Random(seed).shuffle([...byName.keys()].sort());
	for (const [i, name] of order.entries())
		utimesSync(byName.get(name) as string, 1600000000 + i * 10, 1600000000 + i * 10);
}

/**
 * After a failed call, our side need not have the folders that the reference created before the error, but it must have
 * later ones.
 */
export function forgiveFolders(reference: Side, ours: Side): void {
	for (const dir of tree(reference).dirs) {
		const counterpart = ours.names.resolve(reference.names.normalise(dir));
		if (existsSync(counterpart)) continue;
		mkdirSync(counterpart, { recursive: true });
		ours.written.add(counterpart);
	}
}

function isBackup(path: string): boolean {
	return path.endsWith(".v1.bak");
}

/** Compares all files. */
export function compareTrees(reference: Side, ours: Side, rules: { hostile: boolean; better: boolean }): void {
	const [left, right] = [tree(reference), tree(ours)];
	const names = (side: Side, paths: string[]) =>
		paths
			.filter((path) => !isBackup(path))
			.map((path) => side.names.normalise(path))
			.sort();
	for (const kind of ["dirs", "files"] as const) {
		const [a, b] = [names(reference, left[kind]).join("\n"), names(ours, right[kind]).join("\n")];
		if (a !== b) throw new Difference(`the ${kind} on disk`, a, b);
	}
	for (const path of left.files) compareFile(reference, path, ours, rules);
	if (rules.better) {
		for (const path of right.files) checkMode(ours, path, 0o600);
		for (const path of right.dirs) checkMode(ours, path, 0o700);
		for (const [path, bytes] of ours.originals) checkOriginal(ours, path, bytes);
	}
}

/** docs/moving-from-pi.md, "new files and directories". */
function checkMode(ours: Side, path: string, mode: number): void {
	if (ours.written.has(path) || isBackup(path)) return;
	const actual = statSync(path).mode & 0o777;
	if (actual !== mode)
		throw new Difference(`the mode of ${ours.names.normalise(path)}`, mode.toString(8), actual.toString(8));
}

/** Compares one session file. `path` is its path on the reference's side. */
export function compareFile(reference: Side, path: string, ours: Side, rules: { hostile: boolean }): void {
	const name = reference.names.normalise(path);
	const referencePath = resolve(reference.root, path);
	// A folder given as a relative path stays relative.
	const ourPath = resolve(ours.root, ours.names.resolve(name));
	const left = existsSync(referencePath) ? readFileSync(referencePath, "utf8") : undefined;
	const right = existsSync(ourPath) ? readFileSync(ourPath, "utf8") : undefined;
	const what = `the content of ${name}`;
	if (left === undefined || right === undefined) {
		if (left !== right)
			throw new Difference(what, left === undefined ? "no file" : "a file", right === undefined ? "no file" : "a file");
		return;
	}
	if (reference.names.normalise(left) === ours.names.normalise(right)) return;
	// Entries that were not read yet may have ids without a name.
	registerIds(reference, left);
	registerIds(ours, right);
	const [a, b] = [reference.names.normalise(left), ours.names.normalise(right)];
	if (a === b) return;
	if (!rules.hostile) throw new Difference(what, a, b);
	compareLines(what, entryLines(reference, left, new Set()), entryLines(ours, right, ours.junk));
}

function registerIds(side: Side, text: string): void {
	for (const line of text.split("\n")) {
		if (side.junk.has(line)) continue;
		const parsed = attempt(() => JSON.parse(line) as { id?: unknown } | null);
		if ("value" in parsed) side.names.register(parsed.value?.id);
	}
}

function compareLines(what: string, left: string[], right: string[]): void {
	for (let i = 0; i < Math.max(left.length, right.length); i++) {
		if (left[i] !== right[i]) throw new Difference(`${what}, value ${i}`, left[i] ?? "no line", right[i] ?? "no line");
	}
}

/**
 * The lines that come from a hostile file, as values, because pi rewrites a line that it has read, and ours may keep
 * its bytes. Lines that are not entries are omitted, because we keep some that the reference drops
 * (docs/moving-from-pi.md, "a line that is not an entry").
 */
function entryLines(side: Side, text: string, junk: ReadonlySet<string>): string[] {
	const result: string[] = [];
	for (const line of text.split("\n")) {
		if (junk.has(line)) continue;
		const parsed = attempt(() => JSON.parse(line) as unknown);
		if (!("value" in parsed) || typeof parsed.value !== "object" || parsed.value === null) continue;
		if ((parsed.value as { id?: unknown }).id === NON_ENTRY_ID) continue;
		result.push(
			side.names.normalise(JSON.stringify(parsed.value)).replace(`"type":"${STAND_IN_TYPE}"`, '"type":"message"'),
		);
	}
	return result;
}

/**
 * A file that existed before the module opened it. Either it still begins with its old bytes, followed by appended
 * lines (docs/moving-from-pi.md, "opening a file whose last line has no newline"). Or it was migrated: then the backup
 * contains the old bytes, and each damaged line has the same place.
 */
function checkOriginal(ours: Side, path: string, bytes: Buffer): void {
	const now = readFileSync(path);
	if (now.subarray(0, bytes.length).equals(bytes)) return;
	const what = ours.names.normalise(path);
	// An empty file gets its header at once.
	const backup = `${path}.v1.bak`;
	if (!existsSync(backup))
		throw new Difference(
			`${what} was rewritten`,
			"the bytes of before at its head, or a backup",
			now.toString("latin1").slice(0, 200),
		);
	if (!readFileSync(backup).equals(bytes))
		throw new Difference(`the backup of ${what}`, bytes.toString("latin1"), readFileSync(backup).toString("latin1"));
	const before = shape(bytes, ours.junk);
	const after = shape(now, ours.junk).slice(0, before.length);
	if (before.join("\n") !== after.join("\n"))
		throw new Difference(`damaged lines of ${what} after migration`, before.join("\n"), after.join("\n"));
}

/** One item per line: `entry`, or the text of a line that is not an entry. Blank lines do not count. */
function shape(bytes: Buffer, junk: ReadonlySet<string>): string[] {
	return bytes
		.toString("latin1")
		.split("\n")
		.filter((line) => Buffer.from(line, "latin1").toString("utf8").trim() !== "")
		.map((line) => {
			const text = Buffer.from(line, "latin1").toString("utf8");
			const parsed = attempt(() => JSON.parse(text) as unknown);
			const isEntry = "value" in parsed && typeof parsed.value === "object" && parsed.value !== null && !junk.has(text);
			return isEntry ? "entry" : line;
		});
}
