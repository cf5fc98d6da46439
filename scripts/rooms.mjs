// Checks how the Rust sources import each other: `node scripts/rooms.mjs [root]`.
//
// A folder of src/core or src/js is a room. A room may import rooms that are before it in the order below, never one
// that is after it, and no two files may import each other, directly or through others. An import is a `use` line,
// a path in the code (`crate::…`, `super::…`, or one that begins with an imported module), or the call of a method
// that another file adds to a type (`impl Type` outside of the file that defines it). Tests are not read.
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The rooms of each half, lowest first. `src/js` may import all of `src/core`, which imports nothing of `src/js`. */
export const ROOMS = {
	core: ["base", "json", "format", "io", "storage", "summary", "tree", "context", "index", "transcript", "rewrite", "session", "catalog", "listing", "search"],
	js: ["engine", "factory", "convert", "manager", "lists", "api"],
};

/** The sources below a root, by path from there. */
export function readSources(root) {
	const names = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" });
	const rust = names.map((name) => `src/${name.replaceAll("\\", "/")}`).filter((name) => name.endsWith(".rs"));
	return new Map(rust.map((name) => [name, readFileSync(join(root, name), "utf8")]));
}

/** What is wrong with the imports of these sources, one sentence each. `sources` maps paths (`src/core/…`) to texts. */
export function importProblems(sources) {
	const files = shippedFiles(sources);
	const imports = [...importsOf(files), ...methodCalls(files)];
	const misplaced = [...files.values()].filter(({ half, room }) => half && room !== undefined && !ROOMS[half].includes(room));
	const upward = new Map(imports.filter(isUpward).map((one) => [`${one.from.path}:${one.line} imports ${one.to.path}`, one.what]));
	return [
		...misplaced.map(({ path }) => `${path} is in no room of the list in scripts/rooms.mjs`),
		...[...upward].map(([found, what]) => `upward: ${found} (${what})`),
		...importCycles(imports),
	];
}

/** Whether an import leads to a room that is after the importing one. */
function isUpward({ from, to }) {
	if (from.half !== to.half) return from.half === "core";
	if (from.room === undefined || from.room === to.room) return false;
	const order = ROOMS[from.half];
	return to.room === undefined || order.indexOf(to.room) > order.indexOf(from.room);
}

