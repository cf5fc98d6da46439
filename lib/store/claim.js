// What stores with claims have in common.
const { StoreError } = require("./errors.js");

/**
 * @param {string} session
 * @param {{ host?: string | null, epoch: number }} holder
 */
const claimedError = (session, { host, epoch }) =>
	new StoreError("claimed", host == null ? `The claim of session ${session} has ended (epoch ${epoch})` : `Session ${session} is claimed by host ${host} (epoch ${epoch})`);

/** @param {number} ttl */
function checkTtl(ttl) {
	if (!Number.isFinite(ttl) || ttl < 0) throw new StoreError("invalid", `A claim's ttl must be a number of milliseconds, 0 or more, not ${ttl}`);
}

exports.checkTtl = checkTtl;
exports.claimedError = claimedError;
