// pi's bundle on our manager. One of its files, the chunk, declares what pi's session manager exports. It is loaded with our
// values in place of its own: its class is never evaluated, and its functions are reassigned before anything can call them.
//
// This relies on how esbuild writes pi's bundle: each module is in one piece, names stay as they are, and of two equal names in
// a file one gets a number. A bundle that is not as expected is refused with a reason; then pi runs unbundled. The text is searched,
// not parsed: a name may be within a function or a string. The chunk then fails where it uses the name, and pi does not start.
import { isAscii } from "node:buffer";
import { readFileSync } from "node:fs";
import { basename } from "node:path/posix";
import { messageOf } from "../../packages/sync/lib/base/errors.js";
import { BUNDLE, Unfit, managerSource } from "./package.mjs";

const HOOKED = new URL("hooked.mjs", import.meta.url).href;
/** The name by which the chunk reaches ours. */
const HANDLE = "__piSessionNative";
/** The module that starts pi. It imports everything that is loaded before pi's main function. */
const RUNTIME = `${BUNDLE}cli-runtime.js`;
/** What our manager is told of pi's configuration. */
const SETTINGS = ["APP_NAME", "getAgentDir"];

/** How esbuild writes a class that refers to itself, whatever it calls the variable. */
const CLASS = "class _SessionManager{";
/** What is in front of the class, unless it had to give the variable a number. */
const VARIABLE = "var SessionManager=";
/** Methods that no other class of a bundle has. A second session manager is known by them, whatever its class is called. */
const METHODS = ["appendThinkingLevelChange", "createBranchedSession"];
/** The module that the chunk imports first. It has no file: `source` gives its text. */
const FIRST = "pi-session-native-first.js";
/** The function of the chunk that assigns our functions. */
const ASSIGN = `${HANDLE}Assign`;

/** @typedef {import("./package.mjs").Pi} Pi */

/** Most of a bundle is ASCII, which need not be decoded. @param {string} path */
function textOf(path) {
	const bytes = readFileSync(path);
	return bytes.toString(isAscii(bytes) ? "latin1" : "utf8");
}

/** @param {Pi} pi */
function findChunk(pi) {
	for (const [, file] of textOf(pi.path(RUNTIME)).matchAll(/"\.\/(chunks\/[\w.-]+\.js)"/g)) {
		const name = BUNDLE + file;
		const text = textOf(pi.path(name));
		if (text.includes(CLASS)) return { name, text };
	}
	throw new Error(`nothing that ${RUNTIME} imports has the class SessionManager`);
}

/** Whether a text declares a function once, and no other one that was given a number. @param {string} text @param {string} name */
function declares(text, name) {
	const literal = name.replaceAll("$", "\\$");
	const found = [...text.matchAll(new RegExp(`\\bfunction ${literal}(\\d*)\\(`, "g"))];
	return found.length === 1 && found[0][1] === "";
}

/** How often a text defines a method of a name. A call has no brace behind its arguments. @param {string} text @param {string} name */
function definitions(text, name) {
	const [, ...behind] = text.split(`${name}(`);
	return behind.filter((rest) => /^[^()]*\)\s*\{/.test(rest)).length;
}

/** Whether a chunk declares or imports a name. @param {string} text @param {string} name */
const sees = (text, name) => new RegExp(`[ ,{]${name}[=(,}]`).test(text);

/** A bundle that can run on our manager. */
export class Bundle {
	#pi;
	#chunk;
	#chunkSource;

	/** The `bundle` of a pi, or why it is `refused`. @param {Pi} pi @returns {{ bundle?: Bundle, refused?: string }} */
	static of(pi) {
		if (!pi.has(`${BUNDLE}cli.js`) || !pi.has(RUNTIME)) return { refused: "it has none" };
		try {
			return { bundle: new Bundle(pi) };
		} catch (error) {
			return { refused: messageOf(error) };
		}
	}

	/** @param {Pi} pi */
	constructor(pi) {
		const { name, text } = findChunk(pi);
		const classAt = text.indexOf(CLASS);
		const at = classAt - VARIABLE.length;
		const once = !text.includes(CLASS, classAt + 1) && METHODS.every((one) => definitions(text, one) === 1);
		if (!once || !text.startsWith(VARIABLE, at)) throw new Error(`${name} does not declare SessionManager once`);
		const manager = managerSource(pi);
		if (!manager) throw new Error("its session manager is not understood");
		const { source, names, functions, numbers } = manager;
		const unknown = names.find((one) => one !== "SessionManager" && !functions.includes(one) && !(one in numbers));
		if (unknown) throw new Error(`${unknown} is neither a function nor a number`);
		// The rest of the module is in front of its last declaration, and not longer than unbundled.
		const module = text.slice(Math.max(0, at - source.length), at);
		const missing = functions.find((one) => !declares(module, one));
		if (missing) throw new Error(`${name} does not declare ${missing} once, in front of SessionManager`);
		const unseen = SETTINGS.find((one) => !sees(text, one));
		if (unseen) throw new Error(`${name} does not see ${unseen}`);
		this.#pi = pi;
		this.#chunk = name;
		this.#chunkSource = this.#edited(text, classAt, functions);
	}

	/** The text that a module of the bundle is loaded with. @param {string} name */
	source(name) {
		if (name === this.#chunk) return this.#chunkSource;
		if (name.endsWith(`/${FIRST}`)) return `import{${ASSIGN}}from"./${basename(this.#chunk)}";${ASSIGN}();`;
		const path = this.#pi.path(name);
		if (!this.#pi.has(name)) {
			const error = new Unfit(`${path} is not there: was pi updated? Start it again`);
			throw Object.assign(error, { code: "ERR_MODULE_NOT_FOUND" });
		}
		const text = textOf(path);
		const another = METHODS.every((one) => definitions(text, one) > 0);
		if (another) throw new Unfit(`${path} has a session manager of its own: was pi updated? Start it again`);
		return text;
	}

	/**
	 * The chunk with our values; its class is at an offset. No line moves. Of the files that the chunk imports, some may import it
	 * in turn; they run before it, but after its first import, which assigns our functions.
	 * @param {string} text
	 * @param {number} classAt
	 * @param {string[]} functions
	 */
	#edited(text, classAt, functions) {
		const dir = JSON.stringify(this.#pi.dir);
		const replaced = functions.map((name) => `${name}=${HANDLE}.ours.${name};`);
		return [
			`import{hooked as ${HANDLE}}from${JSON.stringify(HOOKED)};import"./${FIRST}";`,
			`export function ${ASSIGN}(){${HANDLE}.inChunk(${dir},()=>{${replaced.join("")}})}`,
			// A chunk that is loaded again, by a query, imports the same first module, which has run.
			`${ASSIGN}();`,
			text.slice(0, classAt),
			// By now pi's settings have their values.
			`(${HANDLE}.inChunk(${dir},()=>${HANDLE}.setApp(${dir},{${SETTINGS.join()}})),${HANDLE}.ours.SessionManager)||`,
			text.slice(classAt),
			`\n${HANDLE}.inChunk(${dir},()=>${HANDLE}.confirm(${dir},{${["SessionManager", ...functions].join()}}));`,
		].join("");
	}
}
