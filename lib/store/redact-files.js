// Takes something out of session files and out of a store.
//
// What a redaction of a session file is going to change is in a redaction file (redaction-file.js), with what is to stand in its place, before
// the session file is changed, and goes to each store before anything else of the session does: until the store knows of it, its old lines
// would come back with the next pull. A store may also have what the file does not have any more, because it was edited by hand.
const { promises: fs } = require("node:fs");
const { copiesIn, eachLine, entriesWith, identityOf } = require("./copies.js");
const { asError } = require("./errors.js");
const { entryOf } = require("./lines.js");
const { loadAll } = require("./load-all.js");
const { callHere } = require("./local.js");
const { hashOf } = require("./redaction-rules.js");

/** @typedef {import("./index").LineStore} LineStore */
/** @typedef {import("./redaction-file").ReplacedLine} ReplacedLine */
/** @typedef {import("./redaction-file").RedactionFile} RedactionFile */
/** @typedef {import("../../index").RedactInput} RedactInput */
/**
 * @typedef {object} Redacting
 * @property {RedactionFile} [redacted] keeps what is changed, for the stores; none for a file that no store takes
 * @property {import("./local").CallManager} [call]
 */

/**
 * Redacts a session file, after what a process that was killed was about to redact in it.
 * @param {string} file
 * @param {RedactInput} what
 * @param {Redacting} options
 * @returns {Promise<import("../../index").RedactReport>}
 */
async function redactFile(file, what, { redacted, call = callHere }) {
	const plan = () => callHere("redact", file, { ...what, dryRun: true });
	if (what.dryRun) return plan();
	if (!redacted) return change(file, what, call);
	return redacted.withLock(async () => {
		const left = await finish(file, redacted, call);
		const planned = async () => {
			const old = await linesOf(file, new Set((await plan()).lines.map(({ hash }) => hash)));
			return redactLines([...old.values()], what);
		};
		// Another process may append to it meanwhile.
		while (await redacted.add(await planned()));
		const done = await change(file, what, call);
		// So it may in the moment in which the file is changed.
		const known = new Set(redacted.all().map(({ hash }) => hash));
		const late = done.lines.filter(({ hash }) => !known.has(hash));
		await redacted.add(replacedBy(late, await linesOf(file, new Set(late.map(({ newHash }) => newHash)))));
		return { ...done, lines: [...left, ...done.lines] };
	});
}

/**
 * What stands in the places of redacted lines.
 * @param {import("../../index").RedactReport["lines"]} lines
 * @param {Map<string, Buffer>} now lines by hash
 */
const replacedBy = (lines, now) =>
	lines.flatMap(({ id, hash, newHash }) => {
		const line = now.get(newHash);
		return line ? [{ id, hash, line }] : [];
	});

/**
 * Does in a file what its redaction file says, within `withLock`.
 * @param {string} file
 * @param {RedactionFile} redacted
 * @param {import("./local").CallManager} [call]
 */
async function finish(file, redacted, call = callHere) {
	const kept = redacted.all();
	const there = await linesOf(file, new Set(kept.map(({ hash }) => hash)));
	const lines = kept.filter(({ hash }) => there.has(hash));
	return lines.length === 0 ? [] : (await change(file, { lines }, call)).lines;
}

/**
 * Changes a file. Its time stays: pi continues the session whose file changed last.
 * @param {string} file
 * @param {RedactInput} what
 * @param {import("./local").CallManager} call
 */
async function change(file, what, call) {
	const { atime, mtime } = await fs.stat(file);
	const done = await call("redact", file, what);
	if (done.lines.length > 0) await fs.utimes(file, atime, mtime);
	return done;
}

/**
 * Takes over what was redacted in sessions elsewhere, in a file that may have their lines, or copies of their entries.
 * @param {{ session?: string, file: string }} local without a session it is one that no store takes
 * @param {Map<string, readonly import("./index").Redaction[]>} redactions by session
 * @param {Redacting} options
 * @returns {Promise<Map<string, number | Error>>} of each session that the file has lines of: how many were redacted, or why they were not
 */
async function applyRedactions({ session, file }, redactions, options) {
	/** @type {Map<string, string>} */
	const owners = new Map();
	/** @type {Map<string, number | Error>} */
	const counts = new Map();
	// Where it is not known whose lines a file has, it may have everybody's.
	let concerned = new Set(redactions.keys());
	try {
		/** @type {Map<string, import("./index").Redaction>} */
		const lines = new Map();
		const others = new Map([...redactions].filter(([owner]) => owner !== session));
		const originals = [...redactions].flatMap(([owner, some]) => some.map((redaction) => ({ owner, redaction })));
		for (const { owner, redaction } of [...(await copiesIn(file, others)), ...originals]) {
			lines.set(redaction.hash, redaction);
			owners.set(redaction.hash, owner);
		}
		const what = { lines: [...lines.values()] };
		const planned = await callHere("redact", file, { ...what, dryRun: true });
		if (planned.lines.length + planned.backups.length === 0) return counts;
		if (planned.lines.length > 0) concerned = new Set(planned.lines.flatMap(({ hash }) => owners.get(hash) ?? []));
		for (const { hash } of (await redactFile(file, what, options)).lines) {
			const owner = owners.get(hash);
			if (owner !== undefined) counts.set(owner, Number(counts.get(owner) ?? 0) + 1);
		}
	} catch (error) {
		for (const owner of concerned) counts.set(owner, asError(error));
	}
	return counts;
}

