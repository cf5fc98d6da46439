// The imports between the rooms of the core, the boundary and lib. The compiler ensures that the core imports nothing
// from the boundary.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { expect, test } from "vitest";
import { BOUNDARY, CORE, code, type RustFile, rust, shipped } from "../../support/rust.js";
import { root } from "../../support/scratch.js";

/** The folders of each half, lowest first. */
const ROOMS = {
	core: [
		"base",
		"json",
		"io",
		"locks",
		"format",
		"lines",
		"storage",
		"summary",
		"tree",
		"context",
		"index",
		"rewrite",
		"session",
		"catalog",
		"listing",
		"search",
	],
	boundary: ["engine", "factory", "convert", "manager", "lists", "api"],
};

/** Folders that are not part of the addon. */
const APART = ["testing"];

/** The half that a file belongs to, and its path there. */
function placeOf(path: string): { half: keyof typeof ROOMS; inHalf: string } {
	return path.startsWith(`${CORE}/`)
		? { half: "core", inHalf: path.slice(CORE.length + 1) }
		: { half: "boundary", inHalf: path.slice(BOUNDARY.length + 1) };
}

/** The imports of a file from higher rooms, and imports that this test cannot read. */
function misplacedImports(file: RustFile): string[] {
	const { half, inHalf } = placeOf(file.path);
	const folders = inHalf.split("/");
	const order = ROOMS[half];
	const own = order.indexOf(folders[0] ?? "");
	if (own < 0)
		return folders.length > 1 && !APART.includes(folders[0] ?? "") ? [`${file.path} is in no room of the list`] : [];
	// A module that is the file of a folder (`mod.rs`) is one level higher.
	const levels = folders.length - (folders.at(-1) === "mod.rs" ? 2 : 1);
	return shipped(file).flatMap(([number, line]) => {
		const text = code(line);
		const rooms = [...text.matchAll(/\bcrate::(\w+)/g)].map(([, room]) => order.indexOf(room ?? ""));
		const climbs = [...text.matchAll(/(?:super::)+/g)].map(([supers]) => supers.length / "super::".length);
		const wrong =
			rooms.some((room) => room > own) || climbs.some((steps) => steps > levels) || text.includes("crate::{");
		return wrong ? [`${file.path}:${number}: ${line.trim()}`] : [];
	});
}

test("a room imports only lower rooms", () => {
	expect(rust.length).toBeGreaterThan(100);
	expect(rust.flatMap(misplacedImports)).toEqual([]);
});

/** The folders of lib, each with the folders from which it may import. */
const LIB: Record<string, string[]> = {
	shared: [],
	takeover: [],
	cli: ["shared"],
	register: ["shared", "takeover"],
	extension: ["shared", "takeover"],
};

/** The same for the folders of the package of stores. A file outside of them may import everything. */
const SYNC: Record<string, string[]> = {
	base: [],
	machine: ["base"],
	logs: ["base", "machine"],
	postgres: ["base", "machine"],
	sync: ["base", "machine"],
	beside: ["base", "machine", "sync"],
	cli: ["base", "machine", "logs", "sync"],
	extension: ["base", "machine", "cli", "beside"],
};

/** The imports of a file in `top` from other folders that are not below its own. */
function misplacedModules(top: string, folders: Record<string, string[]>, path: string, text: string): string[] {
	const folderOf = (file: string): string | undefined => {
		const parts = posix.relative(top, file).split("/");
		return parts.length > 1 && parts[0] !== ".." ? parts[0] : undefined;
	};
	const own = folderOf(path);
	if (own === undefined) return [];
	const imported = [...text.matchAll(/(?:from |import\(|require\()["'](\.[\w./-]+)["']/g)].map(([, named]) =>
		folderOf(posix.join(posix.dirname(path), named as string)),
	);
	const misplaced = imported.filter((other) => other !== undefined && other !== own && !folders[own]?.includes(other));
	return misplaced.map((other) => `${path}: ${other}`);
}

test.each<[string, Record<string, string[]>, number]>([
	["lib", LIB, 50],
	["packages/sync/lib", SYNC, 40],
])("a folder of %s imports only those below it", (top, folders, count) => {
	expect(
		readdirSync(join(root, top), { withFileTypes: true })
			.filter((one) => one.isDirectory())
			.map(({ name }) => name)
			.sort(),
	).toEqual(Object.keys(folders).sort());
	const files = readdirSync(join(root, top), { recursive: true, encoding: "utf8" })
		.filter((name) => /[\\/].*\.(?:m?js|d\.ts)$/.test(name))
		.map((name) => `${top}/${name.replaceAll("\\", "/")}`);
	expect(files.length).toBeGreaterThan(count);
	expect(files.flatMap((path) => misplacedModules(top, folders, path, readFileSync(join(root, path), "utf8")))).toEqual(
		[],
	);
});

const architecture = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");

test("ARCHITECTURE.md has a row for every room, in order", () => {
	const [core, boundary] = [CORE, BOUNDARY].map(
		(folder) => architecture.split(`### ${folder}, lowest room first`)[1]?.split("\n\n")[1] ?? "",
	);
	const rowsOf = (table = ""): string[] => [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, room]) => room as string);
	expect({ core: rowsOf(core), boundary: rowsOf(boundary) }).toEqual(ROOMS);
});

test("the files that ARCHITECTURE.md and docs/durability.md name are there", () => {
	const named = [architecture, readFileSync(join(root, "docs/durability.md"), "utf8")].flatMap((text) =>
		[...text.matchAll(/`([\w./-]+\/[\w.-]+\.(?:rs|js|mjs|ts|md))`/g)].map(([, path]) => path as string),
	);
	expect(named.length).toBeGreaterThan(60);
	const missing = named.filter(
		(path) => !["", CORE, BOUNDARY, "lib"].some((folder) => existsSync(join(root, folder, path))),
	);
	expect(missing).toEqual([]);
});
