// Calls whose failure is expected: a file is absent, or a store does not answer.

/** The filter of a list that only tests whether the store answers. */
const PING = { session: "0" };

/**
 * Returns the result of a call to the file system; undefined if it fails with this code.
 * @type {(code: string) => <T>(work: Promise<T>) => Promise<T | undefined>}
 */
const unless = (code) => (work) =>
	work.catch((error) => {
		if (error.code === code) return undefined;
		throw error;
	});

const unlessAbsent = unless("ENOENT");
const unlessThere = unless("EEXIST");

/** A broken link, or a file that was deleted meanwhile. @param {unknown} error */
const isAbsence = (error) => ["ENOENT", "ENOTDIR", "ELOOP"].includes(Object(error).code);

/**
 * Works with a file, then closes it.
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

exports.PING = PING;
exports.isAbsence = isAbsence;
exports.unlessAbsent = unlessAbsent;
exports.unlessThere = unlessThere;
exports.withFile = withFile;
