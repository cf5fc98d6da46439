// The functions and constants; src/api/functions.rs contains the functions in Rust.

/**
 * Which binding artifact the generated loader actually loaded: `'native'` for
 * a native addon, otherwise the `platformArchABI` of the WASI flavor. Every
 * flavor napi-rs can build is listed, because `NAPI_RS_NATIVE_LIBRARY_PATH`
 * can point the loader at a WASI artifact this package does not build itself.
 */
export declare const __napiBindingTarget: "native" | "wasm32-wasi" | "wasm32-wasip1";

/**
 * Throws if a session id cannot be part of a file name.
 *
 * @throws If the id is empty, has characters other than letters, digits, `-`, `_` and `.`, or does not begin and end
 * with a letter or digit.
 * @example
 * ```ts
 * assertValidSessionId("2025-06-01.draft");
 * ```
 */
export declare function assertValidSessionId(id: string): void;

/**
 * The entries of the context at an entry: the newest compaction on its path, then the entries that it kept, then all
 * later entries.
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
 * The model's context at an entry: messages, thinking level and model.
 *
 * @throws `TypeError` if the entries are not an array.
 * @example
 * ```ts
 * const [all, none] = [buildSessionContext(entries), buildSessionContext(entries, null)];
 * console.log(all.messages.length, none.messages.length); // → 2 0
 * ```
 */
export declare function buildSessionContext(
	entries: SessionEntry[],
	leafId?: string | null,
	byId?: Map<string, SessionEntry>,
): SessionContext;

/**
 * The context at an entry, for each entry of its path and as one list of messages.
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
 * The version of new session files.
 *
 * @example
 * ```ts
 * console.log(CURRENT_SESSION_VERSION); // → 3
 * ```
 */
export declare const CURRENT_SESSION_VERSION: SessionVersion;

/**
 * The session file in a directory that changed last, optionally only for one working directory; null if there is
 * none.
 *
 * @throws `TypeError` for a directory that is not a string or not a valid path. If it is missing or cannot be read,
 * the result is null.
 * @example
 * ```ts
 * console.log(findMostRecentSession(dir) === file, findMostRecentSession("/nowhere")); // → true null
 * ```
 */
export declare function findMostRecentSession(sessionDir: string, cwd?: string): string | null;

/**
 * The session directory that is configured for pi in a working directory, by default the process's: the environment
 * variable `PI_CODING_AGENT_SESSION_DIR`, otherwise `sessionDir` in the project's `.pi/settings.json`, otherwise
 * `sessionDir` in the agent's `settings.json`. Undefined if there is none, and sessions are in the default
 * directories. `search`, `usage`, `findByIdPrefix` and `pi-sessions` use this directory; `list`, `create` and the
 * others use only the directory in their arguments, as in pi.
 *
 * `onWarning` is called with a text if settings cannot be read and are therefore ignored.
 *
 * @throws `TypeError` for an argument of a wrong type, or an unknown option.
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
 * The default session directory of a working directory. It is created if necessary, unless `create` is false.
 *
 * @throws If the directory cannot be created.
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
 * The default session directory of a working directory, created if necessary. `agentDir` replaces the agent's own
 * directory.
 *
 * @throws If the directory cannot be created.
 * @example
 * ```ts
 * console.log(getDefaultSessionDir("/home/me/shop", dir).endsWith("--home-me-shop--")); // → true
 * ```
 */
export declare function getDefaultSessionDir(cwd: string, agentDir?: string): string;

/**
 * The last compaction entry of an array, or null.
 *
 * @throws `TypeError` if the entries are not an array.
 * @example
 * ```ts
 * console.log(getLatestCompactionEntry(entries)); // → null
 * ```
 */
export declare function getLatestCompactionEntry(entries: SessionEntry[]): CompactionEntry | null;

/**
 * The header and entries of a session file, without migration; empty if the file does not exist or is not a session.
 *
 * @throws If the file exists and cannot be read.
 * @example
 * ```ts
 * console.log(loadEntriesFromFile(file).length, loadEntriesFromFile("/nowhere.jsonl").length); // → 3 0
 * ```
 */
export declare function loadEntriesFromFile(filePath: string): FileEntry[];

