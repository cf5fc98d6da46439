// This host's claims of sessions in a store (see store.mjs).
import { CLAIM_MS } from "./store-shared.mjs";

export class Claims {
	#store;
	#sessions = new Set();

	constructor(store) {
		this.#store = store;
	}

	/** The sessions that were claimed. */
	get sessions() {
		return [...this.#sessions];
	}

	has(session) {
		return this.#sessions.has(session);
	}

	/** Claims a session, or prolongs the claim. Gives whether the store has it; rejects if another host has the claim. */
	async claim(session) {
		try {
			await this.#store.claim(session, { ttl: CLAIM_MS });
			this.#sessions.add(session);
			return true;
		} catch (error) {
			if (error.code === "claimed" || error.code === "not-found") this.#sessions.delete(session);
			if (error.code === "not-found") return false;
			throw error;
		}
	}

	/** Is to be called when the store refused an append: another host took the session over. */
	forget(session) {
		this.#sessions.delete(session);
	}
}
