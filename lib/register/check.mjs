// Checks whether a pi can run on our manager: everything that its own session manager exports must exist in ours.
import { readFileSync } from "node:fs";
import { CONFIG, MANAGER, Unfit, managerSource } from "./package.mjs";

/** @typedef {import("./package.mjs").Pi} Pi */
/** @typedef {typeof import("../../index.js")} Library */
/** @typedef {{ name: string, isStatic: boolean }} Member */

/** A member's line in a class declaration: modifiers, then its name or `[Symbol.x]`. A private one begins with its modifier. */
const MEMBER =
	/^ {4}((?:(?:public|static|readonly|abstract|override|declare|accessor|get|set)\s+)*)(?:\[Symbol\.(\w+)\]|(["']?)(?!_|constructor\b)([\w$]+)\3)[?!]?\s*[(<:;=]/gm;

/**
 * Public members of `SessionManager` by its declarations, which pi publishes beside the code: methods, accessors and
 * fields, of managers and of the class. Undefined where they are not declared as expected.
 * @param {Pi} pi
 * @returns {Member[] | undefined}
 */
function declaredMembers(pi) {
	const file = MANAGER.replace(/js$/, "d.ts");
	if (!pi.has(file)) return [];
	const text = readFileSync(pi.path(file), "utf8").replaceAll("\r", "").replace(/\/\*[^]*?\*\//g, "");
	const body = /^(?:export )?declare (?:abstract )?class SessionManager\b[^]*?\{$([^]*?)^\}/m.exec(text)?.[1] ?? "";
	const members = [...body.matchAll(MEMBER)];
	if (members.length === 0) return undefined;
	return members.map(([, modifiers, symbol, , name]) => ({
		name: name ?? `Symbol.${symbol}`,
		isStatic: /\bstatic\b/.test(modifiers),
	}));
}

/** Whether `SessionManager` has a member. @param {Library["SessionManager"]} SessionManager @param {Member} member */
function hasMember(SessionManager, { name, isStatic }) {
	const holder = isStatic ? SessionManager : SessionManager.prototype;
	const key = name.startsWith("Symbol.") ? Reflect.get(Symbol, name.slice("Symbol.".length)) : name;
	// A symbol that this JavaScript engine does not have yet is undefined.
	return key !== undefined && key in holder;
}

/** @param {string[]} names */
const list = (names) => [...new Set(names)].sort().join(", ");

/**
 * Throws `Unfit` unless everything that a pi's session manager exports, and the public members of the class, exist in `ours`.
 * @param {Pi} pi
 * @param {Library} ours
 * @param {string} release
 */
export function checkPi(pi, ours, release) {
	const cannot = (/** @type {string} */ why) => new Unfit(`${pi.title} (${pi.dir}) cannot run on ${release}: ${why}`);
	for (const name of [MANAGER, CONFIG]) {
		if (!pi.has(name)) throw cannot(`it has no ${name}, so it is laid out in a way this release does not know`);
	}
	if (!/^export (?:async )?(?:const|function) getAgentDir\b/m.test(readFileSync(pi.path(CONFIG), "utf8"))) {
		throw cannot(`its ${CONFIG} exports no getAgentDir, which tells where sessions are`);
	}
	const manager = managerSource(pi);
	if (manager === undefined) throw cannot(`its ${MANAGER} does not write each export as a declaration on a line of its own`);
	const missing = manager.names.filter((name) => !(name in ours));
	if (missing.length > 0) throw cannot(`these names of its session manager do not exist here: ${list(missing)}`);
	const other = Object.keys(manager.numbers).filter((name) => manager.numbers[name] !== Reflect.get(ours, name));
	if (other.length > 0) throw cannot(`these numbers are others here: ${list(other)}`);
	const members = declaredMembers(pi);
	if (members === undefined) throw cannot("the class in its dist/core/session-manager.d.ts is not understood");
	const lacked = members.filter((member) => !hasMember(ours.SessionManager, member));
	if (lacked.length > 0) throw cannot(`these members of its SessionManager do not exist here: ${list(lacked.map(({ name }) => name))}`);
}
