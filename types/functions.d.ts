// The functions and constants: those of Rust are in src/api/functions.rs.

/**
 * Which binding artifact the generated loader actually loaded: `'native'` for
 * a native addon, otherwise the `platformArchABI` of the WASI flavor. Every
 * flavor napi-rs can build is listed, because `NAPI_RS_NATIVE_LIBRARY_PATH`
 * can point the loader at a WASI artifact this package does not build itself.
 */
export declare const __napiBindingTarget: "native" | "wasm32-wasi" | "wasm32-wasip1";

/**
 * Refuses a session id that cannot be part of a file name.
 *
 * @throws If the id is empty, has other characters than letters, digits, `-`, `_` and `.`, or begins or ends with a mark.
 * @example
 * ```ts
 * assertValidSessionId("2025-06-01.draft");
 * ```
 */
export declare function assertValidSessionId(id: string): void;

/**
 * The entries that make the context of the path to an entry: the newest compaction first, then what it kept and all
 * after it.
 *
 * @throws `TypeError` if the entries are not an array.
 * @example
 * ```ts
 * console.log(buildContextEntries(entries, id).length); // → 1
 * ```
 */
export declare function buildContextEntries(
	entries: SessionEntry[],
	leafId?: string | null,
	byId?: Map<string, SessionEntry>,
): SessionEntry[];

/**
 * What the model is given at an entry: messages, thinking level and model.
 *
 * @throws `TypeError` if the entries are not an array.
 * @example
 * ```ts
 * console.log(buildSessionContext(entries).messages.length, buildSessionContext(entries, null).messages.length); // → 2 0
 * ```
 */
export declare function buildSessionContext(
	entries: SessionEntry[],
	leafId?: string | null,
	byId?: Map<string, SessionEntry>,
): SessionContext;

/**
 * The context of the path to an entry, per entry and as one list of messages.
 *
 * @throws `TypeError` if the entries are not an array.
 * @example
 * ```ts
 * console.log(buildSessionProjection(entries).entries.map((one) => one.messages.length)); // → [ 1, 1 ]
 * ```
 */
export declare function buildSessionProjection(
	entries: SessionEntry[],
	leafId?: string | null,
	byId?: Map<string, SessionEntry>,
): SessionProjection;

/**
 * The version of the session files that are written.
 *
 * @example
 * ```ts
 * console.log(CURRENT_SESSION_VERSION); // → 3
 * ```
 */
export declare const CURRENT_SESSION_VERSION: SessionVersion;

/**
 * The session file of a directory that was changed last, optionally only of one working directory; null if there is
 * none.
 *
 * @throws `TypeError` for a directory that is not a string or not a valid path. One that is not there or cannot be read has none.
 * @example
 * ```ts
 * console.log(findMostRecentSession(dir) === file, findMostRecentSession("/nowhere")); // → true null
 * ```
 */
export declare function findMostRecentSession(sessionDir: string, cwd?: string): string | null;

/**
 * The session directory that pi is configured to use for a working directory, by default the process's: that of the environment
 * variable `PI_CODING_AGENT_SESSION_DIR`, else `sessionDir` of the project's `.pi/settings.json`, else that of the agent's `settings.json`.
 * Undefined if none is named: sessions are in the default directories then. `search`, `usage`, `findByIdPrefix` and `pi-sessions` look there;
 * `list`, `create` and the like, as pi's, only where they are told.
 *
 * `onWarning` is told of settings that are ignored because they cannot be read.
 *
 * @throws `TypeError` for an argument of a wrong type, or an option that is not known.
 * @example
 * ```ts
 * const configured = getConfiguredSessionDir(cwd, { onWarning: (text) => console.error(text) });
 * const sessions = await SessionManager.list(cwd, configured ?? dir);
 * console.log(configured, sessions.length); // → undefined 1
 * ```
 */
export declare function getConfiguredSessionDir(
	cwd?: string,
	options?: { onWarning?: ((text: string) => void) | undefined },
): string | undefined;

/**
 * The default directory of a working directory's sessions; with `create: false` it is only named, else made if it is
 * not there.
 *
 * @throws If the directory cannot be made.
 * @example
 * ```ts
 * const named = getDefaultSessionDir("/home/me/other", dir, { create: false });
 * console.log(findMostRecentSession(named)); // → null
 * ```
 */
export declare function getDefaultSessionDir(
	cwd: string,
	agentDir: string | undefined,
	options: { create?: boolean | undefined },
): string;

