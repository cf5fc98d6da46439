// The Rust sources, for the tests of their rules.
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { root } from "./scratch.js";

export interface RustFile {
	/** The path from the repository's root. */
	path: string;
	text: string;
}

/** The sources of the core and of the boundary, as paths from the repository's root. */
export const CORE = "crates/session-core/src";
export const BOUNDARY = "src";

/** All Rust files of both. */
export const rust: RustFile[] = [CORE, BOUNDARY]
	.flatMap((folder) =>
		readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(root, folder, name)),
	)
	.filter((path) => path.endsWith(".rs"))
	.map((path) => ({ path: relative(root, path).replaceAll("\\", "/"), text: readFileSync(path, "utf8") }));

/**
 * The lines of a file that are not tests, numbered from 1. Tests are at the end of a file, in a `tests.rs`, or below
 * it.
 */
export function shipped({ path, text }: RustFile): [number, string][] {
	if (path.endsWith("/tests.rs") || path.includes("/tests/")) return [];
	const lines = text.split("\n");
	const end = lines.findIndex(
		(line, at) => line.startsWith("#[cfg(test)]") && /^(pub )?mod tests/.test(lines[at + 1] ?? ""),
	);
	return lines.slice(0, end < 0 ? undefined : end).map((line, at) => [at + 1, line]);
}

/** A line without its comment. */
export const code = (line: string): string => line.replace(/\/\/.*$/, "");
