// A store that a command works with, and the sessions here that it keeps.
import { dirname } from "node:path";
import { defaultDir, everySessionFile, pathOf, sessionFiles, sessionsRoot } from "../../../../lib/shared/session-dir.mjs";
import { safeLine } from "../../../../lib/shared/text.mjs";
import { readAddress } from "../base/address.js";
import { directoryAnswers } from "../logs/directory-probe.js";
import { SessionSync, StoreError, hostId, openStore } from "../index.js";
import local from "../machine/local-sessions.js";
import settingNames from "../machine/setting-names.js";
import settings from "../machine/settings.js";
import { UsageError } from "../../../../lib/cli/errors.mjs";
import { writeWarning } from "../../../../lib/cli/output.mjs";
import { cwdOf, sessionDir, workingDirectory } from "../../../../lib/cli/dir-options.mjs";

/** @typedef {import("../index.js").LineStore} LineStore */
/** @typedef {{ cwd?: string, dir?: string, json?: boolean, all?: boolean, store?: string, dryRun?: boolean }} Options */
/** @typedef {{ store: LineStore, address: string, shown: string, notesDir: string }} Connection */

/** How long a directory may take to answer, if the variable does not say it. */
const ANSWER_MS = 10_000;

const agentDir = () => dirname(sessionsRoot());

/**
 * Works with the store that is named.
 * @template T
 * @param {Options} options
 * @param {(connection: Connection) => Promise<T>} work
 * @param {(connection: Connection, options: Options) => Promise<void>} [check]
 * @returns {Promise<T>}
 */
export async function withStore(options, work, check = checkAnswers) {
	const text = addressOf(options);
	if (!text) throw new UsageError("Which store? --store <url>, PI_SESSION_NATIVE_STORE, or session-store.json in the agent's directory");
	const connection = await connectTo(text);
	// Of a store that does not answer nothing is asked, nor is it closed: a call to a drive that hangs would never end.
	await check(connection, options);
	try {
		return await work(connection);
	} finally {
		await connection.store.close();
	}
}

/**
 * Throws if a directory does not answer: another process asks first, because a call to a drive that hangs would keep this one from ending.
 * @param {Connection} connection
 * @param {Options} options
 */
export async function checkAnswers({ address, shown }, { json = false }) {
	if (readAddress(address).kind !== "directory") return;
	const timeout = settings.answerTimeout(ANSWER_MS, (line) => writeWarning(line, json));
	if (!(await directoryAnswers(address, timeout))) throw new StoreError("unreachable", `${shown}: the store did not answer within ${timeout / 1000} s`);
}

/** @param {Options} options */
function addressOf(options) {
	if (options.store) settings.checkArgument(options.store);
	return options.store || settings.storeAddress(agentDir());
}

/**
 * Works with the store, if one is named and answers; else without it.
 * @param {Options} options
 * @param {(connection: Connection | undefined, silence?: string) => Promise<void>} work `silence`: that the store did not answer
 */
export async function ifStoreIsNamed(options, work) {
	if (!addressOf(options)) return work(undefined);
	/** @type {string | undefined} */
	let silence;
	const check = (/** @type {Connection} */ connection) => checkAnswers(connection, options).catch((error) => void (silence = error.message));
	await withStore(options, (connection) => work(silence === undefined ? connection : undefined, silence), check);
}

/** The directory of this machine's notes. */
export const notesDirHere = () => settingNames.notesIn(agentDir());

/** @param {string} text @returns {Promise<Connection>} */
async function connectTo(text) {
	const { withSecrets, shown } = readAddress(text);
	const notesDir = notesDirHere();
	return { store: await openStore(withSecrets, { host: hostId(notesDir), locks: notesDir }), address: withSecrets, shown, notesDir };
}

/**
 * The sessions of the working directory.
 * @param {Connection} connection
 * @param {Options} options
 */
export function syncHere(connection, options) {
	const own = sessionDir(options);
	const cwd = workingDirectory(options);
	return syncIn(connection, own === undefined ? defaultDir(cwd) : pathOf(own), cwd, own !== undefined, options);
}

/** What was said of directories: `sync` looks at each twice. @type {Set<string>} */
const warned = new Set();

/** @param {Connection} connection @param {string} dir @param {string} cwd @param {boolean} isShared @param {Options} options */
async function syncIn({ store, address, notesDir }, dir, cwd, isShared, options) {
	const { project, why } = await projectHere(cwd, store.host);
	if (why !== undefined && !warned.has(why)) writeWarning(safeLine(why), Boolean(options.json));
	if (why !== undefined) warned.add(why);
	return new SessionSync({ store, address, notes: notesDir, dir, cwd, isShared, project, otherFiles: () => everySessionFile(sessionDir(options)), ...settings.pushRules(agentDir()) });
}

/**
 * The project of a directory, and why it is this machine's alone, if it is.
 * @param {string} cwd
 * @param {string} host
 */
export async function projectHere(cwd, host) {
	const { project, isOwn, problem } = await settings.projectIn(cwd, host, agentDir());
	const why = problem ?? (isOwn ? `${cwd} has no git remote, so its sessions are shared with no other machine (PI_SESSION_NATIVE_PROJECT, or projects in session-store.json, names a project)` : undefined);
	return { project, why };
}

/**
 * The sessions of every working directory that has some here.
 * @param {Connection} connection
 * @param {Options} options
 */
export async function syncsOfAll(connection, options) {
	const isShared = sessionDir(options) !== undefined;
	const syncs = [];
	for (const dir of new Set(sessionFiles(sessionDir(options)).map((path) => dirname(path)))) {
		const found = [...(await local.localSessions(dir)).values()];
		const directories = new Set(found.flatMap(({ cwd }) => cwd ?? []));
		// A directory of pi's own has the sessions of one working directory.
		for (const cwd of isShared ? directories : [...directories].slice(0, 1)) syncs.push(await syncIn(connection, dir, cwd, isShared, options));
	}
	return syncs;
}

/**
 * The session with this id here, in the directory of the working directory if it is there.
 * @param {string} session
 * @param {Options} options
 */
export async function sessionHere(session, options) {
	const cwd = cwdOf(options);
	const first = cwd === undefined ? undefined : defaultDir(cwd);
	const dirs = new Set(sessionFiles(sessionDir(options)).map((path) => dirname(path)));
	for (const dir of [...dirs].sort((a, b) => Number(b === first) - Number(a === first))) {
		const found = (await local.localSessions(dir)).get(session);
		if (found) return found;
	}
	return undefined;
}

/**
 * The session that a file has.
 * @param {Connection} connection
 * @param {import("../machine/local-sessions.js").LocalSession} local
 * @param {Options} options
 */
export const syncOf = (connection, { file, cwd }, options) => syncIn(connection, dirname(file), cwd ?? workingDirectory(options), false, options);
