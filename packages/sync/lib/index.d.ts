import type { RedactInput, RedactReport } from "pi-session-native";

/** The code of an error, for programs. */
export type StoreErrorCode =
	/** No answer, or a broken connection. Trying again may help. */
	| "unreachable"
	/** No space is left. Trying again may help, once there is some. */
	| "full"
	/** The store can be read but not written. */
	| "read-only"
	/** The store refuses these credentials. */
	| "denied"
	/** Another release, usually a newer one, created the store. */
	| "newer-schema"
	/** An argument, a setting or a file of this machine cannot be used. */
	| "invalid"
	/**
	 * The cursor does not belong to the present state of the session, because the session was deleted, the store was
	 * restored from a backup, or the cursor is of another store: load the session from the beginning. `append` to a
	 * deleted session is refused with `deleted`.
	 */
	| "reset"
	/** The session was deleted from the store for ever. A fork of it, which has another id, can be stored. */
	| "deleted"
	/** A line contains a secret, by the rules for lines that may leave this machine. */
	| "held-back"
	/** A pi of this machine has the session open: the next pull after pi has closed it changes the file. */
	| "open"
	/** There is no such session. */
	| "not-found"
	/** The server does not do what this package needs. */
	| "unsupported"
	/** Any other failure of the store. */
	| "failed";

export class StoreError extends Error {
	constructor(code: StoreErrorCode, message: string, options?: { cause?: unknown });
	readonly code: StoreErrorCode;
	/** The same call may succeed later. */
	readonly retryable: boolean;
}

/** A position in the lines of a session. It is opaque: each adapter has its own form. */
export type Cursor = string;

export interface Append {
	/**
	 * The line of the session's header, without line break. The store keeps the header of the host that appends first.
	 */
	header: Uint8Array;
	/** Lines of entries, without line breaks. A line that is not an entry is refused. */
	lines: readonly Uint8Array[];
	/**
	 * The project of the session: a name that is the same on every machine. The store keeps the project of the host that
	 * appends first.
	 */
	project?: string;
	/**
	 * Everything up to this cursor was loaded or appended by this host. The new lines sort after this cursor. The store
	 * compares them only with lines that this host appended after it, so a line before it would be stored twice. Without
	 * a cursor they are compared with everything that this host ever appended.
	 */
	after?: Cursor;
}

export interface Appended {
	/** How many lines were new. */
	stored: number;
	/**
	 * Has passed the appended lines, or is `after`: in PostgreSQL if anybody appended since `after`, in a directory or a
	 * bucket if another process of this host appended other lines.
	 */
	cursor: Cursor;
}

export interface StoredLine {
	line: Buffer;
	/** The host that appended it. */
	host: string;
	/**
	 * The line's position in the order (see `compareLines`): a logical counter, which in PostgreSQL is the line's
	 * sequence number.
	 */
	clock: number;
	index: number;
}

/** Something in the store that cannot be used. It is skipped, and the rest is used. */
export interface Problem {
	session: string;
	/** The row, the file or the object. */
	where: string;
	/** The reason. */
	message: string;
}

export interface Page {
	/** In the store's order within the page. A line of an earlier page may come again. */
	lines: StoredLine[];
	/** The cursor for the next load. */
	cursor: Cursor;
	/** Whether all lines come after everything that the cursor had passed: they can be added at the end. */
	comesAfter: boolean;
	/** Whether there are more lines after this page. */
	more: boolean;
	problems: Problem[];
}

export interface StoredSession {
	session: string;
	/**
	 * The name of its project. After a `move`, a directory and a bucket return the old name for a list of this session
	 * alone.
	 */
	project?: string;
	/** The hosts that appended, sorted. */
	hosts: string[];
	/** The approximate size of the session in the store. */
	bytes: number;
	/** When something was last appended, by the store's time. For display: no order depends on it. */
	modified: Date;
	/** The number of redactions. */
	redactions: number;
}

/** A line that was removed from a session for ever. */
export interface Redaction {
	/** The SHA-256 of the bytes of the line, in hexadecimal digits. */
	hash: string;
	/** Its replacement, which has its place in the order; without one the line is only removed. */
	line?: Buffer;
}

export interface SessionList {
	/** Sorted by id. */
	sessions: StoredSession[];
	/** The deleted sessions, sorted by id. A store remembers them for ever. */
	deleted: { session: string; at: Date }[];
	problems: Problem[];
	/**
	 * The id of the store: random, created with it, and the same for every host. A new store at the same address has
	 * another id; a store that was restored from a backup has the id of the backup. Undefined if nothing was ever stored
	 * there.
	 */
	store?: string;
}

