// The names in a directory or a bucket. One list of a project therefore shows every change.
// docs/store-adapters.md contains a table of them.
const { createHash } = require("node:crypto");
const { compareText } = require("../base/lines.js");
const { idOf, nameOf } = require("../base/names.js");

/** @typedef {import("./log-objects").ObjectInfo} ObjectInfo */
/** @typedef {ObjectInfo & { part: number }} Part */
/**
 * The facts about one session in the names. Each host has the parts of its log, in order. A session without hosts is
 * not stored; a deleted session has none.
 * @typedef {object} SessionListing
 * @property {string} session
 * @property {string} folder of the project
 * @property {Map<string, Part[]>} hosts
 * @property {Date} [deleted] when it was deleted
 * @property {Map<string, Redacted>} redacted by the line's checksum
 */
/**
 * A redacted line. `replacement` is the checksum of its replacement; `unused` are the paths of objects with other
 * replacements, which do not count.
 * @typedef {{ path: string, replacement?: string, unused: string[] }} Redacted
 */

const LINES = "lines/";
const PART = /^(.+)\.(\d{8})\.lines$/;
const REDACTED = /^([A-Za-z0-9_-]{24})(?:\.([A-Za-z0-9_-]{24}))?$/;
const MOVED = /^(lines\/[^/]+\/)from\.([0-9a-f]{32})$/;
const OF_A_SESSION = /^(.+)\.(logs|deleted|redacted)$/;

/** The folder of a project, whose name may be any text. @param {string} [project] */
const folderOf = (project) =>
	`${LINES}${project ? createHash("sha256").update(project).digest("hex").slice(0, 32) : "none"}/`;

/** @param {string} project @param {string} other the folder of a project whose sessions belong to it, too */
const movedPath = (project, other) => `${folderOf(project)}from.${other.split("/")[1]}`;

/**
 * The marks of `move` among these objects: the sessions of the folder `moved` belong to the project of `folder`, whose
 * name is the content of the mark.
 * @param {ObjectInfo[]} objects
 */
const marksIn = (objects) =>
	objects.flatMap((object) => {
		const [, folder, moved] = MOVED.exec(object.path) ?? [];
		return folder && moved ? [{ ...object, folder, moved: `${LINES}${moved}/` }] : [];
	});

/**
 * For each moved folder: the path of the mark that names its project. An interrupted move leaves two marks. Then the
 * older one counts, on every host, so that the sessions still have the name from which the move can be repeated.
 * @param {ObjectInfo[]} objects
 */
const newNamesIn = (objects) =>
	new Map(
		marksIn(objects)
			.sort((a, b) => b.modified.getTime() - a.modified.getTime() || compareText(b.path, a.path))
			.map(({ moved, path }) => [moved, path]),
	);

/** The beginning of a session's paths. @param {string} folder @param {string} session */
const prefixOf = (folder, session) => `${folder}${nameOf(session)}.`;

/** The path of the name of a session's project. @param {string} session */
const projectPath = (session) => `sessions/${nameOf(session)}`;

/** @param {string} session */
const headerPath = (session) => `headers/${nameOf(session)}`;

/** @param {{ folder: string, session: string }} of */
const deletedPath = ({ folder, session }) => `${prefixOf(folder, session)}deleted`;

/** @param {{ folder: string, session: string }} of @param {string} checksum @param {string} [replacement] */
const redactedPath = (of, checksum, replacement) =>
	`${redactionsOf(of)}${checksum}${replacement === undefined ? "" : `.${replacement}`}`;

/** The beginning of the paths of a session's logs. @param {{ folder: string, session: string }} of */
const logsOf = ({ folder, session }) => `${prefixOf(folder, session)}logs/`;

/** The beginning of the paths of a session's redactions. @param {{ folder: string, session: string }} of */
const redactionsOf = ({ folder, session }) => `${prefixOf(folder, session)}redacted/`;

