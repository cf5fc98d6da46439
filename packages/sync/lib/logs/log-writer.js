// One attempt to append to this host's log of a session, in four steps:
//
//   readListing  lists the session, and checks the caller's cursor
//   readOwnLog   reads this host's log after the cursor, to find lines that are stored already
//   write        writes the batch, and before it the session's project and header if they are missing
//   verify       lists the session again: throws if it was deleted meanwhile, and removes lines that were redacted
//                meanwhile
//
// If the log has changed since the first step, nothing is written, and log-store.js tries again.
const { LogCursor } = require("./cursor.js");
const { StoreError, resetError } = require("../base/errors.js");
const { checksumOf, encodeBatch } = require("./log-batches.js");
const { folderOf, newListing, partPath } = require("./log-names.js");
const { LAST_CLOCK, checkCursor } = require("./log-reader.js");

/** @typedef {import("./log-batches").Batch} Batch */
/** @typedef {import("./log-names").SessionListing} SessionListing */
/**
 * The result of an append that makes the next one cheaper: a cursor that has passed this host's log to its end, the
 * listing, and the objects' cache of the log's last part.
 * @typedef {{ cursor: string, listing: SessionListing, cachedPart: unknown }} LastAppend
 */
/**
 * @typedef {object} LogContext
 * @property {string} host
 * @property {import("./log-objects").Objects} objects
 * @property {import("./log-records").LogRecords} records
 * @property {import("./log-reader").LogReader} reader
 * @property {import("./log-redactions").LogRedactions} redactions
 */

class LogWriter {
	#context;
	#session;
	#append;
	#last;
	#given;
	/** The given lines that are not stored yet, by checksum. */
	#lines;
	#callerCursor;
	/** The caller's cursor, moved past this host's log. */
	#cursor;
	/**
	 * True while every batch after the caller's cursor only contains lines of this call. Another checkout of this host,
	 * or another machine with the same id, may have written others: then the append returns the caller's cursor, so that
	 * they are loaded.
	 */
	#passedOnlyGiven = true;
	#lastPartSize;
	/** Whether the session has no project yet. */
	#isNew = false;
	/** @type {SessionListing} */
	#listing;

	/**
	 * @param {LogContext} context
	 * @param {string} session
	 * @param {import("../index").Append} append
	 * @param {Map<string, Buffer>} given its lines by checksum
	 * @param {LastAppend} [last] the append before, if the caller's cursor is its cursor
	 */
	constructor(context, session, append, given, last) {
		this.#context = context;
		this.#session = session;
		this.#append = append;
		this.#given = given;
		this.#lines = new Map(given);
		this.#last = last;
		this.#callerCursor = new LogCursor(append.after);
		this.#cursor = new LogCursor(append.after);
		this.#lastPartSize = this.#cursor.of(context.host).end;
		this.#listing = newListing(folderOf(append.project), session);
	}

