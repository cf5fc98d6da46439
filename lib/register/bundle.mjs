// pi's bundle on our manager. The chunk that holds pi's session manager is loaded with our values in the place of its own:
// its class is cut out before it exists, its functions are reassigned before anything can call them. How is worked out
// once for each version of pi (analyse.mjs) and remembered by the content of the bundle's files. What is remembered is
// places and names, checked against the files at every start; no code is stored.
import { isAscii } from "node:buffer";
import { createHash } from "node:crypto";
import { closeSync, existsSync, fstatSync, openSync, readFileSync, readdirSync, statSync } from "node:fs";
import module from "node:module";
import { declaredMembers, lackedMembers } from "./members.mjs";
import { BUNDLE, CONFIG, MANAGER, Unfit } from "./package.mjs";
import { recall, remember } from "./private-cache.mjs";

const require = module.createRequire(import.meta.url);

/** Counts up with every change to what is stored or to what `analyse` accepts. */
const FORMAT = 1;
/** The name by which an edited module reaches ours. */
export const HANDLE = "__piSessionNative";
const HOOKED = new URL("hooked.mjs", import.meta.url).href;
const GUARD = new URL("guard.mjs", import.meta.url).href;
const IMPORT = `import{hooked as ${HANDLE}}from${JSON.stringify(HOOKED)};`;
/** What is analysed besides the bundle. */
const BESIDES = ["package.json", MANAGER, MANAGER.replace(/js$/, "d.ts"), CONFIG];

/** Where the checksum is in what is stored for a file. */
const SHA256 = 4;

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/**
 * Whether a file is the one that `known` was stored for, without reading it. Its own time says little: package managers
 * give every file the same one. That of its last change is the system's.
 */
const isSame = ({ size, mtimeMs, ctimeMs, ino }, known) =>
	size === known[0] && mtimeMs === known[1] && ctimeMs === known[2] && ino === known[3];

/** How old a change must be that a later one has another time for certain. */
const SETTLED_MS = 2_000;

/** What is stored for a file. One that changed just now is not told from its next state by its times. */
function entryOf({ size, mtimeMs, ctimeMs, ino }, hash) {
	const isSettled = Date.now() - ctimeMs > SETTLED_MS;
	return [size, mtimeMs, isSettled ? ctimeMs : -1, ino, hash];
}

const isCode = (name) => /\.[cm]?js$/.test(name);

/** The bundle's modules, by their names in the package. */
function modulesOf(pi, folder = BUNDLE) {
	return readdirSync(pi.path(folder), { withFileTypes: true }).flatMap((entry) => {
		const name = folder + entry.name;
		if (entry.isDirectory()) return modulesOf(pi, `${name}/`);
		return isCode(name) ? [name] : [];
	});
}

const filesOf = (pi) => [...modulesOf(pi), ...BESIDES.filter((name) => pi.has(name))];

/** A file's bytes if they are those that `known` was stored for, or undefined. */
function readUnchanged(path, known) {
	const file = openSync(path);
	try {
		const isKnown = isSame(fstatSync(file), known);
		const bytes = readFileSync(file);
		return isKnown || sha256(bytes) === known[SHA256] ? bytes : undefined;
	} finally {
		closeSync(file);
	}
}

/** Most of a bundle is ASCII, which need not be decoded. */
const asText = (bytes) => bytes.toString(isAscii(bytes) ? "latin1" : "utf8");

/** Whether the files are those that a stored outcome is about. What is stored for one that merely was touched is renewed. */
function isAbout(stored, pi) {
	const names = filesOf(pi);
	if (names.length !== Object.keys(stored.files).length) return false;
	for (const name of names) {
		const known = stored.files[name];
		if (!known) return false;
		const path = pi.path(name);
		const found = statSync(path);
		if (isSame(found, known)) continue;
		if (sha256(readFileSync(path)) !== known[SHA256]) return false;
		stored.files[name] = entryOf(found, known[SHA256]);
		stored.isRenewed = true;
	}
	return true;
}

function recalled(name, pi, own) {
	try {
		const stored = recall(name);
		const isOurs = stored?.format === FORMAT && stored.own === own && stored.dir === pi.dir;
		return isOurs && isAbout(stored, pi) ? stored : undefined;
	} catch {
		// A file of the bundle is gone by now.
		return undefined;
	}
}

/** Analyses a bundle. Gives its plan, or `{ refused }` with the reason why there is none. */
function analysed(pi) {
	const { analyse } = require("./analyse.mjs");
	const texts = new Map();
	const files = {};
	try {
		for (const name of filesOf(pi)) {
			const before = statSync(pi.path(name));
			const bytes = readFileSync(pi.path(name));
			files[name] = entryOf(before, sha256(bytes));
			texts.set(name, bytes.toString("utf8"));
		}
		const read = (name) => texts.get(name) ?? "";
		if (JSON.parse(read("package.json")).type !== "module") throw new Error("its files are not modules by their package.json");
		const members = declaredMembers(pi);
		if (!members) throw new Error("the class in its declarations is not understood");
		return { files, members, ...analyse(Object.keys(files).filter((name) => name.startsWith(BUNDLE)), read) };
	} catch (error) {
		return { files, refused: error.message };
	}
}

