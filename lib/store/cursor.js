// What a host has seen of a session whose lines are in segments: the highest clock, and for each host how many batches
// and the checksum of the last of them. `own`: this host's newest stored batch, if the cursor stops before it because another process
// of this host appended in between. It shows when the store was put back to a state without that batch.
const { StoreError } = require("./errors.js");
const { isCount, isObject } = require("./lines.js");
const { isId } = require("./names.js");

/** @typedef {{ count: number, sum: string }} Seen */

class SegmentCursor {
	clock = 0;
	/** @type {Map<string, Seen>} */
	hosts = new Map();
	/** @type {{ host: string, count: number, sum: string } | undefined} */
	own;

	/** @param {string} [text] */
	constructor(text) {
		if (text === undefined) return;
		const value = readJson(text);
		if (!isObject(value) || !isCount(value.clock) || !isObject(value.hosts)) throw notACursor();
		this.clock = value.clock;
		for (const [host, seen] of Object.entries(value.hosts)) {
			if (!isId(host) || !Array.isArray(seen) || !isCount(seen[0]) || typeof seen[1] !== "string") throw notACursor();
			this.hosts.set(host, { count: seen[0], sum: seen[1] });
		}
		if (value.own === undefined) return;
		if (!isObject(value.own) || !isId(value.own.host) || !isCount(value.own.count) || typeof value.own.sum !== "string") throw notACursor();
		this.own = { host: value.own.host, count: value.own.count, sum: value.own.sum };
	}

	/** @param {string} host @returns {Seen} */
	of(host) {
		return this.hosts.get(host) ?? { count: 0, sum: "" };
	}

	/** @param {{ host: string, count: number, sum: string, clock: number }} batch */
	pass({ host, count, sum, clock }) {
		this.hosts.set(host, { count, sum });
		this.clock = Math.max(this.clock, clock);
		if (this.own?.host === host && this.own.count <= count) this.own = undefined;
	}

	/**
	 * Whether a batch stands where the host's own one was.
	 * @param {{ host: string, count: number, sum: string }} batch
	 */
	contradicts({ host, count, sum }) {
		return this.own?.host === host && this.own.count === count && this.own.sum !== sum;
	}

	/**
	 * Notes the last batch of a host as known to be stored.
	 * @param {string} host
	 * @param {Seen} last
	 */
	know(host, { count, sum }) {
		if (count > this.of(host).count) this.own = { host, count, sum };
	}

	toString() {
		const hosts = Object.fromEntries([...this.hosts].sort().map(([host, { count, sum }]) => [host, [count, sum]]));
		return JSON.stringify({ clock: this.clock, hosts, own: this.own });
	}
}

const notACursor = () => new StoreError("invalid", "The cursor is not one of this store");

/** @param {string} text @returns {unknown} */
function readJson(text) {
	try {
		return JSON.parse(text);
	} catch {
		throw notACursor();
	}
}

exports.SegmentCursor = SegmentCursor;
