// This host's claims of sessions in a store (see store.mjs).
import { CLAIM_MS } from "./store-shared.mjs";

export class Claims {
	#store;
	/** By session. */
	#epochs = new Map();

	constructor(store) {
		this.#store = store;
	}

	/** The sessions that were claimed. */
	get sessions() {
		return [...this.#epochs.keys()];
	}

	has(session) {
		return this.#epochs.has(session);
	}

	/**
	 * The epoch that an append is to name where this host is to have the session alone. It is claimed first, by `claim`, if it is not
	 * yet. Gives none for what the store does not have.
	 */
	async epochOf(session, claim = (session) => this.claim(session)) {
		if (!this.#epochs.has(session)) await claim(session);
		return this.#epochs.get(session);
	}

	/** Claims a session, or prolongs the claim. Gives whether the store has it; rejects if another host has the claim. */
	async claim(session) {
		try {
			this.#epochs.set(session, (await this.#store.claim(session, { ttl: CLAIM_MS })).epoch);
			return true;
		} catch (error) {
			if (error.code === "claimed" || error.code === "not-found") this.#epochs.delete(session);
			if (error.code === "not-found") return false;
			throw error;
		}
	}

	/** Is to be called when the store refused the epoch: another host took the session over, or another process of this one gave it up. */
	forget(session) {
		this.#epochs.delete(session);
	}
}