/** @param {{ folder: string, session: string }} of @param {string} host @param {number} part */
const partPath = (of, host, part) => `${logsOf(of)}${nameOf(host)}.${String(part).padStart(8, "0")}.lines`;

/**
 * The listing of each session. Other names are ignored.
 * @param {ObjectInfo[]} objects
 * @returns {SessionListing[]}
 */
function listingsOf(objects) {
	/** @type {Map<string, SessionListing>} */
	const listings = new Map();
	/** @type {Map<SessionListing, string[]>} */
	const redactions = new Map();
	for (const one of objects) {
		const [lines, project, name = "", file, ...more] = one.path.split("/");
		const [, encoded = "", kind] = OF_A_SESSION.exec(name) ?? [];
		const session = idOf(encoded);
		if (session === undefined || more.length > 0 || (file === undefined) !== (kind === "deleted")) continue;
		const folder = `${lines}/${project}/`;
		const key = `${folder}${session}`;
		let listing = listings.get(key);
		if (!listing) listings.set(key, (listing = newListing(folder, session)));
		if (kind === "deleted") listing.deleted = one.modified;
		else if (kind === "redacted") redactions.set(listing, [...(redactions.get(listing) ?? []), one.path]);
		else addPart(listing, one, file ?? "");
	}
	for (const [listing, paths] of redactions) addRedacted(listing, paths);
	for (const { hosts, deleted } of listings.values()) {
		// An interrupted deletion may have left parts of logs.
		if (deleted) hosts.clear();
		for (const parts of hosts.values()) parts.sort((a, b) => a.part - b.part);
	}
	return [...listings.values()];
}

/** @param {string} folder @param {string} session @returns {SessionListing} */
const newListing = (folder, session) => ({ session, folder, hosts: new Map(), redacted: new Map() });

/** @param {SessionListing} listing @param {ObjectInfo} object @param {string} file */
function addPart({ hosts }, object, file) {
	const [, name = "", part] = PART.exec(file) ?? [];
	const host = idOf(name);
	if (host === undefined || Number(part) === 0) return;
	const parts = hosts.get(host) ?? [];
	parts.push({ ...object, part: Number(part) });
	hosts.set(host, parts);
}

/**
 * Adds redactions. A line may have several objects, because two hosts redacted it at the same moment, or a process was
 * killed while it changed the replacement. Then an object without a replacement counts, else one whose replacement is
 * not redacted itself. Every host chooses the same object.
 * @param {SessionListing} listing
 * @param {string[]} paths
 */
function addRedacted(listing, paths) {
	const found = paths.flatMap((path) => {
		const [, checksum, replacement] = REDACTED.exec(path.split("/").pop() ?? "") ?? [];
		return checksum === undefined ? [] : [{ checksum, path, replacement }];
	});
	const checksums = new Set(found.map(({ checksum }) => checksum));
	const rank = (/** @type {string | undefined} */ replacement) =>
		replacement === undefined ? 2 : checksums.has(replacement) ? 0 : 1;
	// The last one for a line counts.
	for (const { checksum, path, replacement } of found.sort(
		(a, b) => rank(a.replacement) - rank(b.replacement) || compareText(a.path, b.path),
	)) {
		const before = listing.redacted.get(checksum);
		listing.redacted.set(checksum, { path, replacement, unused: before ? [...before.unused, before.path] : [] });
	}
}

exports.LINES = LINES;
exports.deletedPath = deletedPath;
exports.folderOf = folderOf;
exports.headerPath = headerPath;
exports.listingsOf = listingsOf;
exports.logsOf = logsOf;
exports.marksIn = marksIn;
exports.movedPath = movedPath;
exports.newListing = newListing;
exports.newNamesIn = newNamesIn;
exports.partPath = partPath;
exports.prefixOf = prefixOf;
exports.projectPath = projectPath;
exports.redactedPath = redactedPath;
exports.redactionsOf = redactionsOf;
