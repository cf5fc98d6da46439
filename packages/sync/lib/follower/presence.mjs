// Presence in the store: the sessions that this host is shown to have open, and those that others have.
import { displayName } from "../base/names.js";

export class Presence {
	#store;
	#reports;
	/** The sessions that this process has shown to be open. @type {Set<string>} */
	#shown = new Set();

	/** @param {{ store: import("../index.js").LineStore, reports: import("./messages.mjs").Reports }} parts */
	constructor({ store, reports }) {
		this.#store = store;
		this.#reports = reports;
	}

	/** Shows for a minute that a session is open here. @param {string} session */
	async show(session) {
		this.#shown.add(session);
		try {
			await this.#store.setPresence(session, true);
		} catch (error) {
			const { code, message, retryable } = Object(error);
			if (!retryable) this.#reports.show(`others do not see that session ${session} is open here: ${message}`, `presence ${code}`);
		}
	}

	/** Shows none any more. */
	async end() {
		await Promise.allSettled([...this.#shown].map((session) => this.#store.setPresence(session, false)));
	}

	/** Says which of these stored sessions other hosts have open, once of each session and host. @param {import("../index.js").StoredSession[]} stored */
	reportOthers(stored) {
		const others = stored.flatMap(({ session, presence = [] }) => presence.filter((host) => host !== this.#store.host).map((host) => ({ session, host })));
		const lines = others.map(({ session, host }) => [`session ${session} is in use on ${displayName(host)}`]);
		this.#reports.showFew(lines, (count) => `${count} more uses of sessions on other hosts; pi-sessions remote shows them`);
	}
}
