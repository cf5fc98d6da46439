// Small files of JSON in the directory of this machine's notes, for their owner alone.
const { randomBytes } = require("node:crypto");
const fs = require("node:fs");
const { dirname } = require("node:path");
const { replaceFile } = require("../replace-file.js");
const { isObject, parse } = require("./lines.js");

/**
 * What a file holds; undefined if it is not there or is not JSON.
 * @param {string} path
 * @returns {unknown}
 */
function readJson(path) {
	try {
		return parse(fs.readFileSync(path));
	} catch (error) {
		if (isObject(error) && error.code === "ENOENT") return undefined;
		throw error;
	}
}

/**
 * Writes a file as a whole. The rename may wait for the disk, so not on the caller's thread.
 * @param {string} path
 * @param {string} text
 */
async function writeWhole(path, text) {
	const draft = `${path}.${randomBytes(6).toString("hex")}`;
	await fs.promises.mkdir(dirname(path), { recursive: true, mode: 0o700 });
	try {
		await fs.promises.writeFile(draft, text, { mode: 0o600 });
		await replaceFile(draft, path);
	} catch (error) {
		await fs.promises.rm(draft, { force: true });
		throw error;
	}
}

exports.readJson = readJson;
exports.writeWhole = writeWhole;
