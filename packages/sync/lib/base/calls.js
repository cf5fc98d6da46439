// Calls whose failure may be expected: of a file that is absent, of a package that is not installed, of a store that does not answer.
const { StoreError } = require("./errors.js");

/** @typedef {import("../index").StoreErrorCode} StoreErrorCode */

/** What a list is asked for where it only matters whether the store answers. */
const PING = { session: "0" };

/** What a call to the file system gives; undefined if it fails with this code. @type {(code: string) => <T>(work: Promise<T>) => Promise<T | undefined>} */
const unless = (code) => (work) =>
	work.catch((error) => {
		if (error.code === code) return undefined;
		throw error;
	});

const unlessAbsent = unless("ENOENT");
const unlessThere = unless("EEXIST");

/**
 * What is done with a file, which is closed then.
 * @template {import("node:fs").promises.FileHandle | undefined} File
 * @template T
 * @param {File | Promise<File>} opening
 * @param {(file: File) => Promise<T>} work
 */
async function withFile(opening, work) {
	const file = await opening;
	try {
		return await work(file);
	} finally {
		await file?.close();
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
exports.unlessThere = unlessThere;
exports.withFile = withFile;
