// The follower's claims: which sessions this host has claimed in the store, and which ones others use.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { isGone } = require("../store/errors.js");
const { displayName } = require("../store/names.js");

/** How long a claim lasts, in milliseconds, unless it is renewed. */
const CLAIM_MS = 60_000;

export class Claims {
	#store;
	#reports;
	/** The sessions that this process has claimed. */
	#claimed = new Set();

	/** @param {{ store: import("../store/index.js").LineStore, reports: import("./messages.mjs").Reports }} parts */
	constructor({ store, reports }) {
		[this.#store, this.#reports] = [store, reports];
	}

	/** Claims a session that the store has, or renews the claim. */
	async renew(session) {
		this.#claimed.add(session);
		try {
			await this.#store.claim?.(session, { ttl: CLAIM_MS });
		} catch (error) {
			if (isGone(error) || error.code === "claimed" || error.retryable) return;
			this.#reports.show(`session ${session} is not claimed: ${error.message}`, `claim ${session} ${error.code}`);
		}
	}

	/** Gives up what this process has claimed. */
	async release() {
		await Promise.allSettled([...this.#claimed].map((session) => this.#store.claim?.(session, { ttl: 0 })));
	}

	/** Says which of these stored sessions other hosts use. */
	showUses(stored) {
		const used = stored.filter(({ claim }) => claim && claim.host !== this.#store.host);
		const lines = used.map(({ session, claim }) => [`session ${session} is in use on ${displayName(claim.host)}`]);
		this.#reports.showFew(lines, (count) => `${count} more sessions are in use on other hosts; pi-sessions remote shows them`);
	}
}
