// The follower's claims: which sessions this host has claimed in the store, and which ones others use.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { displayName } = require("../store/names.js");

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
			await this.#store.setPresence?.(session, true);
		} catch (error) {
			if (!error.retryable) this.#reports.show(`others do not see that session ${session} is open here: ${error.message}`, `presence ${error.code}`);
		}
	}

	/** Gives up what this process has claimed. */
	async release() {
		await Promise.allSettled([...this.#claimed].map((session) => this.#store.setPresence?.(session, false)));
	}

	/** Says which of these stored sessions other hosts use. */
	showUses(stored) {
		const others = ({ presence = [] }) => presence.filter((host) => host !== this.#store.host);
		const used = stored.filter((one) => others(one).length > 0);
		const lines = used.map((one) => [`session ${one.session} is in use on ${others(one).map(displayName).join(", ")}`]);
		this.#reports.showFew(lines, (count) => `${count} more sessions are in use on other hosts; pi-sessions remote shows them`);
	}
}
