// Redacts session files and stores.
//
// Before a session file changes, the redacted lines and their replacements are written to a redaction file
// (redaction-file.js). They reach each store before anything else of the session does, because otherwise the next pull
// would bring the old lines back. A store may also contain lines that somebody edited out of the file by hand.
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
 * @property {RedactionFile} [redactionFile] keeps the redactions for the stores; none for a file that no store takes
 * @property {import("../machine/local-sessions").CallManager} [call]
 */

/**
 * Redacts a session file. Before that it finishes a redaction whose process was killed.
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
		// The same may happen while the file is changed.
		await redactionFile.add(entriesAmong(done.lines));
		const backups = [...new Set([...left.backups, ...done.backups])];
		return { ...done, lines: [...left.lines, ...done.lines], backups };
	});
}

/** The lines that may be stored. @param {RedactedLines} lines */
const entriesAmong = (lines) => lines.filter(({ id }) => id !== null);

/**
 * Applies a redaction file to its session file, within `withLock`.
 * @param {string} file
 * @param {RedactionFile} redactionFile
 * @param {import("../machine/local-sessions").CallManager} [call]
 * @returns {Promise<Pick<import("pi-session-native").RedactReport, "lines" | "backups">>}
 */
async function finishInterrupted(file, redactionFile, call = callHere) {
	const kept = redactionFile.all();
	if (kept.length === 0) return { lines: [], backups: [] };
	// The store is redacted also if the file is missing.
	const planned = await unlessAbsent(callHere("redact", file, { lines: kept, dryRun: true }));
	if (!planned || planned.lines.length === 0) return { lines: [], backups: [] };
	const { lines } = planned;
	await redactionFile.add(entriesAmong(lines));
	return call("redact", file, { lines });
}

/**
 * Applies redactions of other machines to a file that may contain the lines, or copies of their entries.
 * @param {{ session?: string, file: string }} local without a session if no store takes the file
 * @param {Map<string, readonly import("../index").Redaction[]>} redactions by session
 * @param {Redacting} options
 * @returns {Promise<Map<string, number | Error>>} for each session whose lines the file contains: the number of
 * redacted lines, or the error
 */
async function applyRedactions({ session, file }, redactions, options) {
	const lines = [...redactions].flatMap(([owner, some]) =>
		some.map((one) => ({ ...one, session: owner === session ? undefined : owner })),
	);
	// A redaction that is finished now may belong to another session.
	const ownersOf = (/** @type {RedactedLines} */ found) =>
		found.map((one) => one.session ?? session ?? "").filter((owner) => redactions.has(owner));
	/** @type {Map<string, number | Error>} */
	const counts = new Map();
	// If the file cannot be read, it may contain lines of every session.
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
 * @property {boolean} [evenIfKnown] redact the store even if it has all redactions, because another host may have been
 * stopped before it removed the lines
 * @property {boolean} isPrivate send only redactions of lines that the store contains, because nothing else of a
 * private session may leave this machine
 * @property {(line: Uint8Array) => string | undefined} [secretIn] returns the secret in a replacement, which is then
 * not sent
 */

/**
 * Brings redactions of this machine to the store. Returns whether the store changed. Rejects with `not-found` or
 * `deleted` if the store does not contain the session.
 *
 * If another host replaced a line by another one, each replacement may contain what the other host wanted to remove.
 * Then the entry loses its content, on this machine and in the store.
 * @param {{ session: string, file: string }} local
 * @param {ToStore & Redacting & { redactionFile: RedactionFile }} options
 * @returns {Promise<boolean>}
 */
async function pushRedactions({ session, file }, options) {
	const { store, redactionFile, call } = options;
	const evenIfKnown = options.evenIfKnown || redactionFile.isUnfinished();
	if (redactionFile.all().length === 0 && !evenIfKnown) return false;
	// Also if the store has all redactions, because somebody may have restored the file.
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
		await finishInterrupted(file, redactionFile, call);
		return isAdded;
	});
	// `evenIfKnown` was done above.
	return isMore ? pushRedactions({ session, file }, { ...options, evenIfKnown: false }) : true;
}

/**
 * Sends redactions to the store, without replacements that contain a secret.
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
 * For each line that has another replacement in the store: the redactions after which its entry has no content.
 * @param {readonly ReplacedLine[]} all
 * @param {Map<string, Buffer | undefined>} known the replacements in the store, by the hashes of the lines
 */
function emptyDiffering(all, known) {
	return all.flatMap(({ hash, line }) => {
		const other = known.get(hash);
		// The store may have redacted the replacement, too.
		if (other === undefined || other.equals(line) || known.has(hashOf(line))) return [];
		const [{ line: empty } = { line }] = redactLines([line], { lines: [{ hash: hashOf(line) }] });
		return [line, other].filter((one) => !one.equals(empty)).map((one) => ({ hash: hashOf(one), line: empty }));
	});
}

/**
 * The replacements in a store, by the hashes of the redacted lines.
 * @param {LineStore} store
 * @param {string} session
 */
const redactionsIn = async (store, session) =>
	new Map((await store.redactions(session)).map(({ hash, line }) => [hash, line]));

/**
 * The lines of the store that a redaction changes, and their replacements. If the session's file contains the entry,
 * the replacement is its line, which may have been edited by hand.
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
 * The lines that a redaction changes, and their replacements. If a file contains the entry of such a line, its own line
 * is redacted for the replacement.
 * @param {Buffer[]} lines
 * @param {RedactInput} what
 * @param {string} [file]
 */
function redactLines(lines, what, file) {
	return require("pi-session-native")
		.redactLines(lines, what, file)
		.map((one) => ({ ...one, line: buffer(one.line) }));
}

exports.applyRedactions = applyRedactions;
exports.finishInterrupted = finishInterrupted;
exports.planStored = planStored;
exports.pushRedactions = pushRedactions;
exports.redactFile = redactFile;
exports.redactLines = redactLines;
