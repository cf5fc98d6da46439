// Brings redactions from the session files of one directory to a store, and from the store to the files. Each step may
// be interrupted and is then repeated, because the files and the store show how far it came:
//
//   file: the old line; redaction file: the redaction; store: the old line
//     the next redaction, push or pull of the session changes the file (`finishInterrupted` in redact-files.js)
//   file: the new line; redaction file: the redaction; store: the old line
//     the next push or pull tells the store (`push`)
//   file: the new line; redaction file: the redaction, with the store as unfinished; store: the redaction, and perhaps
//     the old line: `push` again
//   file: the new line; redaction file: the redaction; store: the redaction and the new line
//     nothing
//   file: the old line, such as one that was put back; redaction file: the redaction; store: the redaction and the new
//     line: the next pull, or the first push of a process, changes the file (`finishInterrupted`)
//   file: the old line; redaction file: without the redaction, which another host made; store: the redaction and the
//     new line: the next pull takes it into the redaction file, and changes the file (`fetch`, `apply`)
//   file of a fork: a copy of the old line, or none; redaction file: without the redaction, which the redaction file of
//     another session has here; store: the copy: the next pull or push of the fork redacts both (`redactKnownCopies`)
const { join } = require("node:path");
const { isAbsence } = require("../base/calls.js");
const { asError, isGone } = require("../base/errors.js");
const { inParallel } = require("../base/in-parallel.js");
const { describe, filesIn } = require("../machine/local-sessions.js");
const {
	applyRedactions,
	finishInterrupted,
	planStored,
	pushRedactions,
	redactFile,
	redactLines,
} = require("./redact-files.js");
const { RedactionFile } = require("./redaction-file.js");
const { NotASession } = require("../machine/session-file.js");

/** @typedef {{ session: string, file: string, cwd?: string }} Local */
/** @typedef {import("../index").SyncItem} SyncItem */
/**
 * Redactions of other machines in some sessions, and for each session the number of lines that were redacted in its
 * file on this machine, or the error.
 * @typedef {{ changed: SyncItem[], redactions: Map<string, import("../index").Redaction[]>, results: Map<string, number
 * | Error> }} FetchedRedactions
 */

class RedactionSync {
	/** @type {import("../index").SessionSyncOptions & { call: import("../machine/local-sessions").CallManager }} */
	#options;
	#notes;
	#errors;
	/** How many lines that were redacted here the store was found to know, by session. @type {Map<string, number>} */
	#pushed = new Map();

	/**
	 * @param {import("../index").SessionSyncOptions & { call: import("../machine/local-sessions").CallManager }} options
	 * @param {import("../machine/notes").Notes} notes
	 * @param {import("../machine/last-errors").LastErrors} errors
	 */
	constructor(options, notes, errors) {
		this.#options = options;
		this.#notes = notes;
		this.#errors = errors;
	}