export interface ListFilter {
	session?: string;
	project?: string;
}

/**
 * A store of the lines of sessions, for one host. A line is the bytes of an entry; two lines of a session
 * with equal bytes are one. Every method rejects with a `StoreError`.
 */
export interface LineStore {
	readonly host: string;
	/**
	 * The longest line that it takes, in bytes; without it any length. A push skips longer lines and reports them.
	 */
	readonly longestLine?: number;
	/**
	 * Names for people of copies that `redact` and `delete` do not reach, such as backups; none by default, and of a
	 * directory. `pi-sync redact` prints them.
	 */
	readonly copies?: readonly string[];
	/**
	 * Stores lines. When it resolves, they are durable. It may be repeated after any failure, also in other portions:
	 * lines that are stored already are not stored again. A reader sees all of the lines or none.
	 */
	append(session: string, append: Append): Promise<Appended>;
	/**
	 * Returns lines that were stored after a cursor; without one from the beginning; none if the store does not contain
	 * the session. `stored` is what `list` has just returned of the session: then a store need not list it again, and
	 * newer lines may be missing.
	 */
	load(session: string, after?: Cursor, stored?: StoredSession): Promise<Page>;
	/** Lists every session, the sessions of a project, or one session. */
	list(filter?: ListFilter): Promise<SessionList>;
	/**
	 * Returns the line of a session's header, from the host that appended first; undefined if the store does not contain
	 * the session.
	 */
	header(session: string): Promise<Buffer | undefined>;
	/**
	 * Removes a session and all its lines. The store remembers the deletion, so that nobody stores the session again.
	 * Succeeds if the store does not contain the session.
	 */
	delete(session: string): Promise<void>;
	/**
	 * Removes lines for ever, and puts others in their places. When it resolves, no row, file or object of the store
	 * contains their bytes, except a torn append of a killed process, which the next append of its host removes. A line
	 * that is not stored yet counts, too: a later append of it stores nothing. Rejects with `not-found` or `deleted` if
	 * the store does not contain the session.
	 */
	redact(session: string, redactions: readonly Redaction[]): Promise<void>;
	/** Returns the redacted lines of a session, sorted by hash; none if the store does not contain the session. */
	redactions(session: string): Promise<Redaction[]>;
	/**
	 * Gives the sessions of a project the name of another one, for example after its remote was renamed: `list` of the
	 * other project then contains them. Cursors stay valid. A directory and a bucket still list the
	 * moved sessions under the old name, too. If it is interrupted, it can be repeated.
	 */
	move(from: string, to: string): Promise<void>;
	/** Ends connections that the store opened itself. */
	close(): Promise<void>;
}

export interface DirectoryStoreOptions {
	path: string;
	host: string;
	/** See `OpenStoreOptions`. */
	locks?: string;
}

/** Sessions in a directory: a network drive, a synchronised directory, a checkout. */
export interface DirectoryStore extends LineStore {}
export class DirectoryStore {
	constructor(options: DirectoryStoreOptions);
}

/** The part of a client or pool of the package `pg` that is used. */
export interface Queryable {
	query(statement: { text: string; values?: unknown[] }): Promise<{ rows: any[] }>;
}

export interface PostgresStoreOptions {
	host: string;
	/** A client or a pool of the caller: the store does not end it, and does not set its timeouts. */
	client?: Queryable;
	/** Without a client: `postgres://…`, with the parameters of `pg`, `schema` and `timeout`. */
	url?: string;
	/** Where the tables are: lower-case letters, digits and `_`; by default `pi_session_native`. */
	schema?: string;
}

/** Sessions in PostgreSQL, through the package `pg`. */
export interface PostgresStore extends LineStore {}
export class PostgresStore {
	constructor(options: PostgresStoreOptions);
	/** 200 MiB, which is also the limit of one append. */
	readonly longestLine: number;
}

export interface S3Credentials {
	accessKeyId: string;
	secretAccessKey: string;
	sessionToken?: string;
	expiration?: Date;
}

