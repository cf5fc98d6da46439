// Takes something out of session files and out of a store.
//
// What a redaction of a file is going to change is noted before the file is changed, and goes to each store before anything else of the
// session does: until the store knows of it, its old lines would come back with the next pull. A store may also have what the file does not
// have any more, because it was edited by hand.
const { mkdirSync, mkdtempSync, promises: fs, readFileSync, rmSync, statSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");
const { copiesIn, eachLine, entriesWith, identityOf } = require("./copies.js");
const { asError } = require("./errors.js");
const { entryOf, splitLines } = require("./lines.js");
const { loadAll } = require("./load-all.js");
const { callHere } = require("./local.js");
const { hashOf } = require("./redactions.js");
const { CURRENT_VERSION } = require("./session-file.js");
const { namesIn } = require("./small-file.js");

/** @typedef {import("./index").LineStore} LineStore */
/** @typedef {import("./redacted-lines").RedactedLine} RedactedLine */
/** @typedef {import("../../index").RedactInput} RedactInput */

/** What the folder of a redaction apart from the file is called, and how long it may be there. */
const ASIDE = "redacting-";
const LONGEST_ASIDE_MS = 60_000;

/**
 * Redacts a session file. Its time stays: pi continues the session whose file changed last.
 * @param {string} file
 * @param {RedactInput} what
 * @param {{ add?: (lines: RedactedLine[]) => unknown, call?: import("./local").CallManager, alone?: <T>(work: () => Promise<T>) => Promise<T> }} [options]
 *   `add` keeps what is going to be changed, for the stores, and is waited for; `alone` keeps other processes from taking it to a store before
 *   it is changed
 * @returns {Promise<import("../../index").RedactReport>}
 */
async function redactFile(file, what, { alone, ...options } = {}) {
	return alone && !what.dryRun ? alone(() => redactFile(file, what, options)) : redactHere(file, what, options);
}

/** @param {string} file @param {RedactInput} what @param {{ add?: (lines: RedactedLine[]) => unknown, call?: import("./local").CallManager }} options */
async function redactHere(file, what, { add, call = callHere }) {
	const planned = await callHere("redact", file, { ...what, dryRun: true });
	if (what.dryRun) return planned;
	await add?.(planned.lines);
	const { atime, mtime } = await fs.stat(file);
	const done = await call("redact", file, what);
	if (done.lines.length > 0) await fs.utimes(file, atime, mtime);
	// Another process may have appended to it meanwhile.
	if (done.lines.length > planned.lines.length) await add?.(done.lines);
	return done;
}

/**
 * Takes over what was redacted in sessions elsewhere, in a file that may have their lines, or copies of their entries.
 * @param {{ session: string, file: string }} local
 * @param {Map<string, readonly import("./index").Redaction[]>} redactions by session
 * @param {Parameters<typeof redactFile>[2]} options
 * @returns {Promise<Map<string, number | Error>>} of each session that the file has lines of: how many were redacted, or why they were not
 */
async function takeOver({ session, file }, redactions, options) {
	/** @type {Map<string, string>} */
	const owners = new Map();
	/** @type {Map<string, number | Error>} */
	const counts = new Map();
	// Where it is not known whose lines a file has, it may have everybody's.
	let concerned = new Set(redactions.keys());
	try {
		/** @type {Map<string, { hash: string, line?: string }>} */
		const lines = new Map();
		for (const [owner, some] of redactions) {
			const copies = owner === session ? [] : await copiesIn(file, some);
			for (const one of [...some.map(({ hash, line }) => ({ hash, line: line?.toString() })), ...copies]) {
				lines.set(one.hash, one);
				owners.set(one.hash, owner);
			}
		}
		const what = { lines: [...lines.values()] };
		const planned = await callHere("redact", file, { ...what, dryRun: true });
		if (planned.lines.length + planned.backups.length === 0) return counts;
		if (planned.lines.length > 0) concerned = new Set(planned.lines.flatMap(({ hash }) => owners.get(hash) ?? []));
		for (const { hash } of (await redactFile(file, what, options)).lines) {
			const owner = owners.get(hash) ?? "";
			counts.set(owner, Number(counts.get(owner) ?? 0) + 1);
		}
	} catch (error) {
		for (const owner of concerned) counts.set(owner, asError(error));
	}
	return counts;
}

/**
 * @typedef {object} ToStore
 * @property {LineStore} store
 * @property {(redactions: import("./index").Redaction[]) => Promise<void>} redactStored redacts in the store
 * @property {boolean} isUnfinished the store may know of redactions, and still have the bytes
 * @property {boolean} isPrivate of what is private only what the store has is redacted there, and nothing else leaves this machine
 * @property {(line: Uint8Array) => string | undefined} [secretIn] what stands in the place of a line that the store does not have may be held back
 */

/**
 * Redacts in the store what was redacted here and it does not know yet. Gives whether that changed the store. Rejects with `not-found` or
 * `deleted` where it does not have the session.
 *
 * Where another host put another line in the place of one, each of the two may hold what the other one was to take out: the entry loses all
 * that it says, here and in the store.
 * @param {{ session: string, file: string }} local
 * @param {readonly RedactedLine[]} redacted
 * @param {ToStore & Parameters<typeof redactFile>[2]} options
 * @returns {Promise<boolean>}
 */
async function pushRedactions({ session, file }, redacted, options) {
	const { store, redactStored, isUnfinished, isPrivate, secretIn, add } = options;
	if (redacted.length === 0 && !isUnfinished) return false;
	const next = new Map(redacted.map(({ hash, newHash }) => [hash, newHash]));
	const all = redacted.map(({ hash }) => ({ hash, last: lastOf(hash, next) }));
	let known = await redactionsIn(store, session);
	/** Whether the store has another line in the place of one than this machine, or what that has become there. @param {{ hash: string, last: string }} one */
	const differs = ({ hash, last }) => {
		const there = known.get(hash);
		return there !== undefined && hashOf(there) !== last && !known.has(last);
	};
	const unknown = all.filter(({ hash }) => !known.has(hash));
	if (unknown.length === 0 && !isUnfinished && !all.some(differs)) return false;
	const left = await emptyLeft(file, unknown.map(({ hash }) => hash), options);
	if (left.length > 0) return pushRedactions({ session, file }, [...redacted, ...left], options);
	const lines = await linesOf(file, new Set(all.map(({ last }) => last)));
	if (unknown.length > 0 || isUnfinished) {
		const stored = isPrivate || secretIn ? new Set((await loadAll(store, session)).lines.map(({ line }) => hashOf(line))) : undefined;
		const isStored = (/** @type {string} */ hash) => stored?.has(hash) ?? true;
		const given = isPrivate ? unknown.filter(({ hash }) => isStored(hash)) : unknown;
		await redactStored(given.map(({ hash, last }) => ({ hash, line: isStored(hash) ? withoutSecret(lines.get(last), secretIn) : undefined })));
		known = await redactionsIn(store, session);
	}
	const other = all.filter((one) => differs(one) && lines.has(one.last));
	if (other.length === 0) return true;
	const { lines: emptied } = await redactFile(file, { lines: other.map(({ last: hash }) => ({ hash })) }, options);
	const becomes = new Map(emptied.map(({ hash, newHash }) => [hash, newHash]));
	const theirs = other.map(({ hash, last }) => ({ hash: hashOf(known.get(hash) ?? Buffer.alloc(0)), newHash: becomes.get(last) ?? last })).filter(({ hash, newHash }) => hash !== newHash);
	await add?.(theirs);
	const more = [...emptied, ...theirs].filter(({ hash }) => !next.has(hash));
	// The store was told, and takes nothing of what it does not have of a private session.
	if (more.length === 0) return true;
	return pushRedactions({ session, file }, [...redacted, ...more], { ...options, isUnfinished: false });
}

/**
 * Takes out of a file what the process that was to redact it, and was killed, had noted: of what these lines were to become nothing is known,
 * so that the entries lose all that they say.
 * @param {string} file
 * @param {string[]} hashes
 * @param {Parameters<typeof redactFile>[2]} options
 */
async function emptyLeft(file, hashes, { alone, add, call } = {}) {
	if (hashes.length === 0) return [];
	const empty = async () => {
		const left = await linesOf(file, new Set(hashes));
		return left.size === 0 ? [] : (await redactHere(file, { lines: [...left.keys()].map((hash) => ({ hash })) }, { add, call })).lines;
	};
	return alone ? alone(empty) : empty();
}

/** What stands in the places of redacted lines in a store, by their hashes. @param {LineStore} store @param {string} session */
const redactionsIn = async (store, session) => new Map((await store.redactions(session)).map(({ hash, line }) => [hash, line]));

/**
 * What the store's lines of a session hold of what is to be taken out: the lines, and those that are to stand in their places. Where the
 * session's file has the entry, that is its line, which may have been edited by hand. Entries that are named by their ids are those of
 * the file: another host may have given one of the ids to another entry.
 * @param {{ session: string, file: string }} local
 * @param {RedactInput} what
 * @param {{ store: LineStore, notes: string }} options `notes`: the directory of this machine's notes
 * @returns {Promise<{ id: string | null, hash: string, line: Buffer | undefined }[]>}
 */
async function planStored({ session, file }, what, { store, notes }) {
	const page = await loadAll(store, session);
	if (page.lines.length === 0) return [];
	const header = Buffer.from(JSON.stringify({ type: "session", version: CURRENT_VERSION, id: session }));
	const { report, bytes } = redactAside(notes, joined([header, ...page.lines.map(({ line }) => line)]), what);
	const old = new Map(page.lines.map(({ line }) => [hashOf(line), line]));
	const changed = new Map(splitLines(bytes, 0, bytes.length).map(({ line }) => [hashOf(line), line]));
	const here = new Map((await entriesWith(file, new Set(report.lines.flatMap(({ id }) => id ?? [])))).map(({ identity, line }) => [identity, line]));
	const isByEntry = what.entries !== undefined && what.text === undefined;
	return report.lines.flatMap(({ id, hash, newHash }) => {
		const own = here.get(identityOf(old.get(hash) ?? Buffer.alloc(0)) ?? "");
		if (isByEntry && !own) return [];
		return { id, hash, line: own && hashOf(own) !== hash ? own : changed.get(newHash) };
	});
}

/**
 * Redacts a session apart from its file, in a file that is gone when this returns. Nothing is awaited meanwhile, so that where a signal is
 * handled it waits, too; what a process that was killed has left, the next one removes, and the next follower.
 * @param {string} notes
 * @param {Buffer} session
 * @param {RedactInput} what
 */
function redactAside(notes, session, what) {
	removeAside(notes);
	mkdirSync(notes, { recursive: true, mode: 0o700 });
	const folder = mkdtempSync(join(notes, ASIDE));
	try {
		const path = join(folder, "stored.jsonl");
		writeFileSync(path, session, { mode: 0o600 });
		const report = require("../../index.js").SessionManager.redact(path, { ...what, dryRun: false });
		return { report, bytes: readFileSync(path) };
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

/** Removes what killed processes left of redactions apart from the file. @param {string} notes */
function removeAside(notes) {
	for (const name of namesIn(notes).filter((name) => name.startsWith(ASIDE))) {
		const path = join(notes, name);
		if (Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) > LONGEST_ASIDE_MS) rmSync(path, { recursive: true, force: true });
	}
}

/**
 * A line that is to stand in the place of another one in a store; nothing if it holds a secret.
 * @template {Uint8Array} Line
 * @param {Line | undefined} line
 * @param {((line: Uint8Array) => string | undefined) | undefined} secretIn
 */
const withoutSecret = (line, secretIn) => (line && secretIn?.(line) === undefined ? line : undefined);

/** @param {Uint8Array[]} lines */
const joined = (lines) => Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")]));

/**
 * What a line has become, which may have been redacted more than once.
 * @param {string} hash
 * @param {Map<string, string>} next
 */
function lastOf(hash, next) {
	const seen = new Set();
	for (let at = hash; ; ) {
		const to = next.get(at);
		if (to === undefined || seen.has(at)) return at;
		seen.add(at);
		at = to;
	}
}

/**
 * The lines of a file that have these hashes, by hash. What was redacted leaves the store though the file is gone.
 * @param {string} path
 * @param {Set<string>} hashes
 */
async function linesOf(path, hashes) {
	/** @type {Map<string, Buffer>} */
	const found = new Map();
	await eachLine(path, (line) => {
		const hash = hashOf(line);
		// What is not an entry is not stored.
		if (hashes.has(hash) && entryOf(line)) found.set(hash, Buffer.from(line));
	});
	return found;
}

exports.planStored = planStored;
exports.pushRedactions = pushRedactions;
exports.redactFile = redactFile;
exports.removeAside = removeAside;
exports.takeOver = takeOver;
exports.withoutSecret = withoutSecret;
