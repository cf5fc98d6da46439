// Reads logs: the batches of each host that a cursor has not passed, and the replacements of redacted lines in them.
const { LogCursor } = require("./cursor.js");
const { StoreError, resetError } = require("../base/errors.js");
const { inParallel } = require("../base/in-parallel.js");
const { compareLines, compareText, entryOf } = require("../base/lines.js");
const { PORTION_BYTES, beginningOf, checksumOf, readPortions } = require("./log-batches.js");
const { partPath } = require("./log-names.js");

/** @typedef {import("../index").Page} Page */
/** @typedef {import("../index").Problem} Problem */
/** @typedef {import("./log-batches").Batch} Batch */
/** @typedef {import("./log-names").SessionListing} SessionListing */
/** @typedef {import("./log-objects").Objects} Objects */
/** @typedef {import("./cursor").Seen} Seen */

/** Clocks grow by one with each batch, so a higher one cannot be right: the next clocks would not be exact numbers. */
const LAST_CLOCK = 2 ** 52;

class LogReader {
	/** @type {Objects} */
	#objects;
	#redactions;
	#host;

	/**
	 * @param {Objects} objects @param {import("./log-redactions").LogRedactions} redactions @param {string} host this one
	 */
	constructor(objects, redactions, host) {
		this.#objects = objects;
		this.#redactions = redactions;
		this.#host = host;
	}

	/**
	 * The page after a cursor. Undefined if something cannot be read now but may be readable soon; the last try returns a
	 * page in any case.
	 * @param {SessionListing} listing
	 * @param {LogCursor} start
	 * @param {boolean} isLastTry
	 * @returns {Promise<Page | undefined>}
	 */
	async page(listing, start, isLastTry) {
		const { session } = listing;
		checkCursor(listing, start);
		const cursor = new LogCursor(start.toString());
		/** @type {Page} */
		const page = { lines: [], cursor: "", more: false, problems: [], comesAfter: true };
		for (const host of [...listing.hosts.keys()].sort(compareText)) {
			/** @type {{ batch: Batch, path: string }[]} */
			const read = [];
			const { problems, isWaiting } = await this.log(listing, host, cursor, (batch, path) =>
				read.push({ batch, path }),
			);
			if (isWaiting && !isLastTry) return undefined;
			const redacted = await this.#redactions.read(
				listing,
				read.flatMap(({ batch }) => batch.lines.map(({ checksum }) => checksum)),
			);
			// If a process was killed after it wrote these lines, nobody has removed redacted ones, and an append does not
			// read batches that the cursor has passed.
			if (host === this.#host)
				await this.#redactions
					.blankIfIn(
						listing,
						host,
						read.map(({ batch }) => batch),
					)
					.catch(unlessRefused);
			for (const { batch, path } of read) {
				if (batch.clock <= start.clock) page.comesAfter = false;
				for (const [index, { checksum, line: there }] of batch.lines.entries()) {
					const where = `${path}, line ${index + 1} of the batch at ${batch.start}`;
					const isRedacted = listing.redacted.has(checksum);
					// It may have got another replacement since the list.
					if (isRedacted && !redacted.has(checksum) && !isLastTry) return undefined;
					const line = isRedacted ? redacted.get(checksum)?.line : there;
					if (line === undefined) continue;
					if (!isRedacted && checksumOf(line) !== checksum)
						page.problems.push({ session, where, message: "its checksum is wrong" });
					else if (entryOf(line)) page.lines.push({ line, host, clock: batch.clock, index });
					else page.problems.push({ session, where, message: "it is not an entry" });
				}
			}
			page.problems = page.problems.concat(problems);
		}
		page.lines.sort(compareLines);
		page.cursor = cursor.toString();
		return page;
	}