export interface S3StoreOptions {
	host: string;
	bucket: string;
	/** The prefix of the keys of all objects; empty by default. */
	prefix?: string;
	/**
	 * By default `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, or Amazon's for the region. The bucket is put into its path.
	 */
	endpoint?: string;
	/** By default `AWS_REGION`, `AWS_DEFAULT_REGION`, or `us-east-1`. */
	region?: string;
	/**
	 * A function is called again when its credentials expire (`expiration`); an error of it counts as `unreachable`,
	 * unless it is a `StoreError`. By default `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`; if
	 * the first two are not set, or `AWS_PROFILE` is, AWS's usual places (profiles, single sign-on, containers, web
	 * identity, instances).
	 */
	credentials?: S3Credentials | (() => S3Credentials | Promise<S3Credentials>);
	/** How long to wait while nothing is received or sent, in milliseconds; by default 30,000. */
	timeout?: number;
	/** See `OpenStoreOptions`. */
	locks?: string;
}

/** Sessions in a bucket of an S3-compatible object store, through the package `@aws-sdk/client-s3`. */
export interface S3Store extends LineStore {}
export class S3Store {
	constructor(options: S3StoreOptions);
}

export interface OpenStoreOptions {
	/** The id of this machine: the same in every process of this machine, another one on every other machine. */
	host: string;
	/**
	 * A directory of this machine for lock files, by which its processes write to a session one after the other: the same
	 * in every process with this `host`. By default `session-stores` in pi's directory. PostgreSQL needs none.
	 */
	locks?: string;
}

/**
 * Opens the store at an address: `postgres://…`, `s3://bucket/prefix?endpoint=…&region=…`, `file:///…`, or the path of
 * a directory, in which `~` is the home directory. The first two may have a parameter `timeout`: how many milliseconds
 * to wait while nothing is received or sent.
 */
export function openStore(address: string, options: OpenStoreOptions): Promise<LineStore>;

/** Negative if `a` is before `b` in the order of the store, which is the same on every host. */
export function compareLines(a: StoredLine, b: StoredLine): number;

/** Loads all pages of a session as one, in the store's order, each line once. `stored` as for `load`. */
export function loadAll(store: LineStore, session: string, after?: Cursor, stored?: StoredSession): Promise<Page>;

/** The result of a pull for one session's file. */
export interface PullResult {
	/** The number of lines that were added to the file. */
	added: number;
	problems: Problem[];
	/** Empty for a file that is changed but cannot be stored, for example because it has another version. */
	session: string;
	/** The path of the session's file; empty if there is none. */
	file: string;
	/** Whether the file was created. */
	isNew: boolean;
	/** The number of lines of the file that were redacted because another host had redacted them or their copies. */
	redacted: number;
	/** If it is set, the file did not change. */
	error?: Error;
}

export interface PushResult {
	session: string;
	file: string;
	/** The number of bytes of the file that are now known to be stored, and were not before. */
	bytes: number;
	/** The number of bytes that are not known to be stored. */
	lag: number;
	error?: Error;
}

/** A stored session, and its file on this machine. */
export interface SyncItem {
	session: string;
	stored: StoredSession;
	/** The path of its file; without one a pull creates the file, and its header determines the name. */
	file?: string;
	/**
	 * `new`: this machine has no file of it. `changed`: the store may contain lines that the file does not contain.
	 * `same`: it does not. `deleted`: this machine had a file of it, which was deleted. `open`: it has changed, but a pi
	 * of this machine has it open, so a pull does not change its file.
	 */
	state: "new" | "changed" | "same" | "deleted" | "open";
}

export interface SessionSyncOptions {
	store: LineStore;
	/**
	 * The address of the store. Each store and each `dir` has notes of its own, which contain no secret of the address.
	 * Addresses that differ only in the user, the password or parameters of the connection are one store.
	 */
	address: string;
	/**
	 * A directory of this machine for notes. Notes of how much of a file is stored may be lost; the folder `redacted` in
	 * it must not, because a pull may then bring redacted lines back.
	 */
	notes: string;
	/** The directory of the session files. A pull creates files only there. */
	dir: string;
	/**
	 * Returns the paths of session files in other directories. They may contain copies of entries, which a pull redacts
	 * if another host has redacted these entries.
	 */
	otherFiles?: () => readonly string[] | Promise<readonly string[]>;
	/** The working directory of the sessions, which pulled ones get. */
	cwd: string;
	/** Whether the directory also contains sessions of other working directories, which are not pushed. */
	isShared?: boolean;
	/** The project of the sessions: see `projectOf`. */
	project: string;
	/**
	 * Why the project is not known, for example because git failed. Then a push stores the lines of sessions that the
	 * store contains, and fails with this message for another session, because the store would keep the project for ever.
	 */
	projectProblem?: string;
	/** Whether a session is never pushed. A push calls it again before each portion. */
	isPrivate?: (local: { session: string; cwd: string | undefined; file?: string }) => boolean;
	/**
	 * Returns the name of the secret that a line contains. This line and the lines after it in its session are then not
	 * stored, and the push fails with the code `held-back`.
	 */
	secretIn?: (line: Uint8Array) => string | undefined;
	/**
	 * Whether a pi of this machine has a session file open: pulls do not change such a file, so redactions of other hosts
	 * wait until it is closed. `redact` changes it at once.
	 */
	isOpen?: (file: string) => boolean | Promise<boolean>;
}

