import type { RedactInput, RedactReport } from "pi-session-native";

/** What went wrong, as a code for programs. */
export type StoreErrorCode =
	/** No answer, or a broken connection. Trying again may help. */
	| "unreachable"
	/** No room is left. Trying again may help, once there is. */
	| "full"
	/** The store can be read but not written. */
	| "read-only"
	/** The store refuses these credentials. */
	| "denied"
	/** A newer release wrote the store. */
	| "newer-schema"
	/** What the caller passed cannot be used. */
	| "invalid"
	/**
	 * The session of a cursor is not that of the store (it was deleted, or put back from a backup, or is another
	 * store's): load it from the beginning. `append` to a deleted session is refused with `deleted`.
	 */
	| "reset"
	/** The session was deleted from the store, and stays so: a fork of it, which has another id, can be stored. */
	| "deleted"
	/** A line holds a secret, by the rules for what may leave this machine. */
	| "held-back"
	/** A pi of this machine has the session open: it is changed once that has closed it. */
	| "open"
	/** There is no such session. */
	| "not-found"
	/** The package that speaks to this kind of store is not installed, or the server lacks what is needed. */
	| "unsupported"
	/** Anything else that the store said. */
	| "failed";

export class StoreError extends Error {
	constructor(code: StoreErrorCode, message: string, options?: { cause?: unknown });
	readonly code: StoreErrorCode;
	/** The same call may succeed later. */
	readonly retryable: boolean;
}

/** What a host has seen of a session. It is opaque: each adapter has its own form. */
export type Cursor = string;

export interface Append {
	/** The line of the session's header, without line break. The store keeps that of the host that appends first. */
	header: Uint8Array;
	/** Lines of entries, without line breaks. A line that is not an entry is refused. */
	lines: readonly Uint8Array[];
	/**
	 * The project of the session: a name that is the same on every machine. The store keeps that of the host that appends
	 * first.
	 */
	project?: string;
	/**
	 * What this host has seen: the lines come after all of that, and are not among it. They are compared with what this
	 * host appended since. Without a cursor they are compared with everything that it ever appended.
	 */
	after?: Cursor;
}

export interface Appended {
	/** How many lines were new. */
	stored: number;
	/** It has passed the appended lines, too, if nothing else was appended since `after`; otherwise it is `after`. */
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
	/** Why. */
	message: string;
}

export interface Page {
	/** In the store's order within the page. A line that was given before may be given again. */
	lines: StoredLine[];
	/** The cursor for the next load. */
	cursor: Cursor;
	/** Whether all lines come after everything that the cursor had passed: they can be added at the end. */
	comesAfter: boolean;
	/** Whether there are more lines than this page has. */
	more: boolean;
	problems: Problem[];
}

export interface StoredSession {
	session: string;
	project?: string;
	/** The hosts that appended, sorted. */
	hosts: string[];
	/** The approximate size of what is stored. */
	bytes: number;
	/** When something was last appended, by the store's time. For display: no order depends on it. */
	modified: Date;
	/** Grows with each line that is redacted. */
	redactions: number;
}

/** A line that was removed from a session for ever. */
export interface Redaction {
	/** The SHA-256 of the bytes of the line, in hexadecimal digits. */
	hash: string;
	/** The line that stands in its place, in the same place of the order; none if absent. */
	line?: Buffer;
}

export interface SessionList {
	/** Sorted by id. */
	sessions: StoredSession[];
	/** The sessions that were deleted, sorted by id. They are kept for ever. */
	deleted: { session: string; at: Date }[];
	problems: Problem[];
	/**
	 * The id of the store: random, made with it, and the same for every host. A store that was made anew at the same
	 * address has another one; one that was restored from a backup has that of the backup. Undefined if nothing was ever
	 * stored there.
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
	/** Names for people of copies that `redact` and `delete` do not reach, such as backups; none by default. */
	readonly copies?: readonly string[];
	/**
	 * Stores lines. When it resolves, they are durable. It may be repeated after any failure, also in other portions:
	 * lines that are stored already are not stored again. A reader sees all of the lines or none.
	 */
	append(session: string, append: Append): Promise<Appended>;
	/**
	 * Lines that were stored after a cursor; from the beginning without one. A session that is not there has none.
	 * `stored` is what `list` has just said of the session: a store may spare itself another look then, and what came
	 * since may be missing.
	 */
	load(session: string, after?: Cursor, stored?: StoredSession): Promise<Page>;
	/** What is stored: of every session, of a project, or of one session. */
	list(filter?: ListFilter): Promise<SessionList>;
	/**
	 * The line of a session's header, from the host that appended first; undefined if the session is not there. `stored`
	 * as for `load`.
	 */
	header(session: string, stored?: StoredSession): Promise<Buffer | undefined>;
	/**
	 * Removes a session and all its lines; only that it was deleted stays known, so that nobody stores it again. Removing
	 * a session that is not there succeeds.
	 */
	delete(session: string): Promise<void>;
	/**
	 * Removes lines for ever, and puts others in their places: no row, file or object of the store has their bytes when
	 * it resolves, but for what a killed process left of an append, which the next append of its host removes. A line
	 * that is not there yet counts, too: if it is appended later nothing is stored. Rejects with `not-found` or `deleted`
	 * where there is no such session.
	 */
	redact(session: string, redactions: readonly Redaction[]): Promise<void>;
	/** The lines of a session that were redacted, sorted by hash; none where there is no such session. */
	redactions(session: string): Promise<Redaction[]>;
	/**
	 * Gives the sessions of a project the name of another one, as after its remote was renamed: `list` of the other one
	 * has them. Nothing else changes, and cursors hold. A directory and a bucket list them under the old name, too.
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
	/** A client or a pool, which stays the caller's: it is not ended, and its timeouts are its own. */
	client?: Queryable;
	/** Without a client: `postgres://…`, with the parameters of `pg`, `schema` and `timeout`. */
	url?: string;
	/** Where the tables are: lower-case letters, digits and `_`; by default `pi_session_native`. */
	schema?: string;
	/**
	 * How long to wait for a connection, and then while nothing is received or sent, in milliseconds; by default the
	 * address's parameter `timeout`, or 30,000. Not for a client of the caller's.
	 */
	timeout?: number;
}

