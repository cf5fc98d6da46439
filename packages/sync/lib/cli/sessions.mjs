// The directories and sessions of this machine for a command.
import { existsSync, statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { getConfiguredSessionDir, getDefaultSessionDir, SessionManager } from "pi-session-native";
import { everySessionFile as everyFile, sessionFolders } from "pi-session-native/session-files";
import { expandHome } from "../base/address.js";
import local from "../machine/local-sessions.js";
import { CommandError, safeLine, writeWarning } from "./terminal.mjs";

/**
 * @typedef {{ cwd?: string, dir?: string, json?: boolean, all?: boolean, store?: string, dryRun?: boolean }} Options
 */

/** The default session directory of a working directory. It is not created. @param {string} cwd */
export const defaultDir = (cwd) => getDefaultSessionDir(cwd, undefined, { create: false });

export const pathOf = (/** @type {string} */ text) => resolve(expandHome(text));

/** @param {Options} options */
export function workingDirectory({ cwd }) {
	if (cwd === undefined) return process.cwd();
	checkDirectory("--cwd", cwd);
	return pathOf(cwd);
}

/**
 * Throws if the directory of an option does not exist.
 * @param {string} option
 * @param {string | undefined} directory undefined if the option is not set
 */
export function checkDirectory(option, directory) {
	if (directory !== undefined && !statSync(pathOf(directory), { throwIfNoEntry: false })?.isDirectory())
		throw new CommandError(`The directory of ${option} does not exist: ${directory}`);
}

/**
 * The session directory from `--dir`, the environment or pi's settings; undefined for pi's default.
 * @param {Options} options
 */
export function namedDir(options) {
	if (options.dir !== undefined) return pathOf(options.dir);
	const onWarning = (/** @type {string} */ text) => writeWarning(text, Boolean(options.json));
	const dir = getConfiguredSessionDir(workingDirectory(options), { onWarning });
	return dir === undefined ? undefined : pathOf(dir);
}

/**
 * Every directory with session files of this machine, or the directory that is named.
 * @param {Options} options
 */
export function sessionDirs(options) {
	const dir = namedDir(options);
	return dir === undefined ? sessionFolders() : [dir];
}

/** Every session file that may contain copies of entries. @param {Options} options */
export const everySessionFile = (options) => everyFile(namedDir(options));

/** Whether a query is a path. @param {string} query */
export const isPath = (query) => /[\\/]/.test(query) || query.endsWith(".jsonl") || existsSync(query);

/**
 * The file of the session on this machine that a path, an id or the beginning of an id names.
 * @param {string} query
 * @param {Options} options
 */
export async function sessionPath(query, options) {
	if (isPath(query)) {
		const path = pathOf(query);
		if (!statSync(path, { throwIfNoEntry: false })?.isFile()) throw new CommandError(`No such file: ${query}`);
		return path;
	}
	const sessions = await SessionManager.listAll(namedDir(options));
	return findOne(
		query,
		sessions.map(({ id, path, name }) => ({ id, about: safeLine(name ?? basename(path)), path })),
		"session",
		"pi-sessions list --all shows the sessions of this machine, and pi-sync pull <session> adds a stored session",
	).path;
}

/**
 * The session on this machine that a query names. Throws if a store cannot contain it.
 * @param {string} query
 * @param {Options} options
 */
export async function localSession(query, options) {
	const path = await sessionPath(query, options);
	let why = path.endsWith(".jsonl")
		? "Another file in its directory contains the same session"
		: "Its name does not end in .jsonl";
	const sessions = await local.localSessions(dirname(path), (file, reason) => {
		if (file === path) why = reason;
	});
	const found = [...sessions.values()].find(({ file }) => file === path);
	if (!found) throw new CommandError(`A store cannot contain ${safeLine(path)}: ${safeLine(why)}`);
	return found;
}

/**
 * The session with this id on this machine, if possible in the working directory's session directory.
 * @param {string} session
 * @param {Options} options
 */
export async function sessionHere(session, options) {
	const first = defaultDir(workingDirectory(options));
	for (const dir of sessionDirs(options).sort((a, b) => Number(b === first) - Number(a === first))) {
		const found = (await local.localSessions(dir)).get(session);
		if (found) return found;
	}
	return undefined;
}

const CANDIDATES_SHOWN = 10;

/**
 * The one item whose id equals the query or, if none does, begins with it.
 * @template {{ id: string, about: string }} T
 * @param {string} query
 * @param {T[]} items
 * @param {string} noun
 * @param {string} hint the end of the error
 */
export function findOne(query, items, noun, hint) {
	const exact = items.filter(({ id }) => id === query);
	const candidates = exact.length > 0 ? exact : query === "" ? [] : items.filter(({ id }) => id.startsWith(query));
	const [first, ...others] = candidates;
	if (!first) throw new CommandError(`No ${noun} has an id that begins with ${JSON.stringify(query)}; ${hint}`);
	if (others.length === 0) return first;
	const shown = candidates.slice(0, CANDIDATES_SHOWN).map(({ id, about }) => `  ${safeLine(id)}  ${about}`);
	const rest = candidates.length - shown.length;
	throw new CommandError(
		[
			`${JSON.stringify(query)} names ${candidates.length} ${noun}s:`,
			...shown,
			...(rest > 0 ? [`  and ${rest} more`] : []),
		].join("\n"),
	);
}

/**
 * The ids of entries, from ids, beginnings of ids, or labels.
 * @param {string} path
 * @param {string[]} queries
 */
export function entryIds(path, queries) {
	const manager = SessionManager.open(path, { readonly: true });
	return queries.map((query) => {
		const items = manager.getEntries().map(({ id, type }) => ({ id, about: safeLine(type) }));
		const labelled = items.filter(({ id }) => query !== "" && manager.getLabel(id) === query);
		return manager.getEntry(query)
			? query
			: labelled.length === 1
				? labelled[0].id
				: findOne(query, items, "entry", `pi-sessions tree ${safeLine(path)} shows them`).id;
	});
}