/** The plan of a pi's bundle: the one that is remembered, or else a new one, or `{ refused }`. */
function planOf(pi, own) {
	if (!existsSync(pi.path(`${BUNDLE}cli.js`))) return { refused: "it has none" };
	const name = `bundle-${sha256(pi.dir).slice(0, 32)}`;
	const known = recalled(name, pi, own);
	const { isRenewed, ...plan } = known ?? { format: FORMAT, own, dir: pi.dir, ...analysed(pi), isRenewed: true };
	if (isRenewed) remember(name, plan);
	return plan;
}

/** Why our module cannot take the place of the manager in a bundle, or undefined. */
function misfit({ names, constants, members }, ours) {
	const missing = names.filter((name) => !(name in ours));
	if (missing.length > 0) return `these names do not exist here: ${missing.join(", ")}`;
	const other = Object.keys(constants).filter((name) => constants[name] !== ours[name]);
	if (other.length > 0) return `these have other values here: ${other.join(", ")}`;
	const lacked = lackedMembers(members, ours.SessionManager);
	return lacked.length > 0 ? `these members of its SessionManager do not exist here: ${lacked.join(", ")}` : undefined;
}

/** A bundle that can run on our manager. */
export class Bundle {
	#pi;
	#plan;

	/** `{ bundle }` for a pi, or `{ refused }` with the reason why there is none. `own` is our package as text. */
	static of(pi, ours, own) {
		const plan = planOf(pi, own);
		const refused = plan.refused ?? misfit(plan, ours);
		return refused === undefined ? { bundle: new Bundle(pi, plan) } : { refused };
	}

	constructor(pi, plan) {
		this.#pi = pi;
		this.#plan = plan;
		/** The URL of its folder. */
		this.url = pi.url + BUNDLE;
	}

	/** Whether pi may be started by this module. */
	starts(name) {
		return this.#plan.entries.includes(name);
	}

	/** Whether the module is loaded with a text that is not its file's. */
	edits(name) {
		return name in this.#plan.views || this.#plan.guarded.includes(name);
	}

	/** Whether this is a module of the bundle. */
	has(name) {
		return name.endsWith(".js") && name in this.#plan.files;
	}

	/** The text that a module of the bundle is loaded with. Undefined for other kinds of files. */
	source(name) {
		if (!isCode(name)) return undefined;
		const known = this.#plan.files[name];
		const path = this.#pi.path(name);
		const bytes = known && readUnchanged(path, known);
		if (!bytes) throw new Unfit(`${path} is not what it was when pi was started: was pi updated? Start it again`);
		if (!this.has(name)) return undefined;
		return this.edits(name) ? this.#edited(name, bytes) : asText(bytes);
	}

	#edited(name, bytes) {
		const { chunk, views, guarded } = this.#plan;
		const pieces = name === chunk ? this.#replaced(bytes) : [asText(bytes)];
		if (name in views) {
			const pairs = views[name].map(([one, expression]) => `[${JSON.stringify(one)},${expression}]`);
			const call = `${HANDLE}.confirm(${JSON.stringify(this.#pi.dir)},${JSON.stringify(name)},[${pairs.join()}]);`;
			pieces.push(`\n${name === chunk ? "" : IMPORT}${call}`);
		}
		// Runs after the module's other imports, and before the module.
		if (guarded.includes(name)) {
			const guard = `${GUARD}?${new URLSearchParams({ pi: this.#pi.dir })}`;
			pieces.push(`\nimport ${JSON.stringify(guard)};`);
		}
		return pieces.join("");
	}

	/** The chunk with our values. No line moves. */
	#replaced(bytes) {
		const { functions, values, settings } = this.#plan;
		const assigned = functions.map((name) => `${name}=${HANDLE}.ours.${name};`);
		const pieces = [IMPORT + assigned.join("")];
		let done = 0;
		for (const { name, start, end, declares } of values) {
			const config = Object.entries(settings).map(([key, local]) => `${key}:${local}`);
			// By now pi's settings have their values.
			const value =
				name === "SessionManager"
					? `(${HANDLE}.serve(${JSON.stringify(this.#pi.dir)},{${config.join()}}),${HANDLE}.ours.${name})`
					: `${HANDLE}.ours.${name}`;
			pieces.push(asText(bytes.subarray(done, start)), declares ? `let ${name}=${value};` : value);
			done = end;
		}
		return [...pieces, asText(bytes.subarray(done))];
	}
}
