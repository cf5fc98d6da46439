// The names in a directory or a bucket, so that one list of a project tells what there is of each session.
//
//   store.json                                    the layout's version and the store's id
//   sessions/<session>                            the head: the project, which life it is of this id, and the header (log-heads.js)
//   lines/<project>/<session>.<life>/<host>.<part>.lines   a host's log; in a directory it has one part
//   lines/<project>/<session>.<life>.deleted      that life has ended
//   lines/<project>/<session>.redacted/<checksum>[.<other>]   a line that was redacted: its SHA-256, and after a line break what stands
//                                                 in its place, which has the other checksum
//   lines/<project>/from.<other>                  the sessions of the other project are this one's, too: it had that name before
//   hosts/<host>                                  what a host has open (log-claims.js)
const { createHash } = require("node:crypto");
const { compareText } = require("./lines.js");
const { idOf, nameOf } = require("./names.js");

/** @typedef {import("./log-objects").Listed} Listed */
/** @typedef {Listed & { part: number }} Part */
/**
 * What is listed of one session. `hosts` are those of its last life, each with the parts of its log in order.
 * @typedef {object} View
 * @property {string} session
 * @property {string} folder of the project
 * @property {number} life
 * @property {Map<string, Part[]>} hosts
 * @property {Map<number, Date>} deleted by life
 * @property {Map<string, Redacted>} redacted by the line's hash
 */
/**
 * A line that was redacted: `other` is the hash of what stands in its place, and `lost` are the paths of what was put there and does not.
 * @typedef {{ path: string, other?: string, lost: string[] }} Redacted
 */

const LINES = "lines/";
const HOSTS = "hosts/";
const SESSIONS = "sessions/";
const PART = /^(.+)\.(\d{8})\.lines$/;
const REDACTED = /^([A-Za-z0-9_-]{24})(?:\.([A-Za-z0-9_-]{24}))?$/;
const MOVED = /^lines\/[^/]+\/from\.([0-9a-f]{32})$/;
const FOLDER = /^(.+)\.(?:(\d{1,9})(\.deleted)?|(redacted))$/;

/** A project may have any name. @param {string | undefined} project */
const folderOf = (project) => `${LINES}${project === undefined ? "none" : createHash("sha256").update(project).digest("hex").slice(0, 32)}/`;

/** @param {string} project @param {string} other the folder of a project that has its sessions */
const movedPath = (project, other) => `${folderOf(project)}from.${other.split("/")[1]}`;

/** The folders whose sessions are those of what is listed, too. @param {Listed[]} listed */
const movedIn = (listed) => listed.flatMap(({ path }) => MOVED.exec(path)?.[1] ?? []).map((other) => `${LINES}${other}/`);

/** What the paths of a session begin with. @param {string} folder @param {string} session */
const prefixOf = (folder, session) => `${folder}${nameOf(session)}.`;

/** @param {string} session */
const headPath = (session) => `${SESSIONS}${nameOf(session)}`;

/** @param {string} host */
const hostPath = (host) => `${HOSTS}${nameOf(host)}`;

/** @param {string} folder @param {string} session @param {number} life */
const deletedPath = (folder, session, life) => `${prefixOf(folder, session)}${life}.deleted`;

/** @param {string} folder @param {string} session @param {string} hash @param {string} [other] */
const redactedPath = (folder, session, hash, other) => `${prefixOf(folder, session)}redacted/${hash}${other === undefined ? "" : `.${other}`}`;

/** @param {{ folder: string, session: string, life: number }} of @param {string} host @param {number} part */
const partPath = ({ folder, session, life }, host, part) => `${prefixOf(folder, session)}${life}/${nameOf(host)}.${String(part).padStart(8, "0")}.lines`;

/**
 * What there is of each session. Other names are nobody's.
 * @param {Listed[]} listed
 * @returns {View[]}
 */
function viewsOf(listed) {
	/** @type {Map<string, View>} */
	const views = new Map();
	/** @type {Map<View, string[]>} */
	const redactions = new Map();
	for (const one of listed) {
		const [lines, project, name = "", file, ...more] = one.path.split("/");
		const [, encoded = "", life, deleted, redacted] = FOLDER.exec(name) ?? [];
		const session = idOf(encoded);
		if (session === undefined || more.length > 0 || (file === undefined) !== (deleted !== undefined)) continue;
		const folder = `${lines}/${project}/`;
		const key = `${folder}${session}`;
		let view = views.get(key);
		if (!view) views.set(key, (view = { session, folder, life: 0, hosts: new Map(), deleted: new Map(), redacted: new Map() }));
		if (deleted) view.deleted.set(Number(life), one.modified);
		else if (redacted) redactions.set(view, [...(redactions.get(view) ?? []), one.path]);
		else addPart(view, Number(life), one, file ?? "");
	}
	for (const [view, paths] of redactions) addRedacted(view, paths);
	for (const { hosts } of views.values()) for (const parts of hosts.values()) parts.sort((a, b) => a.part - b.part);
	return [...views.values()].filter(({ hosts, deleted, redacted }) => hosts.size + deleted.size + redacted.size > 0);
}

/** @param {View} view @param {number} life @param {Listed} listed @param {string} file */
function addPart(view, life, listed, file) {
	const [, name = "", part] = PART.exec(file) ?? [];
	const host = idOf(name);
	if (host === undefined || Number(part) === 0 || life < view.life) return;
	// What an earlier life left is nobody's.
	if (life > view.life) view.hosts.clear();
	view.life = life;
	const parts = view.hosts.get(host) ?? [];
	parts.push({ ...listed, part: Number(part) });
	view.hosts.set(host, parts);
}

/**
 * Of several that are there for one line, because two hosts redacted it in the same moment, or a process was killed while it put another one
 * in its place, counts what has none in its place, else what is not redacted itself. Every host takes the same one.
 * @param {View} view
 * @param {string[]} paths
 */
function addRedacted(view, paths) {
	const found = paths.flatMap((path) => {
		const [, hash = "", other] = REDACTED.exec(path.split("/").pop() ?? "") ?? [];
		return hash === "" ? [] : [{ hash, path, other }];
	});
	const hashes = new Set(found.map(({ hash }) => hash));
	const rank = (/** @type {string | undefined} */ other) => (other === undefined ? 2 : hashes.has(other) ? 0 : 1);
	for (const { hash, path, other } of found.sort((a, b) => rank(a.other) - rank(b.other) || compareText(a.path, b.path))) {
		const before = view.redacted.get(hash);
		view.redacted.set(hash, { path, ...(other !== undefined && { other }), lost: before ? [...before.lost, before.path] : [] });
	}
}

/** The greatest of any number of numbers from 0 on; 0 if there is none. @param {Iterable<number>} numbers */
function greatest(numbers) {
	let found = 0;
	for (const number of numbers) found = Math.max(found, number);
	return found;
}

/** Whether the last life of a session has ended, or it has none. @param {View} view */
const isOver = ({ life, hosts, deleted }) => hosts.size === 0 || greatest(deleted.keys()) >= life;

exports.HOSTS = HOSTS;
exports.LINES = LINES;
exports.deletedPath = deletedPath;
exports.folderOf = folderOf;
exports.greatest = greatest;
exports.headPath = headPath;
exports.hostPath = hostPath;
exports.isOver = isOver;
exports.movedIn = movedIn;
exports.movedPath = movedPath;
exports.partPath = partPath;
exports.prefixOf = prefixOf;
exports.redactedPath = redactedPath;
exports.viewsOf = viewsOf;