/** The sessions of one project on this machine, and a store. */
export class SessionSync {
	constructor(options: SessionSyncOptions);
	/** The directory of the session files. */
	readonly dir: string;
	readonly project: string;
	readonly projectProblem: string | undefined;
	/**
	 * Compares the sessions of the project, or one session, with the store, and loads no lines. `list` is a list of the
	 * store, if the caller has one. `deleted` are sessions that were deleted from the store and have a file on this
	 * machine.
	 */
	compare(options?: { session?: string; list?: SessionList }): Promise<{
		items: SyncItem[];
		problems: Problem[];
		deleted: { session: string; file: string; cwd: string | undefined }[];
	}>;
	/**
	 * Selects the sessions from `compare` whose files do not contain every stored line, also open ones. It asks the store
	 * if the list does not tell, for example after a push.
	 */
	behind(items: SyncItem[]): Promise<SyncItem[]>;
	/**
	 * Adds stored lines to the files of this machine: of the project, of one session, or of `items` from `compare`. A
	 * session whose file was deleted comes back only if `session` names it. It begins with the newest sessions; then come
	 * large ones, and last those in which another host redacted something, which is redacted on this machine first. A
	 * failure is in the result of its session, whose file does not change. Last are results for the files of other
	 * sessions in which copies of redacted entries were redacted.
	 *
	 * @throws If the store cannot be asked.
	 */
	pull(options?: { session?: string; items?: SyncItem[] }): Promise<PullResult[]>;
	/**
	 * Redacts a session's file and its backups, as `SessionManager.redact` does, and the session in the store. `stored`
	 * are the lines that are redacted in the store. If somebody edited an entry in the file by hand, the store still has
	 * its old line; the file's line then replaces it. If the store cannot be reached, `error` says so, and the next push
	 * or pull of the session redacts in the store only the lines that were found in the file.
	 *
	 * @throws If the file cannot be redacted.
	 */
	redact(
		local: { session: string; file: string },
		what: RedactInput,
	): Promise<RedactReport & { stored: RedactReport["lines"]; error?: Error }>;
	/**
	 * Stores the lines of the files of this machine: of the project, of one session, or of the sessions in `local`. It
	 * skips private sessions. A failure is in the result of its session. If the session was deleted from the store, the
	 * failure has the code `deleted`. A push of the whole project reports this once. A push that names the session, or
	 * has it in `local`, reports it each time.
	 *
	 * @throws With the code `invalid` if `session` names a private session.
	 */
	push(options?: {
		session?: string;
		local?: readonly { session: string; file: string; cwd?: string }[];
	}): Promise<PushResult[]>;
	/** Returns the sessions of the project on this machine, or one session; also private ones, which `push` skips. */
	local(session?: string): Promise<{ session: string; file: string; cwd: string | undefined }[]>;
	/** Whether this machine has pushed or pulled a session. */
	isNoted(session: string): boolean;
	/** Whether a session is never pushed. */
	isPrivate(local: { session: string; file?: string; cwd?: string }): boolean;
	/**
	 * Returns the number of bytes of a session's file that are not known to be stored; 0 if the session is private, if a
	 * push found it deleted, or if the file contains no entry yet.
	 */
	lagOf(local: { session: string; file: string }): Promise<number>;
}

/**
 * Returns the id of this machine, the same in every process: `PI_SYNC_HOST`, or an id that is created once and kept in
 * a directory.
 */
export function hostId(folder: string): Promise<string>;

/**
 * Returns the project of a working directory, a name that is the same on every machine: `PI_SYNC_PROJECT` if it is set,
 * else the git remote `origin` or the only remote, with the directory below the repository's root. The remote is in
 * lower case, without user and port. Without such a remote, if it is a local path or a `file:` URL, and if git fails,
 * the name consists of the directory's path and the id of this machine, so that no other machine has a project of that
 * name.
 */
export function projectOf(cwd: string, host: string): Promise<string>;
