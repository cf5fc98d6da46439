// What stores with claims have in common.
const { StoreError } = require("./errors.js");

/** @param {string} session @param {string} host */
const claimedError = (session, host) => new StoreError("claimed", `Session ${session} is claimed by host ${host}`);

/** @param {{ ttl: number }} claim */
function checkTtl(claim) {
	const { ttl } = claim ?? {};
	if (!Number.isFinite(ttl) || ttl < 0) throw new StoreError("invalid", `A claim's ttl must be a number of milliseconds, 0 or more, not ${ttl}`);
	return ttl;
}

exports.checkTtl = checkTtl;
exports.claimedError = claimedError;
