// Reads small files as a whole, such as settings. Their paths may be links in a stranger's checkout: to a device, a
// pipe, a sparse file, or a system file that reports a size of 0 and has no end.
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/** The default limit in bytes, larger than any settings, manifest or note. */
const LIMIT = 1 << 20;

/**
 * The bytes of a regular file. Throws if it has more than `limit` bytes, or is no regular file.
 * @param {string} path
 * @param {number} [limit]
 * @returns {Buffer}
 */
export function readSmall(path, limit = LIMIT) {
	// Windows has no such flags.
	const { O_RDONLY, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants;
	const file = openSync(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	try {
		if (!fstatSync(file).isFile()) throw new Error(`${path} is not a regular file`);
		const pieces = [];
		let size = 0;
		for (let read = 1; read > 0 && size <= limit; size += read) {
			const piece = Buffer.alloc(Math.min(limit + 1 - size, 1 << 16));
			read = readSync(file, piece, 0, piece.length, size);
			pieces.push(piece.subarray(0, read));
		}
		if (size > limit) throw new Error(`${path} has more than ${limit} bytes`);
		return Buffer.concat(pieces);
	} finally {
		closeSync(file);
	}
}