/**
 * @typedef {object} ToStore
 * @property {LineStore} store
 * @property {boolean} [isAsked] whether or not the store knows all, it removes what there still is of it: another host may have been stopped before that
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
 * @param {ToStore & Redacting & { redacted: RedactionFile }} options
 * @returns {Promise<boolean>}
 */
async function pushRedactions({ session, file }, options) {
	const { store, redacted, isAsked, isPrivate, secretIn, call } = options;
	const all = redacted.all();
	const isUnfinished = isAsked || redacted.isUnfinished();
	if (all.length === 0 && !isUnfinished) return false;
	let known = await redactionsIn(store, session);
	const isUnknown = (/** @type {ReplacedLine} */ { hash }) => !known.has(hash);
	const wasSent = isUnfinished || all.some(isUnknown);
	// Also where the store knows all: the file may have been put back as it was before.
	await redacted.withLock(() => finish(file, redacted, call));
	if (wasSent) {
		const unknown = all.filter(isUnknown);
		const stored = isPrivate || secretIn ? new Set((await loadAll(store, session)).lines.map(({ line }) => hashOf(line))) : undefined;
		const isStored = (/** @type {string} */ hash) => stored?.has(hash) ?? true;
		const given = isPrivate ? unknown.filter(({ hash }) => isStored(hash)) : unknown;
		// What stands in the place of a line is held back if it holds a secret.
		const isSent = (/** @type {ReplacedLine} */ { hash, line }) => isStored(hash) && secretIn?.(line) === undefined;
		await redacted.redactInStore(() => store.redact(session, given.map((one) => ({ hash: one.hash, ...(isSent(one) && { line: one.line }) }))));
		known = await redactionsIn(store, session);
	}
	const differing = all.flatMap(({ hash, line }) => {
		const other = known.get(hash);
		// The store may have redacted the line itself that stands here.
		return other === undefined || other.equals(line) || known.has(hashOf(line)) ? [] : { line, other };
	});
	if (differing.length === 0) return wasSent;
	const ours = differing.map(({ line }) => line);
	const empty = new Map(redactLines(ours, { lines: ours.map((line) => ({ hash: hashOf(line) })) }).map(({ hash, line }) => [hash, line]));
	const emptied = differing.flatMap(({ line, other }) => {
		const last = empty.get(hashOf(line)) ?? line;
		return [line, other].filter((one) => !one.equals(last)).map((one) => ({ hash: hashOf(one), line: last }));
	});
	const isMore = await redacted.withLock(async () => {
		const isAdded = await redacted.add(emptied);
		await finish(file, redacted, call);
		return isAdded;
	});
	// The store has redacted it, and takes nothing of what it does not have of a private session.
	return isMore ? pushRedactions({ session, file }, { ...options, isAsked: false }) : true;
}

/** What stands in the places of redacted lines in a store, by their hashes. @param {LineStore} store @param {string} session */
const redactionsIn = async (store, session) => new Map((await store.redactions(session)).map(({ hash, line }) => [hash, line]));

/**
 * What the store's lines of a session hold of what is to be taken out: the lines, and those that are to stand in their places. Where the
 * session's file has the entry, that is its line, which may have been edited by hand.
 * @param {{ session: string, file: string }} local
 * @param {RedactInput} what
 * @param {LineStore} store
 * @returns {Promise<{ id: string | null, hash: string, line: Buffer }[]>}
 */
async function planStored({ session, file }, what, store) {
	const old = new Map((await loadAll(store, session)).lines.map(({ line }) => [hashOf(line), line]));
	const changed = redactLines([...old.values()], what);
	const here = new Map((await entriesWith(file, new Set(changed.flatMap(({ id }) => id ?? [])))).map(({ identity, line }) => [identity, line]));
	return changed.flatMap(({ id, hash, line }) => {
		const own = here.get(identityOf(old.get(hash) ?? Buffer.alloc(0)) ?? "");
		return { id, hash, line: own && hashOf(own) !== hash ? own : line };
	});
}

/**
 * What lines become when they are redacted: those that change.
 * @param {Buffer[]} lines
 * @param {RedactInput} what
 */
function redactLines(lines, what) {
	/** @type {{ redactLines: (lines: Buffer[], what: RedactInput) => { id: string | null, hash: string, line: Uint8Array<ArrayBuffer> }[] }} */
	const addon = /** @type {any} */ (require("../../index.js"));
	return addon.redactLines(lines, what).map((one) => ({ ...one, line: Buffer.from(one.line.buffer) }));
}

/**
 * The lines of a file that have these hashes, by hash. What was redacted leaves the store though the file is gone.
 * @param {string} path
 * @param {Set<string>} hashes
 */
async function linesOf(path, hashes) {
	/** @type {Map<string, Buffer>} */
	const found = new Map();
	if (hashes.size === 0) return found;
	await eachLine(path, (line) => {
		const hash = hashOf(line);
		// What is not an entry is not stored.
		if (hashes.has(hash) && entryOf(line)) found.set(hash, Buffer.from(line));
	});
	return found;
}

exports.finish = finish;
exports.planStored = planStored;
exports.pushRedactions = pushRedactions;
exports.redactFile = redactFile;
exports.applyRedactions = applyRedactions;