	/**
	 * Calls `onBatch` for the batches of a host's log that the cursor has not passed, and moves the cursor along. Ends
	 * before the first batch that is missing or cannot be read, because it may become readable.
	 * @param {SessionListing} listing
	 * @param {string} host
	 * @param {LogCursor} cursor
	 * @param {(batch: Batch & Seen, path: string) => unknown} onBatch
	 * @returns {Promise<{ problems: Problem[], isWaiting: boolean, isLast?: boolean }>} `isLast`: the batch that cannot
	 * be read is the last one of a log that is one file; false in a bucket, whose objects are always whole
	 */
	async log(listing, host, cursor, onBatch) {
		const { session } = listing;
		/** @type {Problem[]} */
		const problems = [];
		const stopped = (/** @type {string} */ where, /** @type {string} */ message) => ({
			problems: [...problems, { session, where, message }],
			isWaiting: true,
		});
		const first = cursor.of(host);
		await this.#checkLast(listing, host, first);
		const parts = (listing.hosts.get(host) ?? []).filter(
			({ part, size }) => part > first.part || (part === first.part && size > first.end),
		);
		// The position after the last batch that was passed, or the next part if that batch was the last in its part.
		let next = first.sum === "" || parts[0]?.part === first.part ? first : { part: first.part + 1, end: 0 };
		const startOf = (/** @type {number} */ part) => (part === first.part ? first.end : 0);
		const beginnings = await inParallel(parts, ({ part, path }) =>
			this.#objects.get(path, startOf(part), startOf(part) + PORTION_BYTES),
		);
		for (const [nth, { part, path }] of parts.entries()) {
			const beginning = beginnings[nth];
			if (part !== next.part) return stopped(partPath(listing, host, next.part), "it is missing");
			if (!beginning) return stopped(path, "it is missing");
			for await (const read of readPortions(this.#objects, path, next.end, { session, host }, beginning)) {
				for (const batch of read.batches) {
					const passed = { ...batch, part };
					const where = `${path}, batch at ${batch.start}`;
					if (batch.prev !== cursor.of(host).sum)
						problems.push({ session, where, message: "it does not follow the batch before it, which was replaced" });
					if (batch.clock > LAST_CLOCK) return stopped(where, "its clock cannot be right");
					onBatch(passed, path);
					cursor.pass(host, passed);
				}
				if (read.fault !== undefined)
					return { ...stopped(path, read.fault), isLast: read.isLast && this.#objects.partSize === Infinity };
			}
			next = { part: part + 1, end: 0 };
		}
		return { problems, isWaiting: false };
	}

	/**
	 * Throws if another batch is in the place of the last one that the cursor has passed: an older state of the store was
	 * restored, and as much was written since.
	 * @param {SessionListing} listing
	 * @param {string} host
	 * @param {Seen} last
	 */
	async #checkLast(listing, host, { part, start, sum }) {
		if (sum === "") return;
		const beginning = beginningOf(sum);
		const there = await this.#objects.get(partPath(listing, host, part), start, start + beginning.length);
		if (there && !beginning.equals(there.bytes)) throw resetError(listing.session);
	}
}

/** Ignores that this machine may not write, because it may read. @param {unknown} error */
function unlessRefused(error) {
	if (!(error instanceof StoreError && ["denied", "read-only"].includes(error.code))) throw error;
}

/**
 * Throws if a log is shorter than the cursor: an older state of the store was restored.
 * @param {SessionListing} listing
 * @param {LogCursor} cursor
 * @param {string} [only] check only the log of this host
 */
function checkCursor({ session, hosts }, cursor, only) {
	const isThere = (/** @type {string} */ host, /** @type {Seen} */ { part, end }) =>
		(hosts.get(host) ?? []).some((one) => one.part === part && one.size >= end);
	for (const [host, seen] of cursor.hosts)
		if ((only === undefined || host === only) && !isThere(host, seen)) throw resetError(session);
}

exports.LAST_CLOCK = LAST_CLOCK;
exports.LogReader = LogReader;
exports.checkCursor = checkCursor;
