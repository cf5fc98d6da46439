// What pi's process and the processes that talk to a store have in common (see store.mjs).
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);

/** The processes that talk to a store get its whole address in the variable. */
export const { SETTINGS_FILE, STORE_VARIABLE } = require("../store/setting-names.js");

export const { expandHome } = require("../home.js");

/** The directory of pi's settings and sessions. */
export const agentDirIn = (env) => expandHome(env.PI_CODING_AGENT_DIR || join("~", ".pi", "agent"));

/** Whether the environment names a store, or there are settings that may. */
export const isStoreNamed = (env = process.env) => Boolean(env[STORE_VARIABLE]) || existsSync(join(agentDirIn(env), SETTINGS_FILE));

/** How long a session counts as in use after the last claim, in milliseconds. */
export const CLAIM_MS = 60_000;

export const isExclusive = () => process.env.PI_SESSION_NATIVE_LOCK === "exclusive";

/** A failure that trying again does not mend. */
export const notStored = (session, { message }) => `session ${session} is not stored: ${message}`;

/** The command that pulls what pi's start did not. `dir` is pi's argument. */
export const pullCommand = (dir) => (dir === undefined ? "pi-sessions pull" : `pi-sessions pull --dir ${dir}`);

/** A value, with its arrays of bytes and numbers, as text. A start without a store does not load what this needs. */
export const packed = (value) => require("node:v8").serialize(value).toString("base64");

/** The same value again. */
export const unpacked = (text) => require("node:v8").deserialize(Buffer.from(text, "base64"));

/**
 * Where the sessions of the working directory are, as options of a `SessionSync`.
 * @param {string | undefined} dir pi's argument
 * @param {string} address
 */
export async function placeHere(dir, address) {
	const { defaultDir, pathOf, sessionDir, sessionsRoot } = await import("../cli/session-dir.mjs");
	const cwd = process.cwd();
	const own = sessionDir({ dir, cwd });
	const notes = require("../store/notes.js").notesBeside(sessionsRoot());
	const copies = async () => (await import("../cli/sessions.mjs")).everySessionFile({ dir, cwd });
	return { address, notes, copies, dir: own === undefined ? defaultDir(cwd) : pathOf(own), isShared: own !== undefined, cwd, ...rulesBeside(notes) };
}

/** What may leave this machine, as options of a `SessionSync`. */
export const rulesBeside = (notes) => require("../store/settings.js").pushRules(dirname(notes));

/** The project of a directory: set in the environment or in the settings, or found there. */
export const projectIn = (cwd, host, notes, set) => require("../store/settings.js").projectIn(cwd, host, dirname(notes), set);

/** How soon others' lines are asked for again, in milliseconds; twice as late after each failure, and at most once a minute. */
const PULL_MS = 5000;
const LONGEST_PULL_MS = 60_000;

/** How long to wait until others' lines are asked for again, after a pull that came after a pause of `before`. */
export function pullPause(before, { hasFailed, goesOn, isIdle }) {
	if (hasFailed) return doubled(before, PULL_MS, LONGEST_PULL_MS);
	if (goesOn) return 0;
	return isIdle ? LONGEST_PULL_MS : PULL_MS;
}

/** Twice a pause; at least `least` and at most `most`. */
export const doubled = (pause, least, most) => Math.min(most, Math.max(pause, least) * 2);