	/** @param {Local} local */
	redactionFileOf(local) {
		return new RedactionFile(this.#options.notes, local, this.#options.address);
	}

	/**
	 * Loads new redactions from the store, and keeps them. Returns them for `apply`.
	 * @param {SyncItem[]} items sessions that are the same as in the store are skipped
	 * @returns {Promise<FetchedRedactions>}
	 */
	async fetch(items) {
		const { store, dir } = this.#options;
		const changed = items.filter(
			({ session, stored, state }) =>
				state !== "same" && stored.redactions > 0 && this.#notes.get(session)?.redactions !== stored.redactions,
		);
		/** @type {FetchedRedactions} */
		const fetched = { changed, redactions: new Map(), results: new Map() };
		await inParallel(changed, async ({ session, file = join(dir, session) }) => {
			try {
				const some = await store.redactions(session);
				await this.#keepRedactions({ session, file }, some);
				fetched.redactions.set(session, some);
				fetched.results.set(session, 0);
			} catch (error) {
				fetched.results.set(session, asError(error));
			}
		});
		return fetched;
	}

	/**
	 * Applies redactions to every session file of this machine, because forks contain copies of entries. Puts the number
	 * of redacted lines of each session, or the error, into the results. Returns the results for the files of other
	 * sessions that were changed.
	 * @param {FetchedRedactions} fetched
	 * @returns {Promise<import("../index").PullResult[]>}
	 */
	async apply({ changed, redactions, results }) {
		const { dir, call, otherFiles } = this.#options;
		const fileOf = new Map(changed.map(({ session, file }) => [session, file]));
		const own = changed.flatMap(({ file }) => file ?? []);
		/** @type {import("../index").PullResult[]} */
		const others = [];
		const files =
			redactions.size > 0 ? new Set([...own, ...(await filesIn(dir)), ...((await otherFiles?.()) ?? [])]) : [];
		for (const file of files) {
			// A file that no store takes may contain copies, too, such as a file of another version or an unreadable folder.
			const local = await describe(file).catch((error) =>
				error instanceof NotASession || isAbsence(error) ? undefined : { file },
			);
			if (!local) continue;
			const redactionFile = "session" in local ? this.redactionFileOf(local) : undefined;
			const counts = await applyRedactions(local, redactions, { redactionFile, call });
			let copies = 0;
			for (const [owner, count] of counts) {
				const before = results.get(owner);
				// If a file could not be redacted, the next pull applies the redactions of the session again.
				if (count instanceof Error) results.set(owner, before instanceof Error ? before : count);
				else if (fileOf.get(owner) !== file) copies += count;
				else if (!(before instanceof Error)) results.set(owner, Number(before) + count);
			}
			if (copies > 0) {
				const session = "session" in local ? local.session : "";
				others.push({ session, file, isNew: false, added: 0, redacted: copies, problems: [] });
			}
		}
		for (const { session, stored } of changed) {
			const [note, result] = [this.#notes.get(session), results.get(session)];
			if (result instanceof Error) await this.#errors.set(session, result, "pull");
			// The next pull need not apply them again.
			else if (note) await this.#notes.set(session, { ...note, redactions: stored.redactions });
		}
		return others;
	}

	/**
	 * Keeps redactions of other machines, also if no file contains the lines, because a later fork may contain them.
	 * @param {Local} local
	 * @param {readonly import("../index").Redaction[]} redactions
	 */
	async #keepRedactions(local, redactions) {
		const redactionFile = this.redactionFileOf(local);
		const lines = redactions.flatMap(({ hash, line }) => (line ? { hash, line } : []));
		await redactionFile.withLock(() => redactionFile.add(lines, { keepsNote: true }));
	}

	/**
	 * Redacts a session on this machine and in the store, if these lines contain copies of lines that were redacted
	 * before in a session of the directory. Returns whether they do.
	 * @param {Local} local
	 * @param {Buffer[]} lines
	 * @param {() => Promise<void>} [closeFile] closes the caller's handle of the session file before the file is replaced
	 */
	async redactKnownCopies(local, lines, closeFile) {
		const redactionFile = this.redactionFileOf(local);
		const known = redactionFile.ofDirectory();
		// Most directories have no redactions.
		const copies = known.length > 0 ? redactLines(lines, { lines: known }) : [];
		if (copies.length === 0) return false;
		await closeFile?.();
		await redactionFile.withLock(async () => {
			await redactionFile.add(copies);
			await finishInterrupted(local.file, redactionFile, this.#options.call);
		});
		await this.push(local);
		return true;
	}

	/**
	 * Brings redactions of this machine to the store. Returns whether the store changed.
	 * @param {Local} local
	 * @param {boolean} [evenIfKnown]
	 */
	async push(local, evenIfKnown) {
		const { store, secretIn, call } = this.#options;
		const { session, file, cwd = this.#options.cwd } = local;
		const isPrivate = this.#options.isPrivate?.({ session, file, cwd }) ?? false;
		const redactionFile = this.redactionFileOf(local);
		try {
			const { length } = redactionFile.all();
			const isChanged = await pushRedactions(local, {
				store,
				redactionFile,
				evenIfKnown,
				secretIn,
				isPrivate,
				call,
			});
			this.#pushed.set(session, length);
			return isChanged;
		} catch (error) {
			// If another host stores the session later, this is tried again.
			if (isGone(error)) return false;
			throw error;
		}
	}

	/** Brings redactions to the store that are not known to be there. @param {Local} local */
	async pushUnlessKnown(local) {
		const redactionFile = this.redactionFileOf(local);
		const isPushed = redactionFile.all().length === (this.#pushed.get(local.session) ?? 0);
		if (!isPushed || redactionFile.isUnfinished()) await this.push(local);
	}

	/** The store was created again or restored, so nothing is known of it. @param {string} session */
	forget(session) {
		this.#pushed.delete(session);
	}

	/** @type {import("../index").SessionSync["redact"]} */
	async redact(local, what) {
		const { store } = this.#options;
		const redactionFile = this.redactionFileOf(local);
		const done = await redactFile(local.file, what, { redactionFile });
		try {
			const known = new Set([...done.lines, ...redactionFile.all()].map(({ hash }) => hash));
			const stored = await planStored(local, what, store);
			if (!what.dryRun) {
				const others = stored.filter(({ hash }) => !known.has(hash));
				await redactionFile.withLock(() => redactionFile.add(others));
				await this.push(local, true);
			}
			return { ...done, stored };
		} catch (error) {
			return { ...done, stored: [], error: asError(error) };
		}
	}
}

exports.RedactionSync = RedactionSync;
