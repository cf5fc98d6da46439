// Who uses which sessions: an object for each host.
//
//   hosts/<host>    {"now":1764000000000,"claims":{"<session>":1764000060000}}
//
// The times at which claims end are those of the host's clock, of which it has the time at which it was written: the store's clock says when
// that was, and so when a claim ends, whatever the host's clock says. A host that claims a session looks afterwards whether another one did
// meanwhile: then it gives its claim up and tries again, so that of two at most one has it.
const { setTimeout: pause } = require("node:timers/promises");
const { claimedError } = require("./claim.js");
const { StoreError } = require("./errors.js");
const { inParallel } = require("./in-parallel.js");
const { compareText, isCount, isObject, parse } = require("./lines.js");
const { HOSTS, hostPath } = require("./log-names.js");
const { idOf } = require("./names.js");

/** @typedef {import("./log-store").Objects} Objects */
/** Its time is in milliseconds of the store's clock. @typedef {{ session: string, host: string, until: number }} Held */

const LONGEST_TTL = 24 * 3600 * 1000;
/** pi renews its claims three times within this. */
const RENEWED_MS = 2 * 60 * 1000;
const PARALLEL = 16;
/** How often a claim is written: other processes of this host may be faster. */
const TRIES = 50;

class Claims {
	/** @type {Objects} */
	#objects;
	#host;

	/** @param {Objects} objects @param {string} host */
	constructor(objects, host) {
		this.#objects = objects;
		this.#host = host;
	}

	/**
	 * Who has which session now.
	 * @param {boolean} [isRenewed] only claims that were written lately
	 * @returns {Promise<Map<string, { host: string, until: Date }>>}
	 */
	async holders(isRenewed) {
		const held = await this.#held(isRenewed ? RENEWED_MS : LONGEST_TTL);
		// Of two hosts that are about to give their claims up, everybody sees the same one.
		held.sort((a, b) => compareText(b.host, a.host));
		return new Map(held.map(({ session, host, until }) => [session, { host, until: new Date(until) }]));
	}

	/**
	 * Claims a session, prolongs the claim, or gives it up.
	 * @param {string} session
	 * @param {number} ttl in milliseconds
	 * @returns {Promise<import("./index").Claim>}
	 */
	async claim(session, ttl) {
		if (ttl > LONGEST_TTL) throw new StoreError("invalid", `A claim's ttl is ${LONGEST_TTL} milliseconds at most, not ${ttl}`);
		for (let tries = 0; tries < TRIES; tries++) {
			await this.check(session);
			const until = new Date((await this.#objects.now(hostPath(this.#host))) + ttl);
			if (!(await this.#write(session, ttl))) continue;
			if (ttl === 0 || !(await this.#other(session))) return { until };
			await this.#write(session, 0);
			await pause(Math.random() * 20 * (tries + 1));
		}
		throw new StoreError("failed", `${this.#objects.name()}: ${hostPath(this.#host)} cannot be written: it always changes meanwhile`);
	}

	/** Throws if another host has the session. @param {string} session */
	async check(session) {
		const other = await this.#other(session);
		if (other) throw claimedError(session, other.host);
	}

	/** The claim of another host. @param {string} session */
	async #other(session) {
		return (await this.#held()).find((one) => one.session === session && one.host !== this.#host);
	}

	/** What hosts have claimed that wrote within some time. @returns {Promise<Held[]>} */
	async #held(within = LONGEST_TTL) {
		const listed = await this.#objects.list(HOSTS);
		const now = await this.#objects.now(hostPath(this.#host));
		const held = await inParallel(PARALLEL, listed, async ({ path, modified }) => {
			const host = idOf(path.slice(HOSTS.length));
			if (host === undefined || now - modified.getTime() > within) return [];
			const object = await this.#objects.get(path);
			const { claims, written } = decode(object?.bytes);
			const ahead = written - (object?.modified ?? modified).getTime();
			return [...claims].map(([session, until]) => ({ session, host, until: until - ahead }));
		});
		return held.flat().filter(({ until }) => until > now);
	}

	/**
	 * Gives whether it was written: not if another process of this host wrote meanwhile.
	 * @param {string} session
	 * @param {number} ttl
	 */
	async #write(session, ttl) {
		const path = hostPath(this.#host);
		const before = await this.#objects.get(path);
		if (!before && ttl === 0) return true;
		const now = Date.now();
		const { claims } = decode(before?.bytes);
		claims.set(session, now + ttl);
		const kept = Object.fromEntries([...claims].filter(([, until]) => until > now));
		const bytes = Buffer.from(`${JSON.stringify({ now, claims: kept })}\n`);
		return before ? this.#objects.replace(path, bytes, before.tag) : this.#objects.create(path, bytes);
	}
}

/**
 * A damaged one holds nothing.
 * @param {Buffer} [bytes]
 */
function decode(bytes) {
	/** When each claim ends, by session. @type {Map<string, number>} */
	const claims = new Map();
	const value = bytes && parse(bytes);
	if (!isObject(value) || !isCount(value.now) || !isObject(value.claims)) return { claims, written: 0 };
	for (const [session, until] of Object.entries(value.claims)) if (isCount(until)) claims.set(session, Math.min(until, value.now + LONGEST_TTL));
	return { claims, written: value.now };
}

exports.Claims = Claims;
