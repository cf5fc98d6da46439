// Ids of sessions and hosts, and their names in paths and keys.
//
// Ids come from headers that other machines wrote, so each is checked before it is used as a name: a checked id
// contains no separator and no "..". On file systems that fold case, two ids would have one directory, so a capital
// letter is written as "~" and the small letter. No id contains "~".
const { StoreError } = require("./errors.js");

const ID = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/;
/** Names of devices on Windows, with any extension. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/i;
/** So the name fits into the 255 bytes of a file name, even if all letters are capital. */
const MAX_ID_LENGTH = 120;

/** @param {unknown} id @returns {id is string} */
const isId = (id) => typeof id === "string" && id.length <= MAX_ID_LENGTH && ID.test(id) && !DEVICE.test(id);

/** Returns the id, or throws. @param {unknown} id @param {"session" | "host"} of */
function checkId(id, of) {
	if (isId(id)) return id;
	const shown = typeof id === "string" ? JSON.stringify(id.slice(0, 200)) : typeof id;
	const rule = `at most ${MAX_ID_LENGTH} letters, digits, ".", "_", "-", no mark at either end, no device of Windows`;
	throw new StoreError("invalid", `Not an id of a ${of}: ${shown} (${rule})`);
}

/** @param {string} id */
const nameOf = (id) => id.replace(/[A-Z]/g, (letter) => `~${letter.toLowerCase()}`);

/** The id with this name; undefined if there is none. @param {string} name */
function idOf(name) {
	const id = name.replace(/~([a-z])/g, (_, letter) => letter.toUpperCase());
	return isId(id) && nameOf(id) === name ? id : undefined;
}

exports.checkId = checkId;
exports.idOf = idOf;
exports.isId = isId;
exports.nameOf = nameOf;
