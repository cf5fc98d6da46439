// Checks whether a pi can run on our manager: every name that it imports from its own session manager must exist in ours.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
// The build without WebAssembly is ready at once, so that this package can also be loaded by `require`.
import { parse } from "es-module-lexer/js";
import { Unfit, declaredMembers, lackedMembers } from "./package.mjs";

/** All of the module: `import * as`, `export * from`, `import()`. */
const EVERYTHING = "*";

/** The names that an import takes, as the other module calls them; `head` is the statement up to its specifier. */
function importedNames(head) {
	// `import "x"` imports no name.
	if (!/\bfrom\b/.test(head)) return [];
	const open = head.indexOf("{");
	const names = [];
	const before = head.slice("import".length, open < 0 ? head.lastIndexOf("from") : open).trim();
	if (before.includes("*")) names.push(EVERYTHING);
	else if (before !== "") names.push("default");
	// The same list as an export is one that the lexer reads itself: comments, aliases, quoted names and all.
	if (open >= 0) names.push(...parse(`export ${head.slice(open)}"x"`)[1].map((one) => one.importName));
	return names;
}

/** The names that a module's source imports from the module at `target`. */
function takenFrom(source, url, target) {
	const [imports, exports] = parse(source, url);
	const leadsThere = (specifier) => {
		if (typeof specifier !== "string" || !/^[./]|^file:/.test(specifier)) return false;
		return new URL(specifier, url).href.replace(/[?#].*$/, "") === target;
	};
	const names = new Set();
	imports.forEach((one, index) => {
		if (!leadsThere(one.specifier)) return;
		if (one.type !== "static") return names.add(EVERYTHING);
		const head = source.slice(one.importStart, one.start - 1);
		const passedOn = exports.filter((exported) => exported.type === "reexport" && exported.importIndex === index);
		const taken = head.startsWith("import") ? importedNames(head) : passedOn.map((exported) => exported.importName);
		// The lexer has no name for a whole namespace.
		for (const name of taken) names.add(name ?? EVERYTHING);
	});
	return names;
}

/** What a module exports by name, as far as its own source says. */
const exportedFrom = (source, url) => parse(source, url)[1].flatMap((one) => one.name ?? []);

function* modulesBelow(dir, skip) {
	for (const entry of readdirSync(dir, { withFileTypes: true })) {
		const path = join(dir, entry.name);
		if (entry.isDirectory()) {
			if (!skip.includes(entry.name)) yield* modulesBelow(path, []);
		} else if (entry.name.endsWith(".js")) yield path;
	}
}

const list = (items) => [...new Set(items)].sort().join(", ");

/**
 * Throws `Unfit` unless everything that `pi` takes from its session manager exists in `ours`: the names it imports, and
 * the public members of the class.
 */
export function checkPi(pi, ours, release) {
	const cannot = (why) => new Unfit(`${pi.title} (${pi.dir}) cannot run on ${release}: ${why}`);
	for (const name of ["dist/core/session-manager.js", "dist/config.js"]) {
		if (!pi.has(name)) throw cannot(`it has no ${name}, so it is laid out in a way this release does not know`);
	}
	const source = (path) => readFileSync(path, "utf8");
	const understood = (work, path) => {
		try {
			return work(source(path), pathToFileURL(path).href);
		} catch (error) {
			throw cannot(`${path} is not understood: ${error.message}`);
		}
	};
	const exportsOf = (name) => understood(exportedFrom, pi.path(name));
	if (!exportsOf("dist/config.js").includes("getAgentDir")) {
		throw cannot("its dist/config.js exports no getAgentDir, which tells where sessions are");
	}

	const missing = new Map();
	let importers = 0;
	for (const path of modulesBelow(pi.path("dist"), ["bundle"])) {
		if (path === pi.path("dist/core/session-manager.js") || !source(path).includes("session-manager")) continue;
		const taken = understood((text, url) => takenFrom(text, url, pi.managerUrl), path);
		if (taken.size > 0) importers++;
		if (taken.delete(EVERYTHING)) for (const name of exportsOf("dist/core/session-manager.js")) taken.add(name);
		for (const name of taken) if (!(name in ours)) missing.set(name, pi.nameOf(path));
	}
	if (importers === 0) throw cannot("nothing in it imports dist/core/session-manager.js");
	if (missing.size > 0) {
		const named = [...missing].map(([name, importer]) => `${name} (in ${importer})`);
		throw cannot(`these names that it imports do not exist here: ${list(named)}`);
	}

	const members = declaredMembers(pi);
	if (members === undefined) throw cannot("the class in its dist/core/session-manager.d.ts is not understood");
	const lacked = lackedMembers(members, ours.SessionManager);
	if (lacked.length > 0) throw cannot(`these members of its SessionManager do not exist here: ${list(lacked)}`);
}
