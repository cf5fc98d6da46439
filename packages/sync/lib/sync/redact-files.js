// Takes something out of session files and out of a store.
//
// What a redaction of a session file is going to change is in a redaction file (redaction-file.js), with what is to
// stand in its place, before the session file is changed, and goes to each store before anything else of the session
// does: until the store knows of it, its old lines would come back with the next pull. A store may also have what the
// file does not have any more, because it was edited by hand.
const { existsSync } = require("node:fs");
const { unlessAbsent } = require("../base/calls.js");
const { asError } = require("../base/errors.js");
const { buffer } = require("../base/lines.js");
const { loadAll } = require("../base/load-all.js");
const { callHere } = require("../machine/local-sessions.js");
const { hashOf } = require("../base/redaction-rules.js");

/** @typedef {import("../index").LineStore} LineStore */
/** @typedef {import("./redaction-file").ReplacedLine} ReplacedLine */
/** @typedef {import("./redaction-file").RedactionFile} RedactionFile */
/** @typedef {import("pi-session-native").RedactInput} RedactInput */
/** @typedef {import("pi-session-native").RedactReport["lines"]} RedactedLines */
/**
 * @typedef {object} Redacting
 * @property {RedactionFile} [redactionFile] keeps what is changed, for the stores; none for a file that no store takes
 * @property {import("../machine/local-sessions").CallManager} [call]
 */

/**
 * Redacts a session file, after what a process that was killed was about to redact in it.
 * @param {string} file
 * @param {RedactInput} what
 * @param {Redacting} options
 * @returns {Promise<import("pi-session-native").RedactReport>}
 */
async function redactFile(file, what, { redactionFile, call = callHere }) {
	const plan = () => callHere("redact", file, { ...what, dryRun: true });
	if (what.dryRun) return plan();
	if (!redactionFile) return call("redact", file, what);
	return redactionFile.withLock(async () => {
		const left = await finishInterrupted(file, redactionFile, call);
		// Another process may append to it meanwhile.
		while (await redactionFile.add(entriesAmong((await plan()).lines)));
		const done = await call("redact", file, what);
		// So it may in the moment in which the file is changed.
		await redactionFile.add(entriesAmong(done.lines));
		return { ...done, lines: [...left, ...done.lines] };
	});
}

/** What is not an entry is not stored. @param {RedactedLines} lines */
const entriesAmong = (lines) => lines.filter(({ id }) => id !== null);

/**
 * Does in a file what its redaction file says, within `withLock`.
 * @param {string} file
 * @param {RedactionFile} redactionFile
 * @param {import("../machine/local-sessions").CallManager} [call]
 * @returns {Promise<RedactedLines>}
 */
async function finishInterrupted(file, redactionFile, call = callHere) {
	const kept = redactionFile.all();
	if (kept.length === 0) return [];
	// What was redacted leaves the store though the file is gone.
	const planned = await unlessAbsent(callHere("redact", file, { lines: kept, dryRun: true }));
	if (!planned || planned.lines.length === 0) return [];
	const { lines } = planned;
	await redactionFile.add(entriesAmong(lines));
	return (await call("redact", file, { lines })).lines;
}

/**
 * Takes over what was redacted in sessions elsewhere, in a file that may have their lines, or copies of their entries.
 * @param {{ session?: string, file: string }} local without a session it is one that no store takes
 * @param {Map<string, readonly import("../index").Redaction[]>} redactions by session
 * @param {Redacting} options
 * @returns {Promise<Map<string, number | Error>>} of each session that the file has lines of: how many were redacted,
 * or why they were not
 */
async function applyRedactions({ session, file }, redactions, options) {
	const lines = [...redactions].flatMap(([owner, some]) =>
		some.map((one) => ({ ...one, session: owner === session ? undefined : owner })),
	);
	// What an earlier run has left may be of a session that is not among these.
	const ownersOf = (/** @type {RedactedLines} */ found) =>
		found.map((one) => one.session ?? session ?? "").filter((owner) => redactions.has(owner));
	/** @type {Map<string, number | Error>} */
	const counts = new Map();
	// Where it is not known whose lines a file has, it may have everybody's.
	let concerned = [...redactions.keys()];
	try {
		const planned = await callHere("redact", file, { lines, dryRun: true });
		if (planned.lines.length + planned.backups.length === 0) return counts;
		if (planned.lines.length > 0) concerned = ownersOf(planned.lines);
		const done = await redactFile(file, { lines }, options);
		for (const owner of ownersOf(done.lines)) counts.set(owner, Number(counts.get(owner) ?? 0) + 1);
	} catch (error) {
		for (const owner of concerned) counts.set(owner, asError(error));
	}
	return counts;
}

/**
 * @typedef {object} ToStore
 * @property {LineStore} store
 * @property {boolean} [evenIfKnown] the store removes what there still is of what it knows, too: another host may have
 * been stopped before that
 * @property {boolean} isPrivate of what is private only what the store has is redacted there, and nothing else leaves
 * this machine
 * @property {(line: Uint8Array) => string | undefined} [secretIn] what stands in the place of a line that the store
 * does not have may be held back
 */

