// The names of segments, and which of them hold what.
const { createHash } = require("node:crypto");
const { idOf, nameOf } = require("./names.js");

/** The batches `from` to `to` of a host. @typedef {{ path: string, host: string, from: number, to: number, size: number, modified: Date }} Segment */
/** @typedef {{ path: string, size: number, modified: Date }} Listed */

const SESSIONS = "sessions/";
const PROJECTS = "projects/";
const NAME = /^([^/]+)\/(\d{10})(?:-(\d{10}))?\.lines$/;

/** The folder of a session, or of a host in it. @param {string} session @param {string} [host] */
const folderOf = (session, host) => `${SESSIONS}${nameOf(session)}/${host === undefined ? "" : `${nameOf(host)}/`}`;

/** @param {string} project @param {string} session */
const projectPath = (project, session) => `${folderOfProject(project)}${nameOf(session)}`;

/** A project may have any name. @param {string} project */
const folderOfProject = (project) => `${PROJECTS}${createHash("sha256").update(project).digest("hex")}/`;

/** @param {string} session @param {string} host @param {number} from @param {number} [to] */
function segmentPath(session, host, from, to = from) {
	const digits = [...new Set([from, to])].map((count) => String(count).padStart(10, "0"));
	return `${folderOf(session, host)}${digits.join("-")}.lines`;
}

/**
 * The segments of each host of a session. Other names are ignored.
 * @param {string} session
 * @param {Listed[]} listed
 */
function hostsIn(session, listed) {
	const folder = folderOf(session);
	/** @type {Map<string, Segment[]>} */
	const hosts = new Map();
	for (const { path, size, modified } of listed) {
		const parts = path.startsWith(folder) ? NAME.exec(path.slice(folder.length)) : null;
		const host = parts ? idOf(parts[1] ?? "") : undefined;
		if (!parts || host === undefined) continue;
		const [from, to] = [Number(parts[2]), Number(parts[3] ?? parts[2])];
		if (from === 0 || from > to) continue;
		const segments = hosts.get(host) ?? [];
		segments.push({ path, host, from, to, size, modified });
		hosts.set(host, segments);
	}
	return hosts;
}

/** @param {Segment[]} segments */
const lastOf = (segments) => segments.reduce((last, { to }) => Math.max(last, to), 0);

/**
 * The segment to read a batch from: a folded one, if there is one.
 * @param {Segment[]} segments
 * @param {number} count
 */
function covering(segments, count) {
	const folded = (/** @type {Segment} */ { from, to }) => Number(from < to);
	return segments
		.filter(({ from, to }) => from <= count && count <= to)
		.sort((a, b) => folded(b) - folded(a) || b.to - a.to || b.from - a.from)[0];
}

/**
 * The segments to read, in order, to get every batch from one on.
 * @param {Segment[]} segments
 * @param {number} [from]
 */
function coverOf(segments, from = 1) {
	const cover = [];
	for (let next = from; next <= lastOf(segments); ) {
		const segment = covering(segments, next);
		if (segment) cover.push(segment);
		// A gap: continue after it.
		next = segment ? segment.to + 1 : Math.min(...segments.map((one) => one.from).filter((first) => first > next));
	}
	return cover;
}

/** A session that was deleted and stored again has segments of the same paths. @param {Segment} segment */
const identityOf = ({ path, size, modified }) => `${path} ${size} ${modified.getTime()}`;

exports.SESSIONS = SESSIONS;
exports.coverOf = coverOf;
exports.covering = covering;
exports.folderOf = folderOf;
exports.folderOfProject = folderOfProject;
exports.hostsIn = hostsIn;
exports.identityOf = identityOf;
exports.lastOf = lastOf;
exports.projectPath = projectPath;
exports.segmentPath = segmentPath;
