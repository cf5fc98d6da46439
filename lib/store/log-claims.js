// Who uses which sessions: an empty object for each claim, whose name says how many milliseconds the claim lasts from when it was written.
//
//   claims/<session>@<host>.60000
//
// So one list says who has what, and claims go by the store's time, whatever the host's is. A host that claims a session looks
// afterwards whether another one did meanwhile: then it gives its claim up and tries again, so that of two at most one has it.
const { setTimeout: pause } = require("node:timers/promises");
const { StoreError, claimedError } = require("./errors.js");
const { compareText } = require("./lines.js");
const { CLAIMS, claimIn, claimPath, claimsOf } = require("./log-names.js");
const { untilWritten } = require("./log-objects.js");
const { displayName } = require("./names.js");

/** @typedef {import("./log-objects").Objects} Objects */
/** @typedef {import("./log-names").NamedClaim} NamedClaim */

const LONGEST_TTL = 24 * 3600 * 1000;

class Claims {
	/** @type {Objects} */
	#objects;
	#host;
	/** Whether what killed processes left was removed. */
	#isSwept = false;

	/** @param {Objects} objects @param {string} host */
	constructor(objects, host) {
		this.#objects = objects;
		this.#host = host;
	}

	/** Who has which session now. @returns {Promise<Map<string, { host: string, until: Date }>>} */
	async holders() {
		const held = await this.#lasting(await this.#list(CLAIMS));
		// Of two hosts that are about to give their claims up, everybody sees the same one.
		held.sort((a, b) => compareText(b.host, a.host));
		return new Map(held.map(({ session, host, until }) => [session, { host, until: new Date(until) }]));
	}

	/**
	 * Claims a session, prolongs the claim, or gives it up: one process of this host at a time, as a claim is the host's.
	 * @param {string} session
	 * @param {number} ttl in milliseconds
	 * @returns {Promise<import("./index").Claim>}
	 */
	async claim(session, ttl) {
		if (ttl > LONGEST_TTL) throw new StoreError("invalid", `A claim's ttl is ${LONGEST_TTL} milliseconds at most, not ${ttl}`);
		const path = claimPath(session, this.#host, ttl);
		const until = await untilWritten(this.#objects, path, async (tries) => {
			const { own: before, other: holder } = await this.#of(session);
			if (holder) throw claimedError(session, displayName(holder.host));
			if (ttl === 0) {
				await this.#objects.remove(before.map(({ path }) => path));
				return this.#objects.now();
			}
			await this.#objects.touch(path);
			const { own, other } = await this.#of(session);
			const earlier = own.map(({ path }) => path).filter((one) => one !== path);
			const written = own.find((one) => one.path === path)?.written ?? (await this.#objects.now());
			// If our claim was valid all along, maybe by another process of this host, the other host is the newcomer, and yields.
			const isOurs = !other || before.some((one) => one.written + one.ttl > written);
			await this.#objects.remove(isOurs ? earlier : [...earlier, path]);
			if (isOurs) return written + ttl;
			await pause(Math.random() * 20 * (tries + 1));
			return undefined;
		});
		return { until: new Date(until) };
	}

	/** This host's claims of a session, and one of another host that lasts. @param {string} session */
	async #of(session) {
		const claims = await this.#list(claimsOf(session));
		const [other] = await this.#lasting(claims.filter(({ host }) => host !== this.#host));
		return { own: claims.filter(({ host }) => host === this.#host), other };
	}

	/** Those that have not ended, and until when they last. @param {NamedClaim[]} claims */
	async #lasting(claims) {
		// Without any the time is not asked for, which makes a file in a directory.
		if (claims.length === 0) return [];
		const now = await this.#objects.now();
		return claims.map((one) => ({ ...one, until: Math.min(one.written, now) + one.ttl })).filter(({ until }) => until > now);
	}

	/** @param {string} prefix */
	async #list(prefix) {
		return (await this.#objects.list(prefix)).flatMap((object) => claimIn(object) ?? []);
	}

	/** Removes, once, what has ended for long: its process was killed, and nobody claimed the session since. One process of this host at a time, too. */
	async sweep() {
		if (this.#isSwept) return;
		this.#isSwept = true;
		const claims = await this.#list(CLAIMS);
		const now = await this.#objects.now();
		await this.#objects.remove(claims.filter(({ written }) => now - written > LONGEST_TTL).map(({ path }) => path));
	}
}

exports.Claims = Claims;