/** Sessions in PostgreSQL, through the package `pg`. */
export interface PostgresStore extends LineStore {}
export class PostgresStore {
	constructor(options: PostgresStoreOptions);
	/** 200 MB, which is also the most that one append takes. */
	readonly longestLine: number;
}

export interface S3Credentials {
	accessKeyId: string;
	secretAccessKey: string;
	sessionToken?: string;
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
	 * A function is called before each request; what it throws counts as `unreachable`, unless it is a `StoreError`. By
	 * default `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`; where the first two are not set,
	 * AWS's usual places (profiles, single sign-on, containers, web identity, instances).
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
	/** The id of this machine: the same in every process here, another one everywhere else. */
	host: string;
	/**
	 * A directory of this machine, the same in every process with this `host`, for the lock files by which they write to
	 * a session one after the other. By default `session-stores` in the agent's directory, where pi's own are. PostgreSQL
	 * needs none.
	 */
	locks?: string;
}

/**
 * Opens the store at an address: `postgres://…`, `s3://bucket/prefix?endpoint=…&region=…`, `file:///…`, or the path of
 * a directory, in which `~` is the home directory. The first two may have a parameter `timeout`: how many milliseconds
 * to wait while nothing is received or sent.
 */
export function openStore(address: string, options: OpenStoreOptions): Promise<LineStore>;

/** Negative if `a` is before `b` in the order of the store. That order is the same on every host. */
export function compareLines(a: StoredLine, b: StoredLine): number;

/** All pages of a session in one, in the store's order, each line once. `stored` as for `load`. */
export function loadAll(store: LineStore, session: string, after?: Cursor, stored?: StoredSession): Promise<Page>;

/** What a pull did to one session's file. */
export interface PullReport {
	/** Lines that the file did not have. */
	added: number;
	problems: Problem[];
}

export interface PullResult extends PullReport {
	session: string;
	/** Empty if there is none. */
	file: string;
	/** Whether the file was created. */
	isNew: boolean;
	/** How many lines were redacted here because they were redacted elsewhere, in copies of their entries, too. */
	redacted: number;
	/** How many lines lost all that they say here, because two hosts had redacted them in different ways. */
	emptied: number;
	/** Why nothing was done: the file is as it was. */
	error?: Error;
}

export interface PushResult {
	session: string;
	file: string;
	/** How many bytes of the file are now known to be stored that were not before. */
	bytes: number;
	/** How many lines lost all that they say here, because two hosts had redacted them in different ways. */
	emptied: number;
	/** How many bytes are not known to be stored. */
	lag: number;
	error?: Error;
}

/** A stored session, and its file here. */
export interface SyncItem {
	session: string;
	stored: StoredSession;
	/** Where its file is; without one it gets one by its header. */
	file?: string;
	/**
	 * `deleted`: it was here, and its file is gone. `open`: it has changed, and is open in a pi here, so that nothing is
	 * pulled into it now.
	 */
	state: "new" | "changed" | "same" | "deleted" | "open";
}

export interface SyncOptions {
	/** The id of one session; by default all of the project. One that was deleted here comes back if it is named. */
	session?: string;
	/** `pull` counts sessions, `push` bytes. */
	onProgress?: (done: number, total: number) => void;
}

