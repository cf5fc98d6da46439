// Folding: the batches of many small segments are written into a larger one, and the small ones are removed then. Where
// both are there, the larger one counts.
//
// Only the process that created the larger one removes the small ones, and only if a list that it makes afterwards has all of them.
// Otherwise the session was deleted meanwhile, or another process has folded them into yet another segment: it removes its own, on
// account of which nothing was removed yet.
const { StoreError } = require("./errors.js");
const { coverOf, folderOf, hostsIn, identityOf, segmentPath } = require("./segment-names.js");
const { decodeSegment } = require("./segment.js");

/** @typedef {import("./segment").Batch} Batch */
/** @typedef {import("./segment-names").Segment} Segment */

/** Segments of this size stay as they are. */
const LARGE = 256 * 1024;
/** How many smaller ones in a row are folded. */
const FOLD_AT = 64;

class SegmentFolding {
	/** @type {import("./segment-store").Objects} */
	#objects;
	#host;
	/** How many batches there were when a fold failed, by session. @type {Map<string, number>} */
	#failed = new Map();

	/** @param {import("./segment-store").Objects} objects @param {string} host */
	constructor(objects, host) {
		this.#objects = objects;
		this.#host = host;
	}

	/**
	 * Folds small segments at the end of this host's, if there are many. What fails is tried again by a later append.
	 * @param {string} session
	 * @param {Segment[]} segments
	 */
	async fold(session, segments) {
		const cover = coverOf(segments);
		const large = cover.findLastIndex(({ size }) => size >= LARGE);
		const small = cover.slice(large + 1);
		const [first, last] = [small[0], small.at(-1)];
		if (!first || !last || small.length < FOLD_AT) return;
		// What failed would fail again, and is read in vain.
		if (last.to < (this.#failed.get(session) ?? 0) + FOLD_AT) return;
		try {
			const batches = await this.#read(session, small);
			if (batches.length !== last.to - first.from + 1) {
				this.#failed.set(session, last.to);
				return;
			}
			const folded = segmentPath(session, this.#host, first.from, last.to);
			if (!(await this.#objects.create(folded, Buffer.concat(batches.map(({ bytes }) => bytes))))) return;
			const now = hostsIn(session, await this.#objects.list(folderOf(session, this.#host))).get(this.#host) ?? [];
			const there = new Set(now.map(identityOf));
			const isWhole = small.every((segment) => there.has(identityOf(segment)));
			const within = now.filter(({ path, from, to }) => path !== folded && first.from <= from && to <= last.to).map(({ path }) => path);
			await this.#objects.remove(isWhole ? within : [folded]);
			this.#failed.delete(session);
		} catch (error) {
			if (!(error instanceof StoreError)) throw error;
			this.#failed.set(session, last.to);
		}
	}

	/**
	 * The batches of segments, in order; none if another process folds them or one cannot be read.
	 * @param {string} session
	 * @param {Segment[]} segments
	 */
	async #read(session, segments) {
		/** @type {Batch[]} */
		const batches = [];
		for (const segment of segments) {
			const content = await this.#objects.get(segment.path);
			const decoded = content && decodeSegment(content, { session, ...segment });
			if (!decoded || decoded.fault) return [];
			const end = batches.at(-1)?.count ?? 0;
			for (const batch of decoded.batches) if (batch.count > end) batches.push(batch);
		}
		return batches;
	}
}

exports.SegmentFolding = SegmentFolding;
