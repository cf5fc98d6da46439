// Who uses which sessions: an object for each host.
//
//   hosts/<host>    {"now":1764000000000,"claims":{"<session>":{"epoch":3,"until":1764000060000}}}
//
// Its times are those of the host's clock, of which it has the time at which it was written: the store's clock says when that was, and so
// when a claim ends, whatever the host's clock says. The highest epoch counts. A host that claims a session looks afterwards whether
// another one did meanwhile: then it gives its claim up and tries again, so that of two at most one has it.
const { setTimeout: pause } = require("node:timers/promises");
const { claimedError } = require("./claim.js");
const { StoreError } = require("./errors.js");
const { inParallel } = require("./in-parallel.js");
const { compareText, isCount, isObject, parse } = require("./lines.js");
const { HOSTS, hostPath } = require("./log-names.js");
const { idOf } = require("./names.js");

/** @typedef {import("./log-store").Objects} Objects */
/** @typedef {import("./log-names").Listed} Listed */
/** @typedef {{ epoch: number, until: number, isOver?: boolean }} Kept `isOver`: it was given up */
/** Its time is in milliseconds of the store's clock. @typedef {Kept & { host: string }} Held */

const LONGEST_TTL = 24 * 3600 * 1000;
/** How long an ended claim is kept, for the next epoch to be higher. */
const KEPT_MS = 7 * LONGEST_TTL;
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
	 * @returns {Promise<Map<string, { host: string, epoch: number, until: Date }>>}
	 */
	async holders(isRenewed) {
		const { held, now } = await this.#read(isRenewed ? RENEWED_MS : KEPT_MS);
		/** @type {Map<string, { host: string, epoch: number, until: Date }>} */
		const holders = new Map();
		for (const [session, all] of held) {
			const last = newest(all);
			if (last && isHeld(last, now)) holders.set(session, { host: last.host, epoch: last.epoch, until: new Date(last.until) });
		}
		return holders;
	}

	/**
	 * Claims a session, prolongs the claim, or gives it up.
	 * @param {string} session
	 * @param {{ ttl: number, force: boolean }} claim
	 * @returns {Promise<import("./index").Claim>}
	 */
	async claim(session, { ttl, force }) {
		if (ttl > LONGEST_TTL) throw new StoreError("invalid", `A claim's ttl is ${LONGEST_TTL} milliseconds at most, not ${ttl}`);
		for (let tries = 0; tries < TRIES; tries++) {
			const { held, now } = await this.#read();
			const before = held.get(session) ?? [];
			const last = newest(before);
			if (last && last.host !== this.#host && !force && isHeld(last, now)) throw claimedError(session, last);
			if (ttl === 0 && last?.host !== this.#host) return { epoch: last?.epoch ?? 0, until: new Date(now) };
			const epoch = last?.host === this.#host ? last.epoch : (last?.epoch ?? 0) + 1;
			if (!(await this.#write(session, { epoch, ttl }))) continue;
			const after = ttl === 0 ? undefined : await this.#read();
			const others = (after?.held.get(session) ?? []).filter(({ host }) => host !== this.#host);
			// A host may have claimed it meanwhile with a lower epoch. One whose claim this host has taken over had it before.
			const isNew = (/** @type {Held} */ one) =>
				!force && isHeld(one, after?.now ?? now) && !before.some((old) => old.host === one.host && old.epoch === one.epoch && isHeld(old, now));
			if (!others.some((one) => one.epoch >= epoch || isNew(one))) return { epoch, until: new Date(now + ttl) };
			// A claim that never held leaves no epoch behind, which would hide that of the host that has the session.
			await this.#write(session, { epoch: before.find(({ host }) => host === this.#host)?.epoch, ttl: 0 });
			await pause(Math.random() * 20 * (tries + 1));
		}
		throw new StoreError("failed", `${this.#objects.name()}: ${hostPath(this.#host)} cannot be written: it always changes meanwhile`);
	}

	/**
	 * Throws unless this host has the session with this epoch.
	 * @param {string} session
	 * @param {number} epoch
	 */
	async check(session, epoch) {
		const { held, now } = await this.#read();
		const last = newest(held.get(session) ?? []);
		if (last?.host === this.#host && last.epoch === epoch && !last.isOver) return;
		throw claimedError(session, { epoch: last?.epoch ?? 0, host: last && isHeld(last, now) ? last.host : undefined });
	}

	/** What hosts have claimed that wrote within some time. @returns {Promise<{ held: Map<string, Held[]>, now: number }>} */
	async #read(within = KEPT_MS) {
		const listed = await this.#objects.list(HOSTS);
		const now = await this.#objects.now(hostPath(this.#host));
		/** @type {Map<string, Held[]>} */
		const held = new Map();
		await inParallel(PARALLEL, listed, async ({ path, modified }) => {
			const host = idOf(path.slice(HOSTS.length));
			if (host === undefined || now - modified.getTime() > within) return;
			const object = await this.#objects.get(path);
			const { claims, written } = decode(object?.bytes);
			const ahead = written - (object?.modified ?? modified).getTime();
			for (const [session, kept] of claims) held.set(session, [...(held.get(session) ?? []), { ...kept, host, until: kept.until - ahead }]);
		});
		return { held, now };
	}

	/**
	 * Gives whether it was written: not if another process of this host wrote meanwhile.
	 * @param {string} session
	 * @param {{ epoch?: number, ttl: number }} claim without an epoch there is none
	 */
	async #write(session, { epoch, ttl }) {
		const path = hostPath(this.#host);
		const before = await this.#objects.get(path);
		const { claims } = decode(before?.bytes);
		const now = Date.now();
		if (epoch === undefined) claims.delete(session);
		else claims.set(session, { epoch, until: now + ttl, ...(ttl === 0 && { isOver: true }) });
		for (const [other, { until }] of claims) if (now - until > KEPT_MS) claims.delete(other);
		const bytes = Buffer.from(`${JSON.stringify({ now, claims: Object.fromEntries(claims) })}\n`);
		return before ? this.#objects.replace(path, bytes, before.tag) : this.#objects.create(path, bytes);
	}
}

/**
 * The claim that counts.
 * @param {Held[]} held
 */
const newest = (held) => [...held].sort((a, b) => b.epoch - a.epoch || Number(a.isOver ?? false) - Number(b.isOver ?? false) || compareText(a.host, b.host))[0];

/** @param {Held} held @param {number} now */
const isHeld = ({ until, isOver }, now) => !isOver && until > now;

/**
 * A damaged one holds nothing.
 * @param {Buffer} [bytes]
 */
function decode(bytes) {
	/** @type {Map<string, Kept>} */
	const claims = new Map();
	const value = bytes && parse(bytes);
	if (!isObject(value) || !isCount(value.now) || !isObject(value.claims)) return { claims, written: 0 };
	for (const [session, claim] of Object.entries(value.claims))
		if (isObject(claim) && isCount(claim.epoch) && isCount(claim.until)) {
			const until = Math.min(claim.until, value.now + LONGEST_TTL);
			claims.set(session, { epoch: claim.epoch, until, ...(claim.isOver === true && { isOver: true }) });
		}
	return { claims, written: value.now };
}

exports.Claims = Claims;