	/**
	 * Undefined if the log has changed since this began.
	 * @returns {Promise<{ appended: import("../index").Appended, last?: LastAppend } | undefined>} `last`: for the next
	 * append
	 */
	async run() {
		await this.#readListing();
		if (!this.#last) await this.#readOwnLog();
		await this.#dropRedacted();
		if (this.#lines.size === 0) return { appended: this.#appended(0) };
		const written = await this.#write();
		if (!written) return undefined;
		const listing = await this.#verify(written.path);
		const stored = [...this.#lines.keys()].filter((checksum) => !listing.redacted.has(checksum)).length;
		if (stored < this.#lines.size) await this.#context.redactions.blank(listing, this.#context.host);
		return {
			appended: this.#appended(stored),
			last: { cursor: this.#cursor.toString(), listing, cachedPart: written.cachedPart },
		};
	}

	/** @param {number} stored */
	#appended(stored) {
		return { stored, cursor: (this.#passedOnlyGiven ? this.#cursor : this.#callerCursor).toString() };
	}

	async #readListing() {
		const found = this.#last?.listing ?? (await this.#context.records.findListing(this.#session));
		if (found) this.#listing = found;
		this.#isNew = !found;
		const { hosts, deleted } = this.#listing;
		// An append of this host beside the deletion may have failed before it removed its batch.
		if (deleted) throw await this.#context.records.finishDeletion(this.#listing);
		if (!this.#callerCursor.isEmpty && hosts.size === 0) throw resetError(this.#session);
	}

	/**
	 * Reads to the end of this host's log. A batch at its end may be torn. In a directory a power failure may leave a
	 * last batch whose end was written and whose middle was not: it was not acknowledged, unless the drive has lost
	 * synchronised bytes. Batches that the cursor has passed are not read, and stay.
	 */
	async #readOwnLog() {
		const { host, objects, reader, redactions } = this.#context;
		const listing = this.#listing;
		// Only this host's log is checked, because in a synchronised directory another log may be missing for a moment.
		checkCursor(listing, this.#cursor, host);
		/** @type {Batch[]} */
		const passed = [];
		const { problems, isWaiting, isLast } = await reader.log(listing, host, this.#cursor, (batch) => {
			passed.push(batch);
			// A damaged line is stored again.
			for (const { checksum, line } of batch.lines) if (checksumOf(line) === checksum) this.#lines.delete(checksum);
			this.#passedOnlyGiven &&=
				batch.clock > this.#callerCursor.clock && batch.lines.every(({ checksum }) => this.#given.has(checksum));
		});
		const problem = isWaiting && !isLast ? problems.at(-1) : undefined;
		if (problem) throw new StoreError("failed", `Session ${this.#session}: ${problem.where}: ${problem.message}`);
		// A process that was killed after it wrote these batches may not have synchronised them, and did not look for
		// redactions.
		const lastPart = (listing.hosts.get(host) ?? []).find(({ part }) => part === this.#cursor.of(host).part);
		if (lastPart && passed.length > 0) await objects.sync?.(lastPart.path);
		await redactions.blankIfIn(listing, host, passed);
		this.#lastPartSize = lastPart?.size ?? 0;
	}

	/** Drops redacted lines, and replacements whose redacted line is stored. */
	async #dropRedacted() {
		const { redacted, hosts } = this.#listing;
		for (const checksum of redacted.keys()) this.#lines.delete(checksum);
		/** Redacted lines whose replacements are among the lines, with these. @type {Map<string, string>} */
		const replacements = new Map();
		for (const [checksum, { replacement = "" }] of redacted)
			if (this.#lines.has(replacement)) replacements.set(checksum, replacement);
		if (replacements.size === 0) return;
		for (const host of hosts.keys())
			await this.#context.reader.log(this.#listing, host, new LogCursor(), (batch) => {
				for (const { checksum } of batch.lines) this.#lines.delete(replacements.get(checksum) ?? "");
			});
	}

	/** Undefined if another process wrote first. */
	async #write() {
		const { host, objects, records } = this.#context;
		const session = this.#session;
		if (this.#cursor.clock >= LAST_CLOCK)
			throw new StoreError("failed", `Session ${session}: the clock of its batches cannot grow any more`);
		// If another host stored the session first, its project counts.
		if (this.#isNew && !(await records.setProject(session, this.#append.project))) return undefined;
		if (!this.#last) await records.setHeader(this.#listing, this.#append.header);
		const before = this.#cursor.of(host);
		const isFull = before.end >= objects.partSize;
		const [part, start, size] = isFull ? [before.part + 1, 0, 0] : [before.part, before.end, this.#lastPartSize];
		const path = partPath(this.#listing, host, part);
		const clock = this.#cursor.clock + 1;
		const { sum, bytes } = encodeBatch({ session, host, clock, prev: before.sum, lines: [...this.#lines.values()] });
		const written = await objects.append(path, { size, endOffset: start, cachedPart: this.#last?.cachedPart }, bytes);
		if (!written) {
			// The session may have been deleted before its header was stored.
			await this.#listingUnlessDeleted(path);
			return undefined;
		}
		this.#cursor.pass(host, { part, start, end: start + bytes.length, sum, clock });
		return { path, cachedPart: written.cachedPart };
	}

	/**
	 * The listing. If the session was deleted meanwhile, it removes the written batch and throws.
	 * @param {string} path
	 */
	async #listingUnlessDeleted(path) {
		const listing = await this.#context.records.listingOf(this.#listing.folder, this.#session);
		if (!listing.deleted) return listing;
		// By its path, because a drive may list it only a moment later.
		await this.#context.objects.remove([path]);
		throw await this.#context.records.finishDeletion(listing);
	}

	/** The listing after the batch was written. @param {string} path */
	async #verify(path) {
		const { host, objects } = this.#context;
		const listing = await this.#listingUnlessDeleted(path);
		if (listing.hosts.has(host)) return listing;
		// A drive may list the batch only a moment later. It was not deleted, because the mark of a deletion stays for
		// ever.
		throw new StoreError(
			"unreachable",
			`Session ${this.#session}: ${objects.name} does not list ${path}, which was written: try again`,
		);
	}
}

exports.LogWriter = LogWriter;
