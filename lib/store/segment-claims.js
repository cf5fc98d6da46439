// Who uses a session: numbered objects beside its segments.
//
//   sessions/<session>/.claims/0000000042.json   the 42nd change: {"host":"laptop","epoch":40,"ttl":60000}
//
// The highest number counts. A change creates the next number, which only one process can, and removes the lower ones. A process
// that was held up could create a number that was used and removed since it listed; so it lists once more after writing. The
// epoch is the number with which the holder began. Time is the store's: that of the object, and what its clock says now.
const { setTimeout: pause } = require("node:timers/promises");
const { claimedError } = require("./claim.js");
const { StoreError } = require("./errors.js");
const { isObject, parse } = require("./lines.js");

/** @typedef {import("./segment-names").Listed} Listed */
/** @typedef {import("./segment-store").Objects} Objects */
/** @typedef {{ number: number, path: string, modified: Date }} Change */
/** Without a host the claim was given up. @typedef {{ number: number, host?: string, epoch: number, until: Date }} State */

const NAME = /^\.claims\/(\d{10})\.json$/;
const LONGEST_TTL = 24 * 3600 * 1000;
/** How often a change is tried: other hosts may be faster. */
const TRIES = 50;

class SegmentClaims {
	/** @type {Objects} */
	#objects;
	#host;

	/** @param {Objects} objects @param {string} host */
	constructor(objects, host) {
		this.#objects = objects;
		this.#host = host;
	}

	/**
	 * Who has claimed a session now.
	 * @param {string} folder the session's, ending with "/"
	 * @param {Listed[]} listed what is in it
	 * @returns {Promise<{ host: string, epoch: number, until: Date } | undefined>}
	 */
	async holder(folder, listed) {
		const last = changesIn(folder, listed).at(-1);
		// A store has many old sessions, and each read costs a request. No claim lasts so long, even if this machine's clock is a day off.
		if (!last || Date.now() - last.modified.getTime() > 2 * LONGEST_TTL) return undefined;
		const { host, epoch, until } = await this.#stateOf(folder, listed);
		return host !== undefined && until.getTime() > (await this.#objects.now(last.path)) ? { host, epoch, until } : undefined;
	}

	/**
	 * Claims a session, prolongs the claim, or gives it up.
	 * @param {string} session
	 * @param {string} folder
	 * @param {{ ttl: number, force: boolean }} claim
	 * @returns {Promise<import("./index").Claim>}
	 */
	async claim(session, folder, { ttl, force }) {
		if (ttl > LONGEST_TTL) throw new StoreError("invalid", `A claim's ttl is ${LONGEST_TTL} milliseconds at most, not ${ttl}`);
		for (let tries = 0; tries < TRIES; tries++) {
			if (tries > 1) await pause(Math.min(tries * 10, 100) * Math.random());
			const listed = await this.#objects.list(folder);
			if (!listed.some(({ path }) => path.endsWith(".lines"))) throw new StoreError("not-found", `There is no session ${session}`);
			const state = await this.#stateOf(folder, listed);
			const number = state.number + 1;
			const path = `${folder}.claims/${String(number).padStart(10, "0")}.json`;
			const now = await this.#objects.now(path);
			const isOwn = state.host === this.#host;
			if (!isOwn && !force && state.host !== undefined && state.until.getTime() > now) throw claimedError(session, state);
			const epoch = isOwn ? state.epoch : number;
			const content = JSON.stringify({ host: ttl > 0 ? this.#host : undefined, epoch, ttl });
			if (!(await this.#objects.create(path, Buffer.from(`${content}\n`)))) continue;
			const changes = changesIn(folder, await this.#objects.list(folder));
			if (changes.at(-1)?.number !== number) continue;
			await this.#remove(changes.slice(0, -1));
			return { epoch, until: new Date(now + ttl) };
		}
		throw new StoreError("failed", `Session ${session}: its claim cannot be changed: the next number is taken, or not found once it was written`);
	}

	/**
	 * Throws unless this host has the session with this epoch.
	 * @param {string} session
	 * @param {string} folder
	 * @param {number} epoch
	 */
	async check(session, folder, epoch) {
		const state = await this.#stateOf(folder, await this.#objects.list(folder));
		if (state.host !== this.#host || state.epoch !== epoch) throw claimedError(session, state);
	}

	/**
	 * What the last change says.
	 * @param {string} folder
	 * @param {Listed[]} listed
	 * @returns {Promise<State>}
	 */
	async #stateOf(folder, listed) {
		for (let tries = 0; tries < TRIES; tries++) {
			const last = changesIn(folder, listed).at(-1);
			if (!last) return { number: 0, epoch: 0, until: new Date(0) };
			const { number, path, modified } = last;
			const content = await this.#objects.get(path);
			if (content) {
				const value = parse(content);
				// A damaged one holds nothing.
				if (!isObject(value) || typeof value.epoch !== "number" || typeof value.ttl !== "number") return { number, epoch: number, until: modified };
				const host = typeof value.host === "string" ? value.host : undefined;
				return { number, host, epoch: value.epoch, until: new Date(modified.getTime() + Math.min(value.ttl, LONGEST_TTL)) };
			}
			// A later change removed it.
			listed = await this.#objects.list(folder);
		}
		throw new StoreError("failed", `${this.#objects.name()}: the last change of a claim in ${folder} is listed, but cannot be read`);
	}

	/** @param {Change[]} changes */
	async #remove(changes) {
		try {
			await this.#objects.remove(changes.map(({ path }) => path));
		} catch (error) {
			// Without the right to remove they stay.
			if (!(error instanceof StoreError)) throw error;
		}
	}
}

/**
 * The changes in a session's folder, by number.
 * @param {string} folder
 * @param {Listed[]} listed
 * @returns {Change[]}
 */
function changesIn(folder, listed) {
	return listed
		.flatMap(({ path, modified }) => {
			const number = path.startsWith(folder) ? NAME.exec(path.slice(folder.length))?.[1] : undefined;
			return number === undefined ? [] : [{ number: Number(number), path, modified }];
		})
		.sort((a, b) => a.number - b.number);
}

exports.SegmentClaims = SegmentClaims;
