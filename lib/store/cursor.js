// What a host has seen of a session in a directory or a bucket: which life of it, the highest clock, and of each host's log where the
// last batch is that was passed, with its checksum. `own`: the last batch of this host that is known to be stored, if the cursor stops
// before it. It shows when the store was put back to a state without that batch.
const { StoreError } = require("./errors.js");
const { isCount, isObject } = require("./lines.js");
const { isId } = require("./names.js");

/** @typedef {{ part: number, start: number, end: number, sum: string }} Seen a batch in a part of a log */

/** @type {Seen} */
const NOTHING = { part: 1, start: 0, end: 0, sum: "" };

class LogCursor {
	life = 0;
	clock = 0;
	/** @type {Map<string, Seen>} */
	hosts = new Map();
	/** @type {(Seen & { host: string }) | undefined} */
	own;

	/** @param {string} [text] */
	constructor(text) {
		if (text === undefined) return;
		const value = readJson(text);
		if (!isObject(value) || !isCount(value.life) || !isCount(value.clock) || !isObject(value.hosts)) throw notACursor();
		this.life = value.life;
		this.clock = value.clock;
		for (const [host, seen] of Object.entries(value.hosts)) {
			if (!isId(host)) throw notACursor();
			this.hosts.set(host, readSeen(seen));
		}
		if (value.own === undefined) return;
		if (!isObject(value.own) || !isId(value.own.host)) throw notACursor();
		this.own = { host: value.own.host, ...readSeen(value.own.seen) };
	}

	/** Whether it has passed nothing. */
	get isEmpty() {
		return this.hosts.size === 0 && !this.own;
	}

	/** @param {string} host @returns {Seen} */
	of(host) {
		return this.hosts.get(host) ?? NOTHING;
	}

	/**
	 * @param {string} host
	 * @param {Seen & { clock: number }} batch
	 */
	pass(host, { part, start, end, sum, clock }) {
		this.hosts.set(host, { part, start, end, sum });
		this.clock = Math.max(this.clock, clock);
		if (this.own?.host === host && !isAfter(this.own, { part, end })) this.own = undefined;
	}

	/**
	 * Whether a batch stands where the host's own one was.
	 * @param {string} host
	 * @param {Seen} batch
	 */
	contradicts(host, { part, end, sum }) {
		return this.own?.host === host && this.own.part === part && this.own.end === end && this.own.sum !== sum;
	}

	/**
	 * Notes the last batch of a host as known to be stored.
	 * @param {string} host
	 * @param {Seen} last
	 */
	know(host, { part, start, end, sum }) {
		if (isAfter({ part, end }, this.of(host))) this.own = { host, part, start, end, sum };
	}

	toString() {
		const list = (/** @type {Seen} */ { part, start, end, sum }) => [part, start, end, sum];
		const hosts = Object.fromEntries([...this.hosts].sort().map(([host, seen]) => [host, list(seen)]));
		return JSON.stringify({ life: this.life, clock: this.clock, hosts, own: this.own && { host: this.own.host, seen: list(this.own) } });
	}
}

/** @param {{ part: number, end: number }} a @param {{ part: number, end: number }} b */
const isAfter = (a, b) => a.part > b.part || (a.part === b.part && a.end > b.end);

const notACursor = () => new StoreError("invalid", "The cursor is not one of this store");

/** @param {unknown} value @returns {Seen} */
function readSeen(value) {
	const [part, start, end, sum] = Array.isArray(value) ? value : [];
	if (!isCount(part) || !isCount(start) || !isCount(end) || typeof sum !== "string" || part === 0 || start > end) throw notACursor();
	return { part, start, end, sum };
}

/** @param {string} text @returns {unknown} */
function readJson(text) {
	try {
		return JSON.parse(text);
	} catch {
		throw notACursor();
	}
}

exports.LogCursor = LogCursor;
