// The public members of pi's class, and which of them ours lacks.
import { existsSync, readFileSync } from "node:fs";

/** A member's line in a class declaration: modifiers, then its name or `[Symbol.x]`. A private one begins with its modifier. */
const MEMBER =
	/^ {4}((?:(?:public|static|readonly|abstract|override|declare|accessor|get|set)\s+)*)(?:\[Symbol\.(\w+)\]|(["']?)(?!_|constructor\b)([\w$]+)\3)[?!]?\s*[(<:;=]/gm;

/**
 * Public members of `SessionManager` by its declarations, which pi publishes beside the code: methods, accessors and
 * fields, of managers and of the class, as `{ name, isStatic }`. Undefined where they are not declared as expected.
 */
export function declaredMembers(pi) {
	const file = pi.path("dist/core/session-manager.d.ts");
	if (!existsSync(file)) return [];
	const text = readFileSync(file, "utf8").replaceAll("\r", "").replace(/\/\*[^]*?\*\//g, "");
	const body = /^(?:export )?declare (?:abstract )?class SessionManager\b[^]*?\{$([^]*?)^\}/m.exec(text)?.[1] ?? "";
	const members = [...body.matchAll(MEMBER)];
	if (members.length === 0) return undefined;
	return members.map(([, modifiers, symbol, , name]) => ({
		name: name ?? `Symbol.${symbol}`,
		isStatic: /\bstatic\b/.test(modifiers),
	}));
}

/** The names of those of `members` that `SessionManager` does not have. */
export function lackedMembers(members, SessionManager) {
	const lacked = members.filter(({ name, isStatic }) => {
		const holder = isStatic ? SessionManager : SessionManager.prototype;
		const key = name.startsWith("Symbol.") ? Symbol[name.slice("Symbol.".length)] : name;
		// A symbol that this JavaScript engine does not have yet.
		return key === undefined || !(key in holder);
	});
	return lacked.map(({ name }) => name);
}
