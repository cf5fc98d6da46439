// Opens files that others may have put in place. A FIFO would block `open` forever, and the signals with it, so files
// are opened without blocking and checked afterwards: a check of the path before would leave a gap.
import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { CommandError } from "./errors.mjs";

/** Windows has no such flag, and no FIFO that a path could name. */
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);

/**
 * Opens a regular file for reading.
 * @param {string} path
 * @returns {number} a descriptor that the caller closes
 * @throws {CommandError} if the path names something else, such as a directory, FIFO or device
 */
export function openRegularFile(path) {
	const file = openSync(path, FLAGS);
	try {
		if (fstatSync(file).isFile()) return file;
		throw new CommandError(`Not a regular file: ${path}`);
	} catch (error) {
		closeSync(file);
		throw error;
	}
}
