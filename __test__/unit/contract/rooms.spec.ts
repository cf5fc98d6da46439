// The rooms of src/core and src/js: which may import which (`node scripts/rooms.mjs`).
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { importProblems, readSources, ROOMS } from "../../../scripts/rooms.mjs";

const root = resolve(__dirname, "../../..");

/** Sources of these texts; paths are below `src`. */
const sources = (files: Record<string, string>): Map<string, string> => new Map(Object.entries(files).map(([path, text]) => [`src/${path}`, text]));

test("no room imports one that comes after it, and no files import each other", () => {
	const all = readSources(root);
	expect(all.size).toBeGreaterThan(100);
	expect(importProblems(all)).toEqual([]);
});

test("every room of the list is a directory", () => {
	const folders = new Set([...readSources(root).keys()].map((path) => path.split("/").slice(1, 3).join("/")));
	for (const half of ["core", "js"] as const) for (const room of ROOMS[half]) expect(folders).toContain(`${half}/${room}`);
});

test.each([
	["a use line", { "core/base/time.rs": "use crate::core::tree::tree::Tree;", "core/tree/tree.rs": "" }],
	["one of a group", { "core/base/time.rs": "use crate::core::{\n\tbase::paths,\n\ttree::{tree::{self, Tree}},\n};", "core/base/paths.rs": "", "core/tree/tree.rs": "" }],
	["a path in the code", { "core/base/time.rs": "fn now() -> u64 { super::super::tree::tree::clock() }", "core/tree/tree.rs": "" }],
	["a path that begins with an imported folder", { "core/base/time.rs": "use crate::core::tree;\nfn now() { tree::tree::clock() }", "core/tree/mod.rs": "pub mod tree;", "core/tree/tree.rs": "" }],
	["a name that a folder passes on", { "core/base/time.rs": "use crate::core::tree::Tree;", "core/tree/mod.rs": "mod tree;\npub use tree::Tree;", "core/tree/tree.rs": "" }],
	["a method that a higher room adds", {
		"core/base/time.rs": "pub struct Time;\nimpl Time { pub fn now(&self) { self.place() } }",
		"core/tree/tree.rs": "use crate::core::base::time::Time;\nimpl Time { pub fn place(&self) {} }",
	}],
	["the boundary, from the core", { "core/tree/tree.rs": "use crate::js::api::manager::SessionManager;", "js/api/manager.rs": "" }],
	["a macro's path", { "core/base/time.rs": "macro_rules! tree { () => { $crate::core::tree::tree::Tree } }", "core/tree/tree.rs": "" }],
])("an upward import is found: %s", (_, files) => {
	expect(importProblems(sources(files)).filter((problem) => problem.startsWith("upward: "))).not.toEqual([]);
});

test.each([
	["use lines", { "core/tree/tree.rs": "use super::labels::Labels;", "core/tree/labels.rs": "use super::tree::Tree;" }],
	["three files", { "core/tree/a.rs": "use super::b::B;", "core/tree/b.rs": "use super::c::C;", "core/tree/c.rs": "use super::a::A;" }],
	["a parent and its child", { "core/tree/tree.rs": "mod rows;\nfn make() { rows::make() }", "core/tree/tree/rows.rs": "use super::Tree;" }],
	["a method of a shared type", {
		"core/session/session.rs": "pub struct Session<'a> { tail: &'a u8 }\nimpl<'a> Session<'a> { fn open(&self) { self.append(1) } }",
		"core/session/append.rs": "use super::session::Session;\nimpl Session<'_> { pub fn append(&self, _: u8) {} }",
	}],
	["a method called on a value", {
		"core/session/session.rs": "pub struct Session;\nfn close(session: &mut Session) { session.append(1) }",
		"core/session/append.rs": "use super::session::Session;\nimpl Session { pub fn append(&self, _: u8) {} }",
	}],
])("a cycle of imports is found: %s", (_, files) => {
	expect(importProblems(sources(files)).filter((problem) => problem.startsWith("cycle: "))).toHaveLength(1);
});

test("what is not an import is not counted: comments, texts, tests, other crates, methods of another type", () => {
	const files = {
		"core/base/time.rs": [
			"//! See [`crate::core::tree::tree`].",
			"/* use crate::core::tree::tree::Tree; /* nested */ */",
			'const TEXT: &str = "crate::core::tree::tree";',
			'const RAW: &str = r#"use crate::core::tree::tree::Tree; ""#;',
			"const QUOTE: char = '\"';",
			"use std::fs;",
			"fn read<'a>(tree: &'a u8) { fs::read(tree); other.place() }",
			"#[cfg(test)]",
			"use crate::core::tree::tree::Tree;",
			"#[cfg(test)]",
			"mod tests;",
			"#[cfg(test)]",
			"mod more { use crate::core::tree::tree::Tree; }",
		].join("\n"),
		"core/base/time/tests.rs": "use crate::core::tree::tree::Tree;",
		"core/tree/tree.rs": "pub use crate::core::base::time::read;\nimpl Tree { fn place(&self) {} }",
	};
	expect(importProblems(sources(files))).toEqual([]);
});

test("a file in no room is named", () => {
	expect(importProblems(sources({ "core/attic/old.rs": "" }))).toEqual(["src/core/attic/old.rs is in no room of the list in scripts/rooms.mjs"]);
});

const architecture = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");

test("ARCHITECTURE.md has every room, in the order of the imports, in its tables and its picture", () => {
	const [core, js] = ["core", "js"].map((half) => architecture.split(`### src/${half}, lowest room first`)[1]?.split("\n\n")[1] ?? "");
	const rowsOf = (table = ""): string[] => [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, room]) => room as string);
	expect({ core: rowsOf(core), js: rowsOf(js) }).toEqual(ROOMS);
	const picture = /^```mermaid\n([^]*?)^```$/m.exec(architecture)?.[1] ?? "";
	const chains = picture.split("\n").filter((line) => line.includes("-->") && !line.includes("boundary")).map((line) => line.split("-->").map((room) => room.trim()));
	expect(new Set(chains.flat())).toEqual(new Set([...ROOMS.core, ...ROOMS.js]));
	const order = [...ROOMS.core, ...ROOMS.js];
	for (const chain of chains) {
		const places = chain.map((room) => order.indexOf(room));
		expect(places, chain.join(" --> ")).toEqual([...places].sort((a, b) => b - a));
	}
});

test("the files that ARCHITECTURE.md and docs/durability.md name are there", () => {
	const named = [architecture, readFileSync(join(root, "docs/durability.md"), "utf8")].flatMap((text) => [...text.matchAll(/`([\w./-]+\/[\w.-]+\.(?:rs|js|mjs|ts|md))`/g)].map(([, path]) => path as string));
	expect(named.length).toBeGreaterThan(60);
	const missing = named.filter((path) => !["", "src/core", "src/js"].some((folder) => existsSync(join(root, folder, path))));
	expect(missing).toEqual([]);
});
