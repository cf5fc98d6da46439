// What a host has seen of a session whose lines are in segments: the highest clock, and for each host how many batches
// and the checksum of the last of them.
const { StoreError } = require("./errors.js");
const { isCount, isObject } = require("./lines.js");
const { isId } = require("./names.js");

/** @typedef {{ count: number, sum: string }} Seen */

class SegmentCursor {
	clock = 0;
	/** @type {Map<string, Seen>} */
	hosts = new Map();

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
	}

	/** @param {string} host @returns {Seen} */
	of(host) {
		return this.hosts.get(host) ?? { count: 0, sum: "" };
	}

	/** @param {{ host: string, count: number, sum: string, clock: number }} batch */
	pass({ host, count, sum, clock }) {
		this.hosts.set(host, { count, sum });
		this.clock = Math.max(this.clock, clock);
	}

	toString() {
		const hosts = Object.fromEntries([...this.hosts].sort().map(([host, { count, sum }]) => [host, [count, sum]]));
		return JSON.stringify({ clock: this.clock, hosts });
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
