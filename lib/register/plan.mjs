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

/** Whether a piece of a chunk that gives a name its value is exactly one value that follows `NAME=`, or a class. */
function isValue({ name, start, end, declares }, chunk) {
	const text = chunk.slice(start, end);
	const before = chunk.slice(Math.max(0, start - name.length - 2), start);
	const after = chunk[end] ?? "\n";
	const follows = declares
		? /(^|[\s;}])$/.test(before) && /^class\s/.test(text) && text.slice(5).trimStart().startsWith(name) && text.endsWith("}")
		: before.endsWith(`${name}=`) && /^[\s,]/.test(before) && /[;,\n]/.test(after);
	// No comma and no semicolon may be there, so a text that is cut short or too long is none.
	return follows && compiles(`0?${text}\n:0`);
}

function areValues(values, chunk) {
	let done = 0;
	for (const value of values) {
		const { name, start, end, declares } = value;
		if (typeof declares !== "boolean" || !isName(name, IDENTIFIER)) return false;
		if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end)) return false;
		if (start < done || end <= start || end > chunk.length) return false;
		if (!isValue(value, chunk)) return false;
		done = end;
	}
	return true;
}

const isSet = (names) => Array.isArray(names) && new Set(names).size === names.length;

const isSameSet = (some, others) => some.length === others.length && isSet(some) && some.every((name) => others.includes(name));

/**
 * Whether a plan can be one for these files: `files` are the names of the bundle's modules, `names` and `settings` those of
 * `namesOf`, `read(file)` gives the text of one.
 */
export function isPlan(plan, { files, names, settings, read }) {
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
	return compiles(`[${expressions.join()}]`) && areValues(values, read(chunk));
}

/** The literals among a plan's values, by name: a bundler may have put these in the place of their names. */
export function constantsOf({ values }, chunk) {
	const constants = {};
	for (const { name, start, end } of values) {
		try {
			constants[name] = JSON.parse(chunk.slice(start, end));
		} catch {
			// A class, or an expression that no bundler copies.
		}
	}
	return constants;
}
