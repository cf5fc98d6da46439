// Ids of sessions and hosts, and their names in paths and keys.
//
// Ids come from headers that other machines wrote, so none is used as a name before it was checked: an id that passes
// holds no separator and no "..". File systems that fold case would give two ids one directory, so capitals are written
// as "~" and the small letter, and "~" is in no id.
const { StoreError } = require("./errors.js");

const ID = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/;
/** Names of devices on Windows, with any extension. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/i;
/** Even with only capitals, the name fits into the 255 bytes of a file name. */
const MAX_ID_LENGTH = 120;

/** @param {unknown} id @returns {id is string} */
const isId = (id) => typeof id === "string" && id.length <= MAX_ID_LENGTH && ID.test(id) && !DEVICE.test(id);

/** Gives the id back, or throws. @param {unknown} id @param {"session" | "host"} of */
function checkId(id, of) {
	if (isId(id)) return id;
	const shown = typeof id === "string" ? JSON.stringify(id.slice(0, 200)) : typeof id;
	const rule = `${MAX_ID_LENGTH} letters, digits, ".", "_", "-" at most, no mark at either end, no device of Windows`;
	throw new StoreError("invalid", `Not an id of a ${of}: ${shown} (${rule})`);
}

/** @param {string} id */
const nameOf = (id) => id.replace(/[A-Z]/g, (letter) => `~${letter.toLowerCase()}`);

/** The id that has this name; undefined if none has. @param {string} name */
function idOf(name) {
	const id = name.replace(/~([a-z])/g, (_, letter) => letter.toUpperCase());
	return isId(id) && nameOf(id) === name ? id : undefined;
}

/** A host's id for people: without the random end that a made one has. @param {string} host */
const displayName = (host) => host.replace(/(?<=.)-[0-9a-f]{8}$/, "");

exports.checkId = checkId;
exports.displayName = displayName;
exports.idOf = idOf;
exports.isId = isId;
exports.nameOf = nameOf;
