// The follower's claims: which sessions this host has claimed in the store, and which ones it hears that others use.
import { createRequire } from "node:module";
import { CLAIM_MS, isExclusive } from "./store-shared.mjs";

const require = createRequire(import.meta.url);
const { isGone } = require("../store/errors.js");
const { displayName } = require("../store/names.js");

/** When a claim is renewed. */
const RENEW_MS = 20_000;

/** The claims that this host has, and gives up when pi ends. */
export class HeldClaims {
	#store;
	#reports;
	/** Ids of sessions that this host has claimed. */
	#held = new Set();
	/** When each session was last asked for, by the time of day, which goes on while the machine sleeps; Infinity while it is, which may take forever. */
	#askedAt = new Map();
	/** What claims a session before each append, where this host is to have it alone. */
	beforeAppend = isExclusive() ? (session) => this.#claimUnlessHeld(session) : undefined;

	/** @param {{ store: import("../store/index.js").LineStore, reports: import("./store-messages.mjs").Reports }} parts */
	constructor({ store, reports }) {
		[this.#store, this.#reports] = [store, reports];
	}

	/** Claims a session that the store has, or renews the claim, if it is time to. What fails is tried again when it is time again. */
	async renew(session) {
		if (this.#store.claim === undefined || Date.now() - (this.#askedAt.get(session) ?? -Infinity) < RENEW_MS) return;
		await this.#claim(session).catch((error) => {
			if (error.code !== "claimed" && !error.retryable) this.#reports.show(`session ${session} is not claimed: ${error.message}`, `claim ${session} ${error.code}`);
		});
	}

	/** Claims a session, unless the store does not have it. Rejects if another host has the claim. */
	async #claim(session) {
		this.#askedAt.set(session, Infinity);
		this.#held.delete(session);
		try {
			await this.#store.claim(session, { ttl: CLAIM_MS });
			this.#held.add(session);
			this.#reports.send({ claimed: session });
		} catch (error) {
			if (isGone(error)) return;
			if (error.code === "claimed") {
				this.#reports.show(`${error.message}: what is said here ${isExclusive() ? "is stored when that host has given it up" : "becomes a second branch"}`);
				this.#reports.send({ inUse: [session, error.message] });
			}
			throw error;
		} finally {
			this.#askedAt.set(session, Date.now());
		}
	}

	/** Claims a session, unless this host has a claim that lasts. What the store does not have yet is claimed once it has. */
	async #claimUnlessHeld(session) {
		if (this.#held.has(session) && Date.now() - this.#askedAt.get(session) < CLAIM_MS / 2) return;
		await this.#claim(session);
		if (!this.#held.has(session)) this.#askedAt.delete(session);
	}

	/** Gives up what this process has claimed. */
	async release() {
		await Promise.allSettled([...this.#held].map((session) => this.#store.claim(session, { ttl: 0 })));
	}

	/** Says which of these stored sessions other hosts use. */
	showUses(stored) {
		const used = stored.filter(({ claim }) => claim && claim.host !== this.#store.host);
		const uses = used.map(({ session, claim }) => ({ session, use: `${session} is in use on ${displayName(claim.host)}` }));
		for (const { session, use } of uses) this.#reports.send({ inUse: [session, `Session ${use}`] });
		this.#reports.showFew(uses.map(({ use }) => [`session ${use}`]), (count) => `${count} more sessions are in use on other hosts; pi-sessions remote shows them`);
	}
}
