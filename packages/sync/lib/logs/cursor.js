// A cursor in the logs of a session, in a directory or a bucket. It contains the highest clock and, for each host, the
// position and the `sum` of the last batch that this machine has read. If another batch is there, an older state of the
// store was restored.
const { StoreError } = require("../base/errors.js");
const { isCount, isObject, parse } = require("../base/lines.js");
const { isId } = require("../base/names.js");

/** @typedef {{ part: number, start: number, end: number, sum: string }} Seen a batch in a part of a log */

/** @type {Seen} */
const NOTHING = { part: 1, start: 0, end: 0, sum: "" };

class LogCursor {
	clock = 0;
	/** @type {Map<string, Seen>} */
	hosts = new Map();

	/** @param {string} [text] */
	constructor(text) {
		if (text === undefined) return;
		const value = parse(Buffer.from(text));
		if (!isObject(value) || !isCount(value.clock) || !isObject(value.hosts)) throw notACursor();
		this.clock = value.clock;
		for (const [host, seen] of Object.entries(value.hosts)) {
			if (!isId(host)) throw notACursor();
			this.hosts.set(host, readSeen(seen));
		}
	}

	/** Whether it has passed no batch. */
	get isEmpty() {
		return this.hosts.size === 0;
	}

	/** @param {string} host @returns {Seen} */
	of(host) {
		return this.hosts.get(host) ?? NOTHING;
	}

	/** @param {string} host @param {Seen & { clock: number }} batch */
	pass(host, { part, start, end, sum, clock }) {
		this.hosts.set(host, { part, start, end, sum });
		this.clock = Math.max(this.clock, clock);
	}

	toString() {
		const hosts = Object.fromEntries(
			[...this.hosts].sort().map(([host, { part, start, end, sum }]) => [host, [part, start, end, sum]]),
		);
		return JSON.stringify({ clock: this.clock, hosts });
	}
}

// A note may contain a cursor of an earlier store at the same address, which had another form.
const notACursor = () => new StoreError("reset", "The cursor is not one of this store");

/** @param {unknown} value @returns {Seen} */
function readSeen(value) {
	const [part, start, end, sum] = Array.isArray(value) ? value : [];
	if (!isCount(part) || !isCount(start) || !isCount(end) || typeof sum !== "string" || part === 0 || start > end)
		throw notACursor();
	return { part, start, end, sum };
}

exports.LogCursor = LogCursor;
