// The form of a plan, by which a bundle is edited, and the check of one that was stored. Any program of the user can
// write the cache, so a stored plan is not trusted: everything in it that could be wrong is compared with pi's own files.
import { Script } from "node:vm";
import { BUNDLE, CONFIG, MANAGER } from "./package.mjs";

/** The name by which an edited module reaches ours. */
export const HANDLE = "__piSessionNative";
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
/** What may represent a name in an edited module: a local name, or a property of a namespace object. */
const BINDING = /^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)?$/;
/** What our manager is told of pi's configuration. */
const SETTINGS = ["APP_NAME", "getAgentDir"];

/** The names of the exports that begin a line, which is how TypeScript's compiler writes them. */
const exportedNames = (text) =>
	[...text.matchAll(/^export (?:async )?(?:const|let|var|class|function\*?) ([A-Za-z_$][\w$]*)/gm)].map(([, name]) => name);

/** What a bundle's chunk must declare: `names` of the session manager, `settings` of pi's configuration. `read` gives a file's text. */
export function namesOf(read) {
	const exported = exportedNames(read(CONFIG));
	return { names: exportedNames(read(MANAGER)), settings: SETTINGS.filter((name) => exported.includes(name)) };
}

const isName = (text, form) => typeof text === "string" && form.test(text);

function compiles(text) {
	try {
		new Script(text);
		return true;
	} catch {
		return false;
	}
}

/** A piece of a chunk that gives a name its value: the text, if it is exactly one value that follows `NAME=`, or a class. */
function valueText({ name, start, end, declares }, bytes) {
	const text = bytes.toString("utf8", start, end);
	const before = bytes.toString("latin1", Math.max(0, start - name.length - 2), start);
	const after = String.fromCharCode(bytes[end] ?? 10);
	const follows = declares
		? /(^|[\s;}])$/.test(before) && /^class\s/.test(text) && text.slice(5).trimStart().startsWith(name) && text.endsWith("}")
		: before.endsWith(`${name}=`) && /^[\s,]/.test(before) && /[;,\n]/.test(after);
	// No comma and no semicolon may be there, so a text that is cut short or too long is none.
	return follows && compiles(`0?${text}\n:0`) ? text : undefined;
}

function areValues(values, bytes) {
	let done = 0;
	for (const value of values) {
		const { name, start, end, declares } = value;
		if (typeof declares !== "boolean" || !isName(name, IDENTIFIER)) return false;
		if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end)) return false;
		if (start < done || end <= start || end > bytes.length) return false;
		if (valueText(value, bytes) === undefined) return false;
		done = end;
	}
	return true;
}

const isSet = (names) => Array.isArray(names) && new Set(names).size === names.length;

const isSameSet = (some, others) => some.length === others.length && isSet(some) && some.every((name) => others.includes(name));

/**
 * Whether a plan can be one for these files: `files` are the names of the bundle's modules, `names` and `settings` those of
 * `namesOf`, `bytes(file)` gives the content of one.
 */
export function isPlan(plan, { files, names, settings, bytes }) {
	const { chunk, functions, values, expectedBindings, guarded, entries } = plan;
	const isFile = (file) => typeof file === "string" && file.startsWith(BUNDLE) && file.endsWith(".js") && files.includes(file);
	if (!settings.includes("getAgentDir") || !names.every((name) => isName(name, IDENTIFIER))) return false;
	if (!isFile(chunk) || !isSet(functions) || !Array.isArray(values)) return false;
	const valued = values.map((value) => value?.name);
	if (!valued.includes("SessionManager") || !isSameSet([...functions, ...valued], names)) return false;
	if (!isSet(guarded) || !isSet(entries) || guarded.length === 0 || !entries.includes(`${BUNDLE}cli.js`)) return false;
	if (![...guarded, ...entries].every(isFile) || !guarded.every((file) => entries.includes(file))) return false;
	const bindings = Object.entries(expectedBindings);
	const isBinding = (pair) => Array.isArray(pair) && pair.length === 2 && names.includes(pair[0]) && isName(pair[1], BINDING);
	if (!bindings.every(([file, pairs]) => isFile(file) && Array.isArray(pairs) && pairs.every(isBinding))) return false;
	const expressions = bindings.flatMap(([, pairs]) => pairs.map(([, expression]) => expression));
	return compiles(`[${expressions.join()}]`) && areValues(values, bytes(chunk));
}

/** The literals among a plan's values, by name: a bundler may have put these in the place of their names. */
export function constantsOf({ values }, bytes) {
	const constants = {};
	for (const { name, start, end } of values) {
		try {
			constants[name] = JSON.parse(bytes.toString("utf8", start, end));
		} catch {
			// A class, or an expression that no bundler copies.
		}
	}
	return constants;
}
