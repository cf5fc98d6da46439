// The store of a command, and the sessions of this machine that it synchronises.
import { dirname } from "node:path";
import { readAddress } from "../base/address.js";
import { messageOf } from "../base/errors.js";
import { hostId, openStore, SessionSync, StoreError } from "../index.js";
import { directoryAnswers } from "../logs/directory-probe.js";
import { agentDir, notesIn } from "../machine/agent-dir.js";
import local from "../machine/local-sessions.js";
import { isOpen } from "../machine/open-files.js";
import { onDisk } from "../machine/session-path.js";
import settings from "../machine/settings.js";
import { defaultDir, everySessionFile, namedDir, sessionDirs, workingDirectory } from "./sessions.mjs";
import { UsageError, writeWarning } from "./terminal.mjs";

/** @typedef {import("./sessions.mjs").Options} Options */
/**
 * @typedef {{ store: import("../index.js").LineStore, address: string, shown: string, notesDir: string, rules:
 * ReturnType<typeof settings.pushRules> }} Connection
 */

/** The time limit for a directory to answer, because a call to a drive that hangs never ends. */
const ANSWER_MS = 10_000;

/** The directory of this machine's notes. */
export const notesDirHere = () => notesIn(agentDir());

/**
 * Works with the store that is named.
 * @template T
 * @param {Options} options
 * @param {(connection: Connection) => Promise<T>} work
 * @param {(connection: Connection) => Promise<void>} [check]
 * @returns {Promise<T>}
 */
export async function withStore(options, work, check = checkAnswers) {
	const text = addressOf(options);
	if (!text)
		throw new UsageError(
			"No store is named: use --store <url>, PI_SYNC_STORE, or store in session-store.json in pi's directory",
		);
	const { withSecrets: address, shown } = readAddress(text);
	const notesDir = notesDirHere();
	const store = await openStore(address, { host: await hostId(notesDir), locks: notesDir });
	const connection = {
		store,
		address,
		shown,
		notesDir,
		rules: settings.pushRules(agentDir()),
	};
	// If the store does not answer, we do not close it, because a call to a drive that hangs would never end.
	await check(connection);
	try {
		return await work(connection);
	} finally {
		await store.close();
	}
}

/** Throws if a directory does not answer another process. @param {Connection} connection */
export async function checkAnswers({ address, shown }) {
	if (readAddress(address).kind === "directory" && !(await directoryAnswers(address, ANSWER_MS)))
		throw new StoreError("unreachable", `${shown}: the store did not answer within ${ANSWER_MS / 1000} s`);
}

/** @param {Options} options */
function addressOf(options) {
	if (!options.store) return settings.storeAddress(agentDir());
	try {
		settings.checkArgument(options.store);
	} catch (error) {
		throw new UsageError(messageOf(error));
	}
	return options.store;
}

/**
 * Works with the store if one is named and answers, else without it.
 * @param {Options} options
 * @param {(connection: Connection | undefined, silence?: string) => Promise<void>} work `silence`: the error of a store
 * that did not answer
 */
export async function ifStoreIsNamed(options, work) {
	if (!addressOf(options)) return work(undefined);
	/** @type {string | undefined} */
	let silence;
	const check = (/** @type {Connection} */ connection) =>
		checkAnswers(connection).catch((error) => void (silence = error.message));
	await withStore(options, (connection) => work(silence === undefined ? connection : undefined, silence), check);
}

/** The sessions of the working directory. @param {Connection} connection @param {Options} options */
export function syncHere(connection, options) {
	const [cwd, dir] = [workingDirectory(options), namedDir(options)];
	return syncIn(connection, { dir: dir ?? defaultDir(cwd), cwd, isShared: dir !== undefined }, options);
}

/**
 * The sessions of a file's directory.
 * @param {Connection} connection
 * @param {import("../machine/local-sessions.js").LocalSession} local
 * @param {Options} options
 */
export const syncOf = (connection, { file, cwd }, options) =>
	syncIn(connection, { dir: dirname(file), cwd: cwd ?? workingDirectory(options), isShared: false }, options);

/**
 * The sessions of every working directory that has some on this machine. A directory that cannot be read is skipped
 * with a warning.
 * @param {Connection} connection
 * @param {Options} options
 */
export async function syncsOfAll(connection, options) {
	const isShared = namedDir(options) !== undefined;
	const syncs = [];
	for (const dir of sessionDirs(options)) {
		const sessions = await local.localSessions(dir).catch((error) => {
			writeWarning(`Skipped: ${error.message}`, Boolean(options.json));
			return new Map();
		});
		const found = [...sessions.values()];
		const directories = [...new Set(found.flatMap(({ cwd }) => cwd ?? []))];
		// A default session directory contains the sessions of one working directory.
		for (const cwd of isShared ? directories : directories.slice(0, 1))
			syncs.push(await syncIn(connection, { dir, cwd, isShared }, options));
	}
	return syncs;
}

/**
 * @param {Connection} connection
 * @param {{ dir: string, cwd: string, isShared: boolean }} place
 * @param {Options} options
 */
async function syncIn({ store, address, notesDir, rules }, place, options) {
	const { project, problem, why } = await projectHere(place.cwd, store.host, options);
	// The other commands report the problem as an error.
	if (why !== undefined && (problem === undefined || options.all)) writeWarning(why, Boolean(options.json));
	return new SessionSync({
		store,
		address,
		notes: notesDir,
		...place,
		project,
		projectProblem: problem,
		otherFiles: () => everySessionFile(options),
		isOpen: (file) => isOpen(notesDir, file),
		...rules,
	});
}

/**
 * The project of a directory; `why` is the reason if the project belongs to this machine alone, and `problem` if that
 * is because git failed.
 * @param {string} cwd
 * @param {string} host
 * @param {Options} options
 */
export async function projectHere(cwd, host, options) {
	// The variable names the project of the working directory only.
	const set = onDisk(cwd) === onDisk(workingDirectory(options)) ? undefined : "";
	const { project, isOwn, problem } = await settings.projectIn(cwd, host, agentDir(), set);
	const why =
		problem ??
		(isOwn
			? `${cwd} has no git remote that names its project, so no other machine gets its sessions ` +
				"(projects in session-store.json names a project)"
			: undefined);
	return { project, problem, why };
}