/**
 * Redacts in the store what was redacted here and it does not know yet. Gives whether that changed the store. Rejects
 * with `not-found` or `deleted` where the store does not have the session.
 *
 * Where another host put another line in the place of one, each of the two may hold what the other one was to take out:
 * the entry loses all that it says, here and in the store.
 * @param {{ session: string, file: string }} local
 * @param {ToStore & Redacting & { redactionFile: RedactionFile, onEmptied: (lines: number) => void }} options
 * `onEmptied` is told of how many lines
 *   of the file that is so
 * @returns {Promise<boolean>}
 */
async function pushRedactions({ session, file }, options) {
	const { store, redactionFile, call, onEmptied } = options;
	const evenIfKnown = options.evenIfKnown || redactionFile.isUnfinished();
	if (redactionFile.all().length === 0 && !evenIfKnown) return false;
	// Also where the store knows all: the file may have been put back as it was before.
	await redactionFile.withLock(() => finishInterrupted(file, redactionFile, call));
	const all = redactionFile.all();
	let known = await redactionsIn(store, session);
	const unknown = all.filter(({ hash }) => !known.has(hash));
	const isSent = evenIfKnown || unknown.length > 0;
	if (isSent) {
		await send(session, unknown, options);
		known = await redactionsIn(store, session);
	}
	const differing = emptyDiffering(all, known);
	if (differing.length === 0) return isSent;
	const isMore = await redactionFile.withLock(async () => {
		const isAdded = await redactionFile.add(differing);
		onEmptied((await finishInterrupted(file, redactionFile, call)).length);
		return isAdded;
	});
	// The store has redacted it, and takes nothing of what it does not have of a private session.
	return isMore ? pushRedactions({ session, file }, { ...options, evenIfKnown: false }) : true;
}

/**
 * Redacts in the store what it does not know. What stands in the place of a line is held back if it holds a secret.
 * @param {string} session
 * @param {readonly ReplacedLine[]} unknown
 * @param {ToStore & { redactionFile: RedactionFile }} options
 */
async function send(session, unknown, { store, redactionFile, isPrivate, secretIn }) {
	const stored =
		isPrivate || secretIn ? new Set((await loadAll(store, session)).lines.map(({ line }) => hashOf(line))) : undefined;
	const isStored = (/** @type {ReplacedLine} */ { hash }) => stored?.has(hash) ?? true;
	const given = isPrivate ? unknown.filter(isStored) : unknown;
	const redactions = given.map((one) =>
		isStored(one) && secretIn?.(one.line) === undefined ? one : { hash: one.hash },
	);
	await redactionFile.redactInStore(() => store.redact(session, redactions));
}

/**
 * The redactions after which an entry has lost all that it says, of each in whose place another line stands in the
 * store.
 * @param {readonly ReplacedLine[]} all
 * @param {Map<string, Buffer | undefined>} known what stands in the places of lines in the store, by their hashes
 */
function emptyDiffering(all, known) {
	return all.flatMap(({ hash, line }) => {
		const other = known.get(hash);
		// The store may have redacted the line itself that stands here.
		if (other === undefined || other.equals(line) || known.has(hashOf(line))) return [];
		const [{ line: empty } = { line }] = redactLines([line], { lines: [{ hash: hashOf(line) }] });
		return [line, other].filter((one) => !one.equals(empty)).map((one) => ({ hash: hashOf(one), line: empty }));
	});
}

/**
 * What stands in the places of redacted lines in a store, by their hashes. @param {LineStore} store @param {string}
 * session
 */
const redactionsIn = async (store, session) =>
	new Map((await store.redactions(session)).map(({ hash, line }) => [hash, line]));

/**
 * What the store's lines of a session hold of what is to be taken out: the lines, and those that are to stand in their
 * places. Where the session's file has the entry, that is its line, which may have been edited by hand.
 * @param {{ session: string, file: string }} local
 * @param {RedactInput} what
 * @param {LineStore} store
 */
async function planStored({ session, file }, what, store) {
	const { lines } = await loadAll(store, session);
	return redactLines(
		lines.map(({ line }) => line),
		what,
		existsSync(file) ? file : undefined,
	);
}

/**
 * What lines become when they are redacted: those that change. Where a file has the entry of such a line, what its own
 * line becomes.
 * @param {Buffer[]} lines
 * @param {RedactInput} what
 * @param {string} [file]
 */
function redactLines(lines, what, file) {
	/** @type {{ redactLines: (lines: Buffer[], what: RedactInput, file?: string) => RedactedLines }} */
	const addon = /** @type {any} */ (require("pi-session-native"));
	return addon.redactLines(lines, what, file).map((one) => ({ ...one, line: buffer(one.line) }));
}

exports.applyRedactions = applyRedactions;
exports.finishInterrupted = finishInterrupted;
exports.planStored = planStored;
exports.pushRedactions = pushRedactions;
exports.redactFile = redactFile;
exports.redactLines = redactLines;
