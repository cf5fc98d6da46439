// The follower's claims: which sessions this host has claimed in the store, and which ones it hears that others use.
import { createRequire } from "node:module";
import { CLAIM_MS, isExclusive } from "./common.mjs";

const require = createRequire(import.meta.url);
const { isGone } = require("../store/errors.js");
const { displayName } = require("../store/names.js");

/** The claims that this host has, and gives up when pi ends. */
export class HeldClaims {
	#store;
	#reports;
	/** When each session was last claimed, by the time of day, which goes on while the machine sleeps. */
	#claimedAt = new Map();
	/** What claims a session before each append, where this host is to have it alone. */
	beforeAppend = isExclusive() ? (session) => this.#claimUnlessHeld(session) : undefined;

	/** @param {{ store: import("../store/index.js").LineStore, reports: import("./messages.mjs").Reports }} parts */
	constructor({ store, reports }) {
		[this.#store, this.#reports] = [store, reports];
	}

	/** Claims a session that the store has, or renews the claim. */
	async renew(session) {
		if (this.#store.claim === undefined) return;
		await this.#claim(session).catch((error) => {
			if (error.code !== "claimed" && !error.retryable) this.#reports.show(`session ${session} is not claimed: ${error.message}`, `claim ${session} ${error.code}`);
		});
	}

	/** Claims a session, unless the store does not have it. Rejects if another host has the claim. */
	async #claim(session) {
		const now = Date.now();
		this.#claimedAt.delete(session);
		try {
			await this.#store.claim(session, { ttl: CLAIM_MS });
			this.#claimedAt.set(session, now);
			this.#reports.send({ claimed: session });
		} catch (error) {
			if (isGone(error)) return;
			if (error.code === "claimed") {
				this.#reports.show(`${error.message}: what is said here ${isExclusive() ? "is stored when that host has given it up" : "becomes a second branch"}`);
				this.#reports.send({ inUse: [session, error.message] });
			}
			throw error;
		}
	}

	/** Claims a session, unless this host has a claim that lasts. */
	async #claimUnlessHeld(session) {
		const lasts = Date.now() - (this.#claimedAt.get(session) ?? -Infinity) < CLAIM_MS / 2;
		if (!lasts) await this.#claim(session);
	}

	/** Gives up what this process has claimed. */
	async release() {
		await Promise.allSettled([...this.#claimedAt.keys()].map((session) => this.#store.claim(session, { ttl: 0 })));
	}

	/** Says which of these stored sessions other hosts use. */
	showUses(stored) {
		const used = stored.filter(({ claim }) => claim && claim.host !== this.#store.host);
		const uses = used.map(({ session, claim }) => ({ session, use: `${session} is in use on ${displayName(claim.host)}` }));
		for (const { session, use } of uses) this.#reports.send({ inUse: [session, `Session ${use}`] });
		this.#reports.showFew(uses.map(({ use }) => [`session ${use}`]), (count) => `${count} more sessions are in use on other hosts; pi-sessions remote shows them`);
	}
}
