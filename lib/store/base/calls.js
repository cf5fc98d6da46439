// Calls whose failure may be expected: of a file that is absent, of a package that is not installed, of a store that does not answer.
const { StoreError } = require("./errors.js");

/** @typedef {import("../index").StoreErrorCode} StoreErrorCode */

/** What a list is asked for where it only matters whether the store answers. */
const PING = { session: "0", headers: false };

/**
 * What a call to the file system gives; undefined if the file is not there.
 * @template T
 * @param {Promise<T>} work
 * @returns {Promise<T | undefined>}
 */
async function unlessAbsent(work) {
	try {
		return await work;
	} catch (error) {
		if (/** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT") return undefined;
		throw error;
	}
}

/**
 * What a package gives that may be missing; throws with this code and message if it is.
 * @template T
 * @param {() => T} load
 * @param {StoreErrorCode} code
 * @param {string} lacking
 */
function optional(load, code, lacking) {
	try {
		return load();
	} catch (error) {
		if (/** @type {NodeJS.ErrnoException} */ (error).code !== "MODULE_NOT_FOUND") throw error;
		throw new StoreError(code, lacking);
	}
}

exports.PING = PING;
exports.optional = optional;
exports.unlessAbsent = unlessAbsent;