/**
 * Migrates the objects of a session to the current version, in place.
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
 * Every value in a text of JSON lines; invalid lines are skipped.
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
 * The messages of an entry in the model's context, after an edit.
 *
 * @throws `TypeError` if the entry is not an object.
 * @example
 * ```ts
 * console.log(projectContextEntry(manager.getEntry(id)!, undefined).length); // → 1
 * ```
 */
export declare function projectContextEntry(entry: SessionEntry, edit: ContextEditEntry | undefined): AgentMessage[];

/**
 * The header of a session file, read without the entries; null if the file is not a session. Nothing is migrated.
 *
 * The header is the first line that is JSON. At most 64 MiB of damaged lines before it are skipped, as in lists.
 *
 * @throws `TypeError` if the path is not a string. The error of the system if the file is missing, is not a regular
 * file, or cannot be read.
 * @example
 * ```ts
 * console.log(readSessionHeader(file)?.version); // → 3
 * ```
 */
export declare function readSessionHeader(path: string): SessionHeader | null;

/**
 * Redacts lines that are in no session file, such as lines of a store. Returns the lines that change, as
 * `SessionManager.redact` reports them. If a session file is named and contains the entry of such a line, the line of
 * the file is redacted and returned in place of the given one, because a user may have edited the file. No file is
 * changed.
 *
 * @throws `TypeError` for an invalid argument. The error of the system if the file cannot be read.
 * @example
 * ```ts
 * const line = Buffer.from(`{"type":"custom","id":"c0ffee00","parentId":null,"customType":"x","data":"hunter2"}`);
 * const [changed] = redactLines([line], { text: "hunter2" });
 * console.log(Buffer.from(changed!.line).includes("[redacted]")); // → true
 * ```
 */
export declare function redactLines(
	lines: readonly Uint8Array[],
	what: RedactInput,
	path?: string,
): RedactReport["lines"];

/**
 * The messages of a single entry in the model's context.
 *
 * @throws `TypeError` if the entry is not an object.
 * @example
 * ```ts
 * console.log(sessionEntryToContextMessages(manager.getEntry(id)!)[0]?.role); // → user
 * ```
 */
export declare function sessionEntryToContextMessages(entry: SessionEntry): AgentMessage[];

/**
 * Sets the agent's directory for this thread, because a renamed build of pi has its own directory, which other
 * programs must use. It overrides `PI_CODING_AGENT_DIR` and `~/.pi/agent`; undefined returns to these. Under
 * `pi-native` it is set already.
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
 * Returns the table of kinds: for each type of an entry and each role of a message that pi writes, its texts, the
 * fields that refer to other entries, and the message that it makes for the model. Entries of other types are kept
 * and returned unchanged.
 *
 * @example
 * ```ts
 * const { entries, roles } = entryKinds();
 * console.log(entries.label?.refersTo, roles.toolResult?.speaker); // → [ 'targetId' ] tool
 * ```
 */
export declare function entryKinds(): EntryKinds;

/**
 * Locks a file without waiting, so that one process at a time does something. The file is created if necessary,
 * readable only by its owner, and is never removed.
 *
 * Returns a function that releases the lock, or null if another process or this one has already locked the file. The
 * lock also ends when that function is collected, when the thread ends, and at any end of the process. Child
 * processes do not inherit it. It is a lock of the operating system (`flock`, on Windows `LockFileEx`).
 *
 * @throws `TypeError` if the path is not a string. If the file cannot be opened or locked, with the system's code:
 * `ENOENT` if its directory is missing, `ELOOP` if it is a symbolic link, `ENOLCK` or `EOPNOTSUPP` on a file system
 * without locks.
 * @example
 * ```ts
 * const release = tryLockFile(`${dir}/only-one.lock`);
 * console.log(typeof release, tryLockFile(`${dir}/only-one.lock`)); // → function null
 * release?.();
 * ```
 */
export declare function tryLockFile(path: string): (() => void) | null;

/**
 * Removes the escape sequences of terminals (ECMA-48: colours, cursor movements, links, titles) from a text, because a
 * reader does not see them. Search, lists and `pi-sessions` use the same rule: a sequence begins with U+001B, and an
 * incomplete one is text. Other control characters stay, so the result is not yet safe for a terminal.
 *
 * @throws `TypeError` if it is not a string.
 * @example
 * ```ts
 * console.log(withoutEscapeSequences("\u001b[32m12 passed\u001b[39m")); // → 12 passed
 * ```
 */
export declare function withoutEscapeSequences(text: string): string;