export interface SessionSyncOptions {
	store: LineStore;
	/** The address of the store. Notes are kept apart for each, and for each `dir`; nothing secret of it is kept. */
	address: string;
	/**
	 * A directory of this machine that lasts. What it says of how far files are stored may be lost; its folder `redacted`
	 * must not, or what was redacted may come back with a pull.
	 */
	notes: string;
	/** The directory of the session files. Sessions are pulled into it alone. */
	dir: string;
	/**
	 * Gives the paths of session files in other directories, which may be forks: what was redacted elsewhere is redacted
	 * in copies of its entries, too.
	 */
	otherFiles?: () => readonly string[] | Promise<readonly string[]>;
	/** The working directory of the sessions, which pulled ones get. */
	cwd: string;
	/** The directory has sessions of other working directories, too, which are not pushed. */
	isShared?: boolean;
	/** The project of the sessions: see `projectOf`. */
	project: string;
	/** Whether a session is never pushed. It is asked again before each portion. */
	isPrivate?: (local: { session: string; cwd: string | undefined; file?: string }) => boolean;
	/**
	 * Says which secret a line of an entry holds. It is not stored then, nor is what follows it in its session: code
	 * `held-back`.
	 */
	secretIn?: (line: Uint8Array) => string | undefined;
	/**
	 * Whether a pi of this machine has a session file open: nothing is pulled into it, and nothing redacted in it, until
	 * it is closed.
	 */
	isOpen?: (file: string) => boolean | Promise<boolean>;
}

/** The sessions of one project on this machine, and a store. */
export class SessionSync {
	constructor(options: SessionSyncOptions);
	/** The directory of the session files. */
	readonly dir: string;
	readonly project: string;
	/**
	 * Which stored sessions this machine lacks lines of: those of the project, or one; no lines are loaded. `list` is
	 * what the store lists, if it was asked already; `only` says which of these sessions are looked at, where the others
	 * are known to be the same. `deleted` are the sessions that were deleted from the store and are here.
	 */
	compare(options?: { session?: string; list?: SessionList; only?: (stored: StoredSession) => boolean }): Promise<{
		items: SyncItem[];
		problems: Problem[];
		deleted: { session: string; file: string; cwd: string | undefined }[];
	}>;
	/**
	 * Those of the sessions that `compare` gave which lack something here. Where the list does not tell, as after a push,
	 * the store is asked.
	 */
	behind(items: SyncItem[]): Promise<SyncItem[]>;
	/**
	 * Adds what is stored to the files of this machine: of the project, of one session, or of `items` that `compare`
	 * gave; the newest first, large ones after them, and last those in which something was redacted elsewhere, which is
	 * redacted here first. What fails is in the result of its session, whose file is as it was.
	 *
	 * @throws If the store cannot be asked.
	 */
	pull(options?: SyncOptions & { items?: SyncItem[] }): Promise<PullResult[]>;
	/**
	 * Takes something out of a session's file, its backups and the store, as `SessionManager.redact` does it. `stored`
	 * are the lines that the store had and the file had not, such as those of an entry that was edited by hand: where the
	 * file has the entry, its line takes their place. `emptied` is how many lines lost all that they say, because two
	 * hosts had redacted them in different ways. If the store cannot be reached, that is the `error`, and the next push
	 * or pull of the session redacts first what was in the file.
	 *
	 * @throws If the file cannot be redacted.
	 */
	redact(
		local: { session: string; file: string },
		what: RedactInput,
	): Promise<RedactReport & { stored: RedactReport["lines"]; emptied: number; error?: Error }>;
	/**
	 * Stores what the files of this machine hold: of the project, of one session, or of those that `local` gave; none of
	 * a private one. What fails is in the result of its session, and may be tried again. That of a session that was
	 * deleted from the store has an error with code `deleted`.
	 */
	push(
		options?: SyncOptions & { local?: readonly { session: string; file: string; cwd?: string }[] },
	): Promise<PushResult[]>;
	/** The sessions of this machine that `push` is about. */
	local(session?: string): Promise<{ session: string; file: string; cwd: string | undefined }[]>;
	/** Whether a session was stored from here, or pulled. */
	isNoted(session: string): boolean;
	/** Whether a session is never pushed. */
	isPrivate(local: { session: string; file?: string; cwd?: string }): boolean;
	/**
	 * How many bytes of a session's file are not known to be stored; none of a private one's, or where a push found the
	 * session deleted.
	 */
	lagOf(local: { session: string; file: string }): number;
}

/**
 * The id of this machine, the same in every process: made once and kept in a directory, or `PI_SYNC_HOST`.
 */
export function hostId(folder: string): Promise<string>;

/**
 * The project of a working directory, a name that is the same on every machine: `PI_SYNC_PROJECT` if that is set, else
 * the git remote, with the directory below the repository's root. Without a remote, and where git fails, it has the
 * directory's path and the id of this machine, so that no other machine has a project of that name.
 */
export function projectOf(cwd: string, host: string): Promise<string>;
