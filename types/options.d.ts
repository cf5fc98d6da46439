// Options for opening and writing a session's file.

/**
 * Options for writing a session's file. The environment variables `PI_SESSION_NATIVE_DURABILITY` and
 * `PI_SESSION_NATIVE_LOCK` set the defaults. Sessions in memory ignore the options. `create`, `inMemory` and `forkFrom`
 * ignore unknown options, as pi does; `open` and `continueRecent` throw.
 *
 * @example
 * ```ts
 * const options: SessionFileOptions = { durability: "fsync", lock: "exclusive" };
 * const mine = SessionManager.create(cwd, dir, options);
 * mine.close();
 * ```
 */
export interface SessionFileOptions {
	/**
	 * An append returns when the operating system has the line (`"os"`, the default: the line survives the end of this
	 * process), or when the line is on the disk (`"fsync"`: it survives a power failure).
	 */
	durability?: "os" | "fsync" | undefined;
	/**
	 * Every manager may write to the file (`"none"`, the default), or only this manager (`"exclusive"`). The session lock
	 * is advisory: every manager of this package checks it before it writes, but pi does not. `close` releases it, and so
	 * does any end of the process. With `PI_SESSION_NATIVE_LOCK=exclusive` the process owns it, and its managers share
	 * it.
	 */
	lock?: "none" | "exclusive" | undefined;
}

/**
 * Options of `SessionManager.open`.
 *
 * @example
 * ```ts
 * const options: OpenOptions = { readonly: true };
 * console.log(SessionManager.open(file, options).getEntries().length); // → 2
 * ```
 */
export interface OpenOptions extends SessionFileOptions {
	/**
	 * Never writes and takes no lock. The file must exist; a file of version 1 or 2 is migrated in memory (the id of an
	 * entry of version 1 is its number), and calls that change the session throw. `reload` reads the entries of others
	 * and moves the leaf to the last entry. `isPersisted` is false.
	 */
	readonly?: boolean | undefined;
	/** The directory of new sessions of this manager; by default the directory of the file. */
	sessionDir?: string | undefined;
	/** The working directory; by default the working directory in the header. */
	cwd?: string | undefined;
}
