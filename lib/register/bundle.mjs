// pi's bundle on our manager. The chunk that declares pi's session manager is loaded with our values in place of its own:
// its class is cut out, and its functions are reassigned before anything can call them. Each version of pi is analysed once
// (analyse.mjs), and the result is stored under the content of the bundle's files. It has only offsets and names, which are
// checked against the files at every start (plan.mjs), and no code.
import { isAscii, isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { closeSync, existsSync, fstatSync, openSync, readFileSync, readdirSync, statSync } from "node:fs";
import module from "node:module";
import { BUNDLE, CONFIG, MANAGER, Unfit, declaredMembers, lackedMembers } from "./package.mjs";
import { HANDLE, constantsOf, isPlan, namesOf } from "./plan.mjs";
import { recall, remember } from "./private-cache.mjs";

const require = module.createRequire(import.meta.url);

/** Raised with every change of what is stored or of what `analyse` accepts. */
const FORMAT = 4;
const HOOKED = new URL("hooked.mjs", import.meta.url).href;
const GUARD = new URL("guard.mjs", import.meta.url).href;
const IMPORT = `import{hooked as ${HANDLE}}from${JSON.stringify(HOOKED)};`;
/** The files that are analysed besides the bundle. */
const BESIDES = ["package.json", MANAGER, MANAGER.replace(/js$/, "d.ts"), CONFIG];

/** Where the checksum is in the fingerprint of a file. */
const SHA256 = 4;

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/**
 * Whether a file is the one that `known` was stored for, without reading it. The mtime says little, as package managers
 * give every file the same one; the ctime is the system's.
 */
const hasFingerprint = ({ size, mtimeMs, ctimeMs, ino }, known) =>
	size === known[0] && mtimeMs === known[1] && ctimeMs === known[2] && ino === known[3];

/** The age of a change after which a later change surely has another time. */
const SETTLED_MS = 2_000;

/**
 * The fingerprint of a file. A file changed within the last two seconds could change again with the same timestamps, so its
 * ctime is not stored.
 */
function fingerprintOf({ size, mtimeMs, ctimeMs, ino }, hash) {
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

/** Whether an error says that a file is not there. */
const isMissing = ({ code }) => code === "ENOENT" || code === "ENOTDIR";

/** Most of a bundle is ASCII, which need not be decoded. */
const asText = (bytes) => bytes.toString(isAscii(bytes) ? "latin1" : "utf8");

/** A file's text if it is the one that `known` was stored for, or undefined. */
function readUnchanged(path, known) {
	let file;
	try {
		file = openSync(path);
		const isKnown = hasFingerprint(fstatSync(file), known);
		const bytes = readFileSync(file);
		const isSame = (isKnown && hasFingerprint(fstatSync(file), known)) || sha256(bytes) === known[SHA256];
		return isSame ? asText(bytes) : undefined;
	} catch (error) {
		if (isMissing(error)) return undefined;
		throw error;
	} finally {
		if (file !== undefined) closeSync(file);
	}
}

/** Whether a stored outcome is about these files. The stored times of a file that was only touched are updated. */
function isAbout(stored, pi) {
	const names = filesOf(pi);
	if (names.length !== Object.keys(stored.files).length) return false;
	for (const name of names) {
		const known = stored.files[name];
		if (!known) return false;
		const path = pi.path(name);
		const found = statSync(path);
		if (hasFingerprint(found, known)) continue;
		if (sha256(readFileSync(path)) !== known[SHA256]) return false;
		stored.files[name] = fingerprintOf(found, known[SHA256]);
		stored.isRenewed = true;
	}
	return true;
}

/** Whether a text can be printed: the reason why a bundle is refused is. */
const isPrintable = (text) => typeof text === "string" && !/\p{Cc}/u.test(text);

/** The stored outcome about a pi's bundle, as `{ refused }` or `{ bundle }`; undefined if there is none that can be relied on. */
function recalled(name, pi, release) {
	try {
		const stored = recall(name);
		const isOurs = stored?.format === FORMAT && stored.release === release && stored.dir === pi.dir;
		if (!isOurs || !isAbout(stored, pi)) return undefined;
		const { isRenewed, ...outcome } = stored;
		const isRefused = outcome.refused !== undefined;
		if (isRefused && !isPrintable(outcome.refused)) return undefined;
		const bundle = isRefused ? undefined : new Bundle(pi, outcome);
		if (isRenewed) remember(name, outcome);
		return { bundle, refused: outcome.refused };
	} catch {
		// A file of the bundle is gone by now, or what is stored is not a plan for these files.
		return undefined;
	}
}

/** How long an analysis may take, in milliseconds, before the user is told what is waited for. */
const SILENT_MS = 1_000;

/** Analyses a bundle. Gives `{ bundle }` or `{ refused }` with the reason why there is none. */
function analysed(name, pi, release, tell) {
	let analysis;
	try {
		analysis = require("./analyse.mjs");
	} catch (error) {
		// This says nothing about the bundle, so it is not stored.
		return { refused: `the analysis of bundles does not load: ${error.message.split("\n")[0]}` };
	}
	const texts = new Map();
	const files = {};
	const head = { format: FORMAT, release, dir: pi.dir, files };
	let tellAt = performance.now() + SILENT_MS;
	const look = () => {
		if (performance.now() < tellAt) return;
		tellAt = Infinity;
		tell(`${release}: reading the bundle of ${pi.title}, once for each version of pi`);
	};
	try {
		for (const file of filesOf(pi)) {
			const before = statSync(pi.path(file));
			const bytes = readFileSync(pi.path(file));
			files[file] = fingerprintOf(before, sha256(bytes));
			if (!isUtf8(bytes)) throw new Error(`${file} is not valid UTF-8`);
			texts.set(file, asText(bytes));
			look();
		}
		const read = (file) => {
			look();
			return texts.get(file) ?? "";
		};
		if (JSON.parse(read("package.json")).type !== "module") throw new Error("its files are not modules by their package.json");
		const plan = analysis.analyse(Object.keys(files).filter((file) => file.startsWith(BUNDLE)), read);
		const bundle = new Bundle(pi, { ...head, ...plan });
		remember(name, { ...head, ...plan });
		return { bundle };
	} catch (error) {
		const refused = error.message.replace(/\p{Cc}+/gu, " ");
		remember(name, { ...head, refused });
		return { refused };
	}
}

/** Why our module cannot take the place of the manager in a bundle, or undefined. */
function misfit({ names, constants }, pi, ours) {
	const missing = names.filter((name) => !(name in ours));
	if (missing.length > 0) return `these names do not exist here: ${missing.join(", ")}`;
	const other = Object.keys(constants).filter((name) => constants[name] !== ours[name]);
	if (other.length > 0) return `these have other values here: ${other.join(", ")}`;
	const members = declaredMembers(pi);
	if (!members) return "the class in its declarations is not understood";
	const lacked = lackedMembers(members, ours.SessionManager);
	return lacked.length > 0 ? `these members of its SessionManager do not exist here: ${lacked.join(", ")}` : undefined;
}

/** A bundle that can run on our manager. */
export class Bundle {
	#pi;
	#plan;
	/** Made at once: its file has megabytes, and the checks of a plan have read it. */
	#chunkSource;

	/**
	 * `{ bundle }` for a pi, or `{ refused }` with the reason why there is none. `release` is our package's name and version,
	 * `tell` takes a line for a user who waits.
	 */
	static of(pi, ours, release, tell) {
		if (!existsSync(pi.path(`${BUNDLE}cli.js`))) return { refused: "it has none" };
		const name = `bundle-${sha256(`${release}\n${pi.dir}`).slice(0, 32)}`;
		const { bundle, refused } = recalled(name, pi, release) ?? analysed(name, pi, release, tell);
		const why = refused ?? misfit(bundle, pi, ours);
		return why === undefined ? { bundle } : { refused: why };
	}

	/** Throws an error if `plan` does not fit the bundle of this pi. */
	constructor(pi, plan) {
		this.#pi = pi;
		this.#plan = plan;
		/** The URL of its directory. */
		this.url = pi.url + BUNDLE;
		// The names are ASCII. Part of a text with other characters, each would take two bytes, and so would the chunk with them.
		const { names, settings } = namesOf((file) => readFileSync(pi.path(file), "latin1"));
		let chunk;
		const read = (file) => (chunk = this.#text(file));
		if (!isPlan(plan, { files: Object.keys(plan.files), names, settings, read })) {
			throw new Error(`the session manager is not written as expected in ${plan.chunk}`);
		}
		/** The names that its session manager exports. */
		this.names = names;
		/** The constants among them, with pi's values. */
		this.constants = constantsOf(plan, chunk);
		this.#chunkSource = this.#edited(plan.chunk, this.#replaced(chunk, settings));
	}

	/** The module that declares the session manager. */
	get chunk() {
		return this.#plan.chunk;
	}

	/** Whether pi may be started by this module. */
	starts(name) {
		return this.#plan.entries.includes(name);
	}

	/** Whether the module is loaded with a text that is not its file's. */
	edits(name) {
		const { chunk, expectedBindings, guarded } = this.#plan;
		return name === chunk || name in expectedBindings || guarded.includes(name);
	}

	/** Whether this is a module of the bundle. */
	has(name) {
		return name.endsWith(".js") && name in this.#plan.files;
	}

	/** The text that a module of the bundle is loaded with. Undefined for other kinds of files. */
	source(name) {
		if (!isCode(name)) return undefined;
		if (name === this.chunk) {
			if (!this.#isUntouched(name)) this.#text(name);
			return this.#chunkSource;
		}
		const text = this.#text(name);
		if (!this.has(name)) return undefined;
		return this.edits(name) ? this.#edited(name, [text]) : text;
	}

	/** The error to throw in place of one that says that a file of the bundle is gone. */
	explained(error, name) {
		return isMissing(error) || error.code === "ERR_MODULE_NOT_FOUND" ? this.#changed(name) : error;
	}

	#changed(name) {
		return new Unfit(`${this.#pi.path(name)} is not what it was when pi was started: was pi updated? Start it again`);
	}

	#isUntouched(name) {
		const stats = statSync(this.#pi.path(name), { throwIfNoEntry: false });
		return stats !== undefined && hasFingerprint(stats, this.#plan.files[name]);
	}

	#text(name) {
		const known = this.#plan.files[name];
		const text = known && readUnchanged(this.#pi.path(name), known);
		if (text === undefined) throw this.#changed(name);
		return text;
	}

	/** A module with what is added behind it. It is given in pieces, as every text that is joined is copied. */
	#edited(name, pieces) {
		const { chunk, expectedBindings, guarded } = this.#plan;
		const declared = name === chunk ? this.names.map((one) => [one, one]) : [];
		const bindings = [...declared, ...(expectedBindings[name] ?? [])];
		if (bindings.length > 0) {
			const pairs = bindings.map(([one, expression]) => `[${JSON.stringify(one)},${expression}]`);
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

	/** The pieces of the chunk with our values. No line moves. */
	#replaced(chunk, settings) {
		const { functions, values } = this.#plan;
		const assigned = functions.map((name) => `${name}=${HANDLE}.ours.${name};`);
		const pieces = [IMPORT + assigned.join("")];
		let done = 0;
		for (const { name, start, end, declares } of values) {
			// By now pi's settings have their values.
			const value =
				name === "SessionManager"
					? `(${HANDLE}.setApp(${JSON.stringify(this.#pi.dir)},{${settings.join()}}),${HANDLE}.ours.${name})`
					: `${HANDLE}.ours.${name}`;
			pieces.push(chunk.slice(done, start), declares ? `let ${name}=${value};` : value);
			done = end;
		}
		return [...pieces, chunk.slice(done)];
	}
}