/** Every file that reaches the addon, without its tests and with comments and texts blanked. */
function shippedFiles(sources) {
	const files = new Map();
	const tests = new Set();
	for (const [path, source] of sources) {
		const { text, testModules } = withoutTests(blank(source));
		const module = path.replace(/^src\//, "").replace(/\.rs$/, "").replace(/(^|\/)(mod|lib)$/, "").split("/").filter(Boolean);
		for (const name of testModules) tests.add([...module, name].join("::"));
		const half = module[0] === "core" || module[0] === "js" ? module[0] : undefined;
		const room = half && path.split("/").length > 3 ? module[1] : undefined;
		files.set(module.join("::"), { path, module, half, room, text, inner: innerModules(text), uses: usesOf(text) });
	}
	for (const key of [...files.keys()]) if ([...tests].some((test) => key === test || key.startsWith(`${test}::`))) files.delete(key);
	return files;
}

/** Replaces comments, texts and characters by spaces; line breaks stay. */
function blank(source) {
	const token = /\/\/[^\n]*|\/\*|\bb?r(#*)"[\s\S]*?"\1|\b[bc]?"(?:\\[\s\S]|[^"\\])*"|"(?:\\[\s\S]|[^"\\])*"|b?'(?:\\(?:u\{\w+\}|x\w\w|[\s\S])|[^'\\\n])'/g;
	let text = "";
	let at = 0;
	for (let found = token.exec(source); found; found = token.exec(source)) {
		let end = token.lastIndex;
		if (found[0] === "/*") {
			const edge = /\/\*|\*\//g;
			edge.lastIndex = end;
			for (let depth = 1; depth > 0; ) {
				const next = edge.exec(source);
				depth += next === null ? -depth : next[0] === "/*" ? 1 : -1;
				end = next === null ? source.length : edge.lastIndex;
			}
		}
		text += source.slice(at, found.index) + source.slice(found.index, end).replace(/[^\n]/g, " ");
		at = token.lastIndex = end;
	}
	return text + source.slice(at);
}

/** Blanks items under `#[cfg(test)]`, and tells the modules among them that are in files of their own. */
function withoutTests(source) {
	const testModules = [];
	let text = source;
	for (const { index } of source.matchAll(/#\[cfg\((?:all\()?test\b/g)) {
		let at = index;
		while (/^\s*#\[/.test(text.slice(at))) at = closing(text, text.indexOf("[", at)) + 1;
		const start = at + /^\s*/.exec(text.slice(at))[0].length;
		const module = /^(?:pub(?:\([^)]*\))? )?mod (\w+);/.exec(text.slice(start));
		if (module) testModules.push(module[1]);
		const isItem = /^(?:pub\b|unsafe|extern|fn|mod|use|struct|enum|impl|trait|static|const|type|macro_rules)/.test(text.slice(start));
		let end = start;
		for (; end < text.length; end++) {
			const sign = text[end];
			if (sign === ";" || (sign === "," && !isItem)) break;
			if ("([{".includes(sign)) end = closing(text, end);
			else if (")]}".includes(sign)) break;
			if (sign === "{" && !/^\s*[;.?]/.test(text.slice(end + 1))) break;
		}
		text = text.slice(0, index) + text.slice(index, end + 1).replace(/[^\n]/g, " ") + text.slice(end + 1);
	}
	return { text, testModules };
}

/** Where the bracket at `open` is closed. */
function closing(text, open) {
	let depth = 0;
	for (let at = open; at < text.length; at++) {
		if ("([{".includes(text[at])) depth++;
		else if (")]}".includes(text[at]) && --depth === 0) return at;
	}
	return text.length;
}

/** Modules that are written inside of a file, as ranges. */
function innerModules(text) {
	return [...text.matchAll(/\bmod (\w+) \{/g)].map(({ 0: head, 1: name, index }) => ({ name, start: index, end: closing(text, index + head.length - 1) }));
}

/** The paths that `use` lines name: `{ path, name, at }`, `name` being what the file calls it. */
function usesOf(text) {
	const uses = [];
	for (const { 0: whole, 1: tree, index } of text.matchAll(/\buse ([^;]+);/g)) expand(tree, [], index + whole.indexOf(tree), uses);
	return uses;
}

function expand(tree, prefix, at, uses) {
	const [, head, group] = /^([^{]*?)(?:\{([\s\S]*)\})?\s*$/.exec(tree);
	const [path, alias] = head.trim().split(/\s+as\s+/);
	const segments = [...prefix, ...path.split("::").map((one) => one.trim()).filter(Boolean)];
	if (group === undefined) {
		if (segments.at(-1) === "self") segments.pop();
		return void uses.push({ path: segments, name: alias ?? segments.at(-1), at: at + /^\s*/.exec(tree)[0].length });
	}
	let start = 0;
	for (let end = 0, depth = 0; end <= group.length; end++) {
		if (group[end] === "{") depth++;
		else if (group[end] === "}") depth--;
		if (end < group.length && (group[end] !== "," || depth > 0)) continue;
		const part = group.slice(start, end);
		if (part.trim()) expand(part, segments, at + tree.indexOf("{") + 1 + start, uses);
		start = end + 1;
	}
}

/** Imports by `use` lines and by paths in the code. */
function importsOf(files) {
	const imports = [];
	for (const from of files.values()) {
		const add = (path, at) => {
			for (const to of targets(files, from, absolute(from, path, at))) {
				if (to !== from) imports.push({ from, to, line: lineOf(from.text, at), what: path.join("::") });
			}
		};
		for (const { path, at } of from.uses) add(path, at);
		for (const { 0: path, index } of from.text.matchAll(/(?<![\w:$])\$?(?:crate|super|self)(?:::\w+)+/g)) add(path.replace("$", "").split("::"), index);
		// Paths that begin with an imported module, or with one of the file's own.
		const modules = new Map([...from.text.matchAll(/\bmod (\w+);/g)].map(([, name]) => [name, ["self", name]]));
		for (const { path, name, at } of from.uses) if (files.has(absolute(from, path, at).join("::"))) modules.set(name, path);
		for (const { 0: path, 1: first, index } of from.text.matchAll(/(?<![\w:])([a-z]\w*)(?:::\w+)+/g)) {
			if (modules.has(first)) add([...modules.get(first), ...path.split("::").slice(1)], index);
		}
	}
	return imports;
}

/** A path from the crate's root on. Paths of other crates are empty. */
function absolute(from, path, at) {
	const inner = from.inner.filter(({ start, end }) => start < at && at < end).map(({ name }) => name);
	let base = [...from.module, ...inner];
	let rest = path;
	if (rest[0] === "crate") [base, rest] = [[], rest.slice(1)];
	else if (rest[0] === "self") rest = rest.slice(1);
	else if (rest[0] !== "super") return new RegExp(`\\bmod ${rest[0]};`).test(from.text) ? [...base, ...rest] : [];
	for (; rest[0] === "super"; rest = rest.slice(1)) base = base.slice(0, -1);
	return [...base, ...rest];
}

/**
 * The files that a path leads to: the one of the longest part of it that is a module, and, where that one has the next
 * name from elsewhere (`pub use`), that file too. A path that ends with a folder's module says nothing yet: what is taken
 * of it says it.
 */
function targets(files, from, path, depth = 0) {
	for (let length = path.length; length > 0; length--) {
		const file = files.get(path.slice(0, length).join("::"));
		if (!file) continue;
		const next = path[length];
		if (next === undefined) return /\/mod\.rs$/.test(file.path) ? [] : [file];
		const passedOn = file.uses.find(({ name }) => name === next);
		if (!passedOn || depth > 8) return [file];
		return [file, ...targets(files, from, [...absolute(file, passedOn.path, passedOn.at), ...path.slice(length + 1)], depth + 1)];
	}
	return [];
}

/**
 * Calls of methods that a file adds to a type of another file. A call counts where the receiver's type can be read off:
 * `self` inside `impl Type`, `Type::method`, and names that the file declares as of that type.
 */
function methodCalls(files) {
	const blocks = [...files.values()].flatMap((file) => implBlocks(file).map((block) => ({ ...block, file })));
	const added = new Map();
	for (const { type, file, start, end } of blocks) {
		if (new RegExp(`\\b(?:struct|enum|union) ${type}\\b`).test(file.text)) continue;
		const methods = added.get(type) ?? added.set(type, new Map()).get(type);
		for (const [, name] of file.text.slice(start, end).matchAll(/\bfn (\w+)/g)) methods.set(name, file);
	}
	const calls = [];
	for (const [type, methods] of added) {
		const call = (from, name, at) => {
			const to = methods.get(name);
			if (to && to !== from) calls.push({ from, to, line: lineOf(from.text, at), what: `${type}::${name}` });
		};
		for (const from of files.values()) {
			const inside = blocks.filter((block) => block.file === from && block.type === type);
			for (const { start, end } of inside) {
				for (const { 1: name, index } of from.text.slice(start, end).matchAll(/\b(?:self\s*\.|Self::)\s*(\w+)\s*(?:::<[^>]*>)?\(/g)) call(from, name, start + index);
			}
			if (!new RegExp(`\\b${type}\\b`).test(from.text)) continue;
			for (const { 1: name, index } of from.text.matchAll(new RegExp(`\\b${type}(?:::<[^>]*>)?::(\\w+)`, "g"))) call(from, name, index);
			const typed = new RegExp(`\\b(\\w+)\\s*:\\s*(?:&\\s*(?:'\\w+\\s+)?(?:mut\\s+)?)?(?:\\w+::)*${type}\\b|\\blet (?:mut )?(\\w+) = (?:\\w+::)*${type}(?:::|\\s*\\{)`, "g");
			const names = new Set([...from.text.matchAll(typed)].map(([, declared, bound]) => declared ?? bound));
			if (names.size === 0) continue;
			for (const { 1: name, index } of from.text.matchAll(new RegExp(`\\b(?:${[...names].join("|")})\\s*\\.\\s*(\\w+)\\s*\\(`, "g"))) call(from, name, index);
		}
	}
	return calls;
}

/** The inherent `impl` blocks of a file. */
function implBlocks({ text }) {
	return [...text.matchAll(/^[ \t]*(?:unsafe )?impl\b(?:<(?:[^<>]|<[^<>]*>)*>)?\s+(?:\w+::)*(\w+)(?:<(?:[^<>]|<[^<>]*>)*>)?\s*(?:where[^{]*)?\{/gm)].map(({ 0: head, 1: type, index }) => {
		const start = index + head.length - 1;
		return { type, start, end: closing(text, start) };
	});
}

const lineOf = (text, at) => text.slice(0, at).split("\n").length;

/** Files that import each other: one shortest cycle for each group of them. */
function importCycles(imports) {
	const next = new Map();
	for (const one of imports) {
		const of = next.get(one.from) ?? next.set(one.from, new Map()).get(one.from);
		if (!of.has(one.to)) of.set(one.to, one);
	}
	const found = [];
	const seen = new Set();
	for (const start of [...next.keys()].sort((a, b) => (a.path < b.path ? -1 : 1))) {
		if (seen.has(start)) continue;
		// The shortest way back, breadth first.
		const via = new Map();
		const queue = [start];
		for (let at = queue.shift(); at && !via.has(start); at = queue.shift()) {
			for (const [to, one] of next.get(at) ?? []) {
				if (via.has(to)) continue;
				via.set(to, one);
				queue.push(to);
			}
		}
		if (!via.has(start)) continue;
		const way = [];
		for (let at = start; way.length === 0 || at !== start; at = way[0].from) way.unshift(via.get(at));
		for (const { from } of way) seen.add(from);
		found.push(`cycle: ${way.map(({ from, line, what }) => `${from.path}:${line} (${what})`).join(" → ")} → ${start.path}`);
	}
	return found;
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
	const root = resolve(process.argv[2] ?? join(dirname(fileURLToPath(import.meta.url)), ".."));
	const problems = importProblems(readSources(root));
	console.log(problems.length === 0 ? "No import cycle and no upward import." : problems.join("\n"));
	process.exitCode = problems.length === 0 ? 0 : 1;
}
