// Writes new files. A file is complete or absent, and only its owner can read it, because sessions are private.
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import { dirname, resolve } from "node:path";
import { replaceFile } from "../shared/replace-file.mjs";
import { CommandError } from "./errors.mjs";
import { write } from "./output.mjs";
import { onSignal, yieldToSignals } from "./signals.mjs";

/**
 * @typedef {{ force: boolean, source: string }} Target `force`: an existing file may be replaced; `source`: the session
 * that is read, which is never replaced
 */

/**
 * Writes a text to a file, or to standard output (`-`).
 * @param {string} path
 * @param {Iterable<string>} pieces
 * @param {Target} target
 */
export async function writeText(path, pieces, { force, source }) {
	if (path === "-") {
		refuseSource("standard output", fs.fstatSync(1, { bigint: true }), source);
		for (const piece of pieces) await write(piece);
		return;
	}
	const there = fs.statSync(path, { bigint: true, throwIfNoEntry: false });
	if (there) refuseSource(path, there, source);
	if (there?.isDirectory()) throw new CommandError(`Cannot write to ${path}: it is a directory. Name a file`);
	// Writing to a device or a pipe destroys nothing.
	if (there && !there.isFile()) return await fill(path, "w", pieces);
	if (!force && fs.lstatSync(path, { throwIfNoEntry: false })) throw alreadyThere(path);
	// For a link we replace its target and keep the link.
	return await writeWhole(there ? fs.realpathSync(path) : path, pieces, force);
}

/**
 * Writes a draft, and renames it when it is complete.
 * @param {string} path
 * @param {Iterable<string>} pieces
 * @param {boolean} force
 */
async function writeWhole(path, pieces, force) {
	const dir = dirname(path);
	if (!fs.statSync(dir, { throwIfNoEntry: false })?.isDirectory())
		throw new CommandError(`The directory does not exist: ${dir}`);
	// A temporary file of the library: if this process is killed, a redaction removes it.
	const draft = resolve(dir, `.pi-session-${randomUUID().replaceAll("-", "")}.tmp`);
	const off = onSignal(() => drop(draft));
	try {
		await fill(draft, "w", pieces);
		if (force) await replaceFile(draft, path);
		else await claim(draft, path);
	} catch (error) {
		drop(draft);
		// The user knows the path, not the draft.
		if (error instanceof Error) error.message = error.message.replaceAll(draft, () => path);
		throw error;
	} finally {
		off();
	}
}

/**
 * Gives a draft a path that must not exist.
 * @param {string} draft
 * @param {string} path
 */
async function claim(draft, path) {
	try {
		fs.linkSync(draft, path);
	} catch (error) {
		if (isThere(error)) throw alreadyThere(path);
		return await claimWithoutLinks(draft, path);
	}
	drop(draft);
}

/** Removes a draft. If that fails, a redaction removes it later. @param {string} draft */
function drop(draft) {
	try {
		fs.rmSync(draft, { force: true });
	} catch {
		// The caller's file is complete, or the caller has an error to report.
	}
}

/**
 * Creates the path first, and then replaces it.
 * @param {string} draft
 * @param {string} path
 */
async function claimWithoutLinks(draft, path) {
	try {
		fs.closeSync(fs.openSync(path, "wx", 0o600));
	} catch (error) {
		throw isThere(error) ? alreadyThere(path) : error;
	}
	try {
		await replaceFile(draft, path);
	} catch (error) {
		fs.rmSync(path, { force: true });
		throw error;
	}
}

/**
 * @param {string} path
 * @param {"w" | "wx"} flags
 * @param {Iterable<string>} pieces
 */
async function fill(path, flags, pieces) {
	const file = fs.openSync(path, flags, 0o600);
	const turn = yieldToSignals();
	try {
		for (const piece of pieces) {
			const bytes = Buffer.from(piece);
			for (let at = 0; at < bytes.length; ) at += fs.writeSync(file, bytes, at);
			await turn();
		}
		if (fs.fstatSync(file).isFile()) fs.fsyncSync(file);
	} finally {
		fs.closeSync(file);
	}
}

/** @param {unknown} error */
const isThere = (error) => /** @type {NodeJS.ErrnoException} */ (error).code === "EEXIST";

/** @param {string} path */
const alreadyThere = (path) => new CommandError(`The file already exists: ${path}. Add --force to overwrite it`);

/**
 * Throws if the target is the session that is read, under any name or link, because writing would destroy it.
 * @param {string} name
 * @param {import("node:fs").BigIntStats} target
 * @param {string} source
 */
function refuseSource(name, target, source) {
	const own = fs.statSync(source, { bigint: true, throwIfNoEntry: false });
	if (target.isFile() && target.dev === own?.dev && target.ino === own.ino)
		throw new CommandError(
			`${name} is the session itself. Name another file, because writing would destroy the session`,
		);
}
