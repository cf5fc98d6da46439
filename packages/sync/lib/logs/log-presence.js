// Which hosts have which sessions open, in a directory or a bucket: an empty object for each, `presence/<host>/<session>`. It counts for a
// minute from its time, by this machine's clock.
const { inParallel } = require("../base/in-parallel.js");
const { compareText } = require("../base/lines.js");
const { idOf, nameOf } = require("../base/names.js");

/** @typedef {import("./log-objects").Objects} Objects */
/** @typedef {import("./log-objects").ObjectInfo} ObjectInfo */

const PRESENCE_MS = 60_000;
/** An object of this age was left by a process that was killed. */
const ABANDONED_MS = 24 * 3600 * 1000;
const PRESENCE = /^presence\/([^/]+)\/([^/]+)$/;

/** @param {string} host @param {string} session */
const presencePath = (host, session) => `presence/${nameOf(host)}/${nameOf(session)}`;

/** @param {ObjectInfo} object */
const ageOf = ({ modified }) => Date.now() - modified.getTime();

/** The hosts that have sessions open, by session. @param {Objects} objects */
async function readPresence(objects) {
	/** @type {Map<string, string[]>} */
	const presence = new Map();
	for (const object of await objects.list("presence/")) {
		const [, host, session] = (PRESENCE.exec(object.path) ?? []).map(idOf);
		if (host === undefined || session === undefined || ageOf(object) >= PRESENCE_MS) continue;
		presence.set(session, [...(presence.get(session) ?? []), host].sort(compareText));
	}
	return presence;
}

/**
 * With a session that was closed goes what killed processes left, of whatever host: that of a container does not come back.
 * @param {Objects} objects
 * @param {string} host
 * @param {string} session
 */
async function removePresence(objects, host, session) {
	await objects.remove([presencePath(host, session)]);
	const abandoned = (await objects.list("presence/")).filter((object) => ageOf(object) >= ABANDONED_MS);
	// They may be another user's, and then nobody else's to remove.
	await inParallel(abandoned, ({ path }) => objects.remove([path]).catch(() => {}));
}

exports.presencePath = presencePath;
exports.readPresence = readPresence;
exports.removePresence = removePresence;
