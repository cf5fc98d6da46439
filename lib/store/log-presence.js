// Which hosts have which sessions open, in a directory or a bucket: an empty object for each, `presence/<host>/<session>`. It counts for a
// minute from its time, by this machine's clock.
const { compareText } = require("./lines.js");
const { idOf, nameOf } = require("./names.js");

/** @typedef {import("./log-objects").Objects} Objects */
/** @typedef {import("./log-objects").ObjectInfo} ObjectInfo */

const PRESENCE_MS = 60_000;
const PRESENCE = /^presence\/([^/]+)\/([^/]+)$/;

/** Without a session, what those of the host begin with. @param {string} host @param {string} [session] */
const presencePath = (host, session = "") => `presence/${nameOf(host)}/${nameOf(session)}`;

/** @param {ObjectInfo} object */
const isOver = ({ modified }) => Date.now() - modified.getTime() >= PRESENCE_MS;

/** The hosts that have sessions open, by session. @param {Objects} objects */
async function readPresence(objects) {
	/** @type {Map<string, string[]>} */
	const presence = new Map();
	for (const object of await objects.list("presence/")) {
		const [, host, session] = (PRESENCE.exec(object.path) ?? []).map(idOf);
		if (host === undefined || session === undefined || isOver(object)) continue;
		presence.set(session, [...(presence.get(session) ?? []), host].sort(compareText));
	}
	return presence;
}

/** With a session that was closed goes what killed processes of the host left. @param {Objects} objects @param {string} host @param {string} session */
async function removePresence(objects, host, session) {
	const left = (await objects.list(presencePath(host))).filter(isOver);
	await objects.remove([presencePath(host, session), ...left.map(({ path }) => path)]);
}

exports.presencePath = presencePath;
exports.readPresence = readPresence;
exports.removePresence = removePresence;
