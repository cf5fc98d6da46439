// Redacted lines in a directory or a bucket. For each there is an object with its SHA-256 and its replacement. In the
// logs its bytes are overwritten with spaces, so that nothing else moves.
const { inParallel } = require("../base/in-parallel.js");
const { checksumOf, checksumOfHash, readPortions, redactedRanges } = require("./log-batches.js");
const { redactedPath } = require("./log-names.js");

/** @typedef {import("../index").Redaction} Redaction */
/** @typedef {import("./log-batches").Batch} Batch */
/** @typedef {import("./log-names").SessionListing} SessionListing */
/** @typedef {import("./log-objects").Objects} Objects */

/** The object of a redaction begins with a SHA-256 as digits. */
const HASH_DIGITS = 64;

class LogRedactions {
	/** @type {Objects} */
	#objects;

	/** @param {Objects} objects */
	constructor(objects) {
		this.#objects = objects;
	}

	/**
	 * The redactions of a session, by the checksums of the lines.
	 * @param {SessionListing} listing
	 * @param {Iterable<string>} [checksums] of the lines to look up: each redacted one costs a request
	 */
	async read({ redacted }, checksums = redacted.keys()) {
		/** @type {Map<string, Redaction>} */
		const found = new Map();
		await inParallel([...new Set(checksums)], async (checksum) => {
			const { path, replacement } = redacted.get(checksum) ?? {};
			const bytes = path && (await this.#objects.get(path))?.bytes;
			if (!bytes) return;
			const hash = bytes.toString("latin1", 0, HASH_DIGITS);
			found.set(checksum, { hash, ...(replacement !== undefined && { line: bytes.subarray(HASH_DIGITS + 1) }) });
		});
		return found;
	}

	/** @param {SessionListing} listing @param {readonly Redaction[]} redactions */
	async add(listing, redactions) {
		for (const { hash, line } of redactions) {
			const path = redactedPath(listing, checksumOfHash(hash), line && checksumOf(line));
			await this.#objects.create(path, Buffer.concat([Buffer.from(`${hash}\n`), line ?? Buffer.alloc(0)]));
		}
	}

	/** Overwrites redacted lines in the log of a host. @param {SessionListing} listing @param {string} host */
	async blank({ session, hosts, redacted }, host) {
		await inParallel(hosts.get(host) ?? [], async ({ path }) => {
			const ranges = [];
			for await (const { bytes, at, isCut } of readPortions(this.#objects, path, 0, { session, host })) {
				// Redacted lines may also be after a damaged batch.
				const read = isCut ? ((await this.#objects.get(path, at))?.bytes ?? bytes) : bytes;
				for (const range of redactedRanges(read, { session, host }, redacted))
					ranges.push({ ...range, at: at + range.at });
			}
			if (ranges.length > 0) await this.#objects.blank(path, ranges);
		});
	}

	/**
	 * The same, if one of these batches of the log contains a redacted line.
	 * @param {SessionListing} listing
	 * @param {string} host
	 * @param {Batch[]} batches
	 */
	async blankIfIn(listing, host, batches) {
		const isLeft = (/** @type {Batch["lines"][0]} */ { checksum, line }) =>
			listing.redacted.has(checksum) && line.some((byte) => byte !== 0x20);
		if (batches.some(({ lines }) => lines.some(isLeft))) await this.blank(listing, host);
	}
}

exports.LogRedactions = LogRedactions;
