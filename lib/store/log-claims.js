// Who uses which sessions: an object for each host.
//
//   hosts/<host>    {"<session>":1764000060000}
//
// Claims end by the store's clock, whatever the host's clock says. A host that claims a session looks afterwards whether another
// one did meanwhile: then it gives its claim up and tries again, so that of two at most one has it.
const { setTimeout: pause } = require("node:timers/promises");
const { StoreError, claimedError } = require("./errors.js");
const { inParallel } = require("./in-parallel.js");
const { compareText, isCount, isObject, parse } = require("./lines.js");
const { HOSTS, hostPath } = require("./log-names.js");
const { untilWritten } = require("./log-objects.js");
const { idOf } = require("./names.js");

/** @typedef {import("./log-objects").Objects} Objects */
/** Its time is in milliseconds of the store's clock. @typedef {{ session: string, host: string, until: number }} Held */

const LONGEST_TTL = 24 * 3600 * 1000;
/** pi renews its claims three times within this. */
const RENEWED_MS = 2 * 60 * 1000;
const PARALLEL = 16;

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
		return untilWritten(this.#objects, hostPath(this.#host), async (tries) => {
			await this.check(session);
			const until = await this.#write(session, ttl);
			if (until === undefined) return undefined;
			if (ttl === 0 || !(await this.#other(session))) return { until: new Date(until) };
			await this.#write(session, 0);
			await pause(Math.random() * 20 * (tries + 1));
			return undefined;
		});
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
			const claims = decode((await this.#objects.get(path))?.bytes);
			return [...claims].map(([session, until]) => ({ session, host, until: Math.min(until, now + LONGEST_TTL) }));
		});
		return held.flat().filter(({ until }) => until > now);
	}

	/**
	 * Gives when the claim ends; undefined if another process of this host wrote meanwhile.
	 * @param {string} session
	 * @param {number} ttl
	 */
	async #write(session, ttl) {
		const path = hostPath(this.#host);
		const before = await this.#objects.get(path);
		const now = await this.#objects.now(path);
		if (!before && ttl === 0) return now;
		const claims = decode(before?.bytes).set(session, now + ttl);
		const bytes = Buffer.from(`${JSON.stringify(Object.fromEntries([...claims].filter(([, until]) => until > now)))}\n`);
		return (await (before ? this.#objects.replace(path, bytes, before.tag) : this.#objects.create(path, bytes))) ? now + ttl : undefined;
	}
}

/**
 * When each claim ends, by session. A damaged object holds none.
 * @param {Buffer} [bytes]
 */
function decode(bytes) {
	const value = bytes && parse(bytes);
	return new Map(Object.entries(isObject(value) ? value : {}).flatMap(([session, until]) => (isCount(until) ? [[session, until]] : [])));
}

exports.Claims = Claims;
