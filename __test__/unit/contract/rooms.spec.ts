// The rooms of the core, the boundary and lib: which may import which. That the core imports nothing of the boundary is
// the compiler's business.
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

/** What a file imports of rooms above its own, or in a way that this test cannot read. */
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

test("a room imports only rooms that are before it, by paths from the crate", () => {
	expect(rust.length).toBeGreaterThan(100);
	expect(rust.flatMap(misplacedImports)).toEqual([]);
});

test.each([
	["crates/session-core/src/base/time.rs", "use crate::tree::Tree;"],
	["crates/session-core/src/base/time.rs", "fn now() { super::super::tree::clock() }"],
	["crates/session-core/src/base/time.rs", "use crate::{base::paths, tree::Tree};"],
	["src/engine/env.rs", "use crate::manager::state;"],
	["crates/session-core/src/attic/old.rs", ""],
])("an import of a higher room is found: %s, %s", (path, text) => {
	expect(misplacedImports({ path, text })).toHaveLength(1);
});

test("what is not such an import is not counted", () => {
	const text =
		"//! See [`crate::tree::tree`].\nuse crate::base::time;\nuse super::wtf8;\nuse std::fs;\n#[cfg(test)]\nmod tests { use crate::tree::Tree; }";
	expect(misplacedImports({ path: "crates/session-core/src/base/paths.rs", text })).toEqual([]);
});

/** The folders of lib, each with those whose files it may import. */
const LIB: Record<string, string[]> = {
	shared: [],
	takeover: [],
	cli: ["shared"],
	register: ["shared", "takeover"],
	extension: ["shared", "takeover"],
};

/** The folders of the package of stores, in the same way. What is in none of them may import all. */
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

/** What a file of `top` imports of another folder there that is not below its own. */
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

test("an import of a folder that is not below is found", () => {
	expect(misplacedModules("lib", LIB, "lib/register/x.mjs", `const { a } = await import("../cli/a.mjs");`)).toEqual([
		"lib/register/x.mjs: cli",
	]);
	expect(misplacedModules("lib", LIB, "lib/shared/x.js", `/** @typedef {import("../cli/a.js").A} A */`)).toEqual([
		"lib/shared/x.js: cli",
	]);
	expect(
		misplacedModules(
			"packages/sync/lib",
			SYNC,
			"packages/sync/lib/base/x.js",
			`require("../machine/a.js"); require("./b.js"); require("../index")`,
		),
	).toEqual(["packages/sync/lib/base/x.js: machine"]);
});

const architecture = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");

const picture = /^```mermaid\n([\s\S]*?)^```$/m.exec(architecture)?.[1] ?? "";
const chains = picture
	.split("\n")
	.filter((line) => line.includes("-->") && !line.includes("boundary"))
	.map((line) => line.split("-->").map((room) => room.trim()));

test("an arrow of the picture is an import, and every other import follows from the arrows", () => {
	const imported = rust.flatMap((file) => {
		const { half, inHalf } = placeOf(file.path);
		const rooms = ROOMS[half];
		const own = inHalf.split("/")[0] ?? "";
		const named = shipped(file).flatMap(([, line]) =>
			[...code(line).matchAll(/\bcrate::(\w+)/g)].map(([, room]) => room ?? ""),
		);
		return rooms.includes(own)
			? named.filter((room) => room !== own && rooms.includes(room)).map((room) => `${own} ${room}`)
			: [];
	});
	const drawn = chains.flatMap((chain) => chain.slice(1).map((room, at) => `${chain[at]} ${room}`));
	const reached = (from: string): string[] =>
		drawn
			.filter((arrow) => arrow.startsWith(`${from} `))
			.flatMap((arrow) => [arrow.split(" ")[1] as string, ...reached(arrow.split(" ")[1] as string)]);
	expect(drawn.filter((arrow) => !imported.includes(arrow))).toEqual([]);
	expect(
		[...new Set(imported)].filter(
			(arrow) => !reached(arrow.split(" ")[0] as string).includes(arrow.split(" ")[1] as string),
		),
	).toEqual([]);
});

test("ARCHITECTURE.md has every room, in the order of the list, in its tables and its picture", () => {
	const [core, boundary] = [CORE, BOUNDARY].map(
		(folder) => architecture.split(`### ${folder}, lowest room first`)[1]?.split("\n\n")[1] ?? "",
	);
	const rowsOf = (table = ""): string[] => [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, room]) => room as string);
	expect({ core: rowsOf(core), boundary: rowsOf(boundary) }).toEqual(ROOMS);
	expect(new Set(chains.flat())).toEqual(new Set([...ROOMS.core, ...ROOMS.boundary]));
	const order = [...ROOMS.core, ...ROOMS.boundary];
	for (const chain of chains) {
		const places = chain.map((room) => order.indexOf(room));
		expect(places, chain.join(" --> ")).toEqual([...places].sort((a, b) => b - a));
	}
});

test("the files that ARCHITECTURE.md and docs/durability.md name are there", () => {
	const named = [architecture, readFileSync(join(root, "docs/durability.md"), "utf8")].flatMap((text) =>
		[...text.matchAll(/`([\w./-]+\/[\w.-]+\.(?:rs|js|mjs|ts|md))`/g)].map(([, path]) => path as string),
	);
	expect(named.length).toBeGreaterThan(60);
	const missing = named.filter((path) => !["", CORE, BOUNDARY].some((folder) => existsSync(join(root, folder, path))));
	expect(missing).toEqual([]);
});

test("a listed session's fields in Rust are the parameters of the function that makes its object", () => {
	const rust =
		readFileSync(join(root, "src/lists/info.rs"), "utf8").match(/struct Listed<'a> \{([\s\S]*?)\n\}/)?.[1] ?? "";
	const fields = [...rust.matchAll(/^ {4}(\w+): /gm)].map(([, name]) =>
		(name as string).replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
	);
	const parameters = readFileSync(join(root, "src/factory/lists.js"), "utf8")
		.match(/\binfo\(([^)]*)\) \{/)?.[1]
		?.split(",")
		.map((name) => name.trim())
		.filter((name) => name !== "");
	expect(fields.length).toBeGreaterThan(9);
	expect(parameters).toEqual(fields);
});