/**
 * The default directory of a working directory's sessions, made if it is not there. `agentDir` takes the place of the
 * agent's own directory.
 *
 * @throws If the directory cannot be made.
 * @example
 * ```ts
 * console.log(getDefaultSessionDir("/home/me/shop", dir).endsWith("--home-me-shop--")); // → true
 * ```
 */
export declare function getDefaultSessionDir(cwd: string, agentDir?: string): string;

/**
 * The last compaction entry of a list, or null.
 *
 * @throws `TypeError` if the entries are not an array.
 * @example
 * ```ts
 * console.log(getLatestCompactionEntry(entries)); // → null
 * ```
 */
export declare function getLatestCompactionEntry(entries: SessionEntry[]): CompactionEntry | null;

/**
 * The header and entries of a session file as they are there, nothing migrated; empty if there is no such file or
 * it is not a session.
 *
 * @throws If the file is there and cannot be read.
 * @example
 * ```ts
 * console.log(loadEntriesFromFile(file).length, loadEntriesFromFile("/nowhere.jsonl").length); // → 3 0
 * ```
 */
export declare function loadEntriesFromFile(filePath: string): FileEntry[];

/**
 * Migrates a session's objects in place to the current version.
 *
 * @throws `TypeError` if the entries are not an array.
 * @example
 * ```ts
 * const old = parseSessionEntries(`{"type":"session","id":"s"}
 * {"type":"message","message":{"role":"user","content":"Hi"}}`);
 * migrateSessionEntries(old);
 * console.log((old[0] as SessionHeader).version, typeof old[1]?.id); // → 3 string
 * ```
 */
export declare function migrateSessionEntries(entries: FileEntry[]): void;

/**
 * Every value in a text of JSON lines; lines that do not parse are skipped.
 *
 * @throws `TypeError` if the content is not a string.
 * @example
 * ```ts
 * const values = parseSessionEntries(`{"type":"session","id":"s"}
 * not JSON`);
 * console.log(values.length); // → 1
 * ```
 */
export declare function parseSessionEntries(content: string): FileEntry[];

/**
 * The messages that one entry gives to the model after an edit.
 *
 * @throws `TypeError` if the entry is not an object.
 * @example
 * ```ts
 * console.log(projectContextEntry(manager.getEntry(id)!, undefined).length); // → 1
 * ```
 */
export declare function projectContextEntry(entry: SessionEntry, edit: ContextEditEntry | undefined): AgentMessage[];

/**
 * The messages that one entry gives to the model by itself.
 *
 * @throws `TypeError` if the entry is not an object.
 * @example
 * ```ts
 * console.log(sessionEntryToContextMessages(manager.getEntry(id)!)[0]?.role); // → user
 * ```
 */
export declare function sessionEntryToContextMessages(entry: SessionEntry): AgentMessage[];

/**
 * Names the agent's directory for the rest of this thread: a renamed build of pi has its own, and a program beside it must look there.
 * It comes before `PI_CODING_AGENT_DIR` and `~/.pi/agent`; undefined returns to these. Under `pi-native` it is known.
 *
 * @throws `TypeError` if it is not a path.
 * @example
 * ```ts
 * setAgentDir("/home/me/.acme/agent");
 * console.log(getDefaultSessionDir("/shop", undefined, { create: false })); // → /home/me/.acme/agent/sessions/--shop--
 * setAgentDir(undefined);
 * ```
 */
export declare function setAgentDir(agentDir: string | undefined): void;

/**
 * Locks a file without waiting, for what one process at a time is to do. The file is made if it is not there, for its owner
 * only, and stays.
 *
 * Gives the function that ends the lock, or null if the file is locked already: by another process, or by this one. The
 * lock also ends when that function is collected, when the thread that took it ends, and when the process ends, however it
 * does; processes that this one starts do not have it. It is the operating system's (`flock`, on Windows `LockFileEx`).
 *
 * @throws `TypeError` if the path is not a string. If the file cannot be opened or locked, with the system's code:
 * `ENOENT` if its directory is not there, `ELOOP` if it is a symbolic link, `ENOLCK` or `EOPNOTSUPP` on a file system
 * without locks.
 * @example
 * ```ts
 * const release = tryLockFile(`${dir}/only-one.lock`);
 * console.log(typeof release, tryLockFile(`${dir}/only-one.lock`)); // → function null
 * release?.();
 * ```
 */
export declare function tryLockFile(path: string): (() => void) | null;
