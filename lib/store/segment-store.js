// Lines in segments: immutable objects in a directory or an object store, which can do no more than list, read, create
// what is not there yet, and remove.
//
//   store.json                                         the layout's version and the store's id (segment-layout.js)
//   projects/<hash of a name>/<session>                empty: the project has that session
//   sessions/<session>/<host>/0000000007.lines         the host's 7th batch
//   sessions/<session>/<host>/0000000001-0000000064.lines   its first 64, folded into one segment
//   sessions/<session>/.claims/                        who uses the session (segment-claims.js)
//
// A host writes segments only below its own name, so hosts never compete for one. Processes of one host do: one that
// finds a batch's name taken reads that batch and takes the next name. Neither names nor order depend on a clock.
//
// Small segments are folded into larger ones (segment-fold.js). A reader whose list is older finds a segment gone and lists
// again. A writer that was held up could create a batch whose number was used, folded and removed since it listed; so it
// lists once more after writing, and writes its lines again if a larger segment covers the number.
const { setTimeout: pause } = require("node:timers/promises");
const { checkTtl } = require("./claim.js");
const { StoreError } = require("./errors.js");
const { SegmentCursor } = require("./cursor.js");
const { inParallel } = require("./in-parallel.js");
const { buffer, checkAppend, compareLines, compareText, entryOf, headerFault, lineKey } = require("./lines.js");
const { checkId, idOf } = require("./names.js");
const { SegmentClaims } = require("./segment-claims.js");
const { SegmentFolding } = require("./segment-fold.js");
const { SegmentLayout } = require("./segment-layout.js");
const { SESSIONS, coverOf, covering, folderOf, folderOfProject, hostsIn, identityOf, lastOf, projectPath, segmentPath } = require("./segment-names.js");
const { HEAD_BYTES, decodeSegment, encodeBatch, readHead, readSum } = require("./segment.js");

/** @typedef {import("./index").Page} Page */
/** @typedef {import("./index").Problem} Problem */
/** @typedef {import("./segment").Batch} Batch */
/** @typedef {import("./segment-names").Segment} Segment */
/** @typedef {import("./segment-names").Listed} Listed */
/**
 * What a directory and a bucket have in common. Paths are relative, with "/".
 * @typedef {object} Objects
 * @property {(prefix: string) => Promise<Listed[]>} list all below a prefix that ends with "/"
 * @property {(path: string, length?: number) => Promise<Buffer | undefined>} get the whole, or its first bytes; undefined if it is not there
 * @property {(path: string, bytes: Buffer) => Promise<boolean>} create durable, whole or not at all; false if the path is taken
 * @property {(paths: string[]) => Promise<void>} remove
 * @property {(path: string) => Promise<number>} now what time an object would get that is created at the path, in milliseconds
 * @property {() => string} name for messages
 */

/** A page ends after the segment that reaches this. */
const PAGE_BYTES = 8 * 1024 * 1024;
/** How often a list is read again because a segment was gone; after that it counts as missing. */
const RELISTS = 5;
/** How often an append looks for the batch whose name is taken. */
const TAKEN_TRIES = 10;
/** A clock grows by one with each batch, so that one after this cannot be right; the next host would count beyond what numbers hold. */
const LAST_CLOCK = 2 ** 52;
/** How many sessions or segments are read at the same time. */
const PARALLEL = 16;

class SegmentStore {
	/** @type {Objects} */
	#objects;
	#claims;
	#folding;
	#layout;
	/** The last segment that was created here, by session: as long as it is listed the same it needs no check. @type {Map<string, Segment>} */
	#created = new Map();
	/**
	 * For each session, the cursor that the last append returned (`after`) and where this host's batches ended (`end`). They differ if
	 * another machine uses the same id.
	 * @type {Map<string, { after: string, end: string }>}
	 */
	#ends = new Map();

	/** @param {Objects} objects @param {string} host */
	constructor(objects, host) {
		this.#objects = objects;
		this.#layout = new SegmentLayout(objects);
		this.#claims = new SegmentClaims(objects, host);
		this.#folding = new SegmentFolding(objects, host);
		/** @readonly */
		this.host = checkId(host, "host");
	}

	/**
	 * @param {string} session
	 * @param {import("./index").Append} append
	 * @returns {Promise<import("./index").Appended>}
	 */
	async append(session, append) {
		checkId(session, "session");
		/** @type {Map<string, Buffer>} */
		const lines = new Map(checkAppend(session, append).map(({ line }) => [lineKey(line), line]));
		const given = new Set(lines.keys());
		const known = this.#ends.get(session);
		const end = new SegmentCursor(known && known.after === append.after ? known.end : append.after);
		// This host's batches may be those of another machine that has the same id. The caller's cursor passes what the caller has.
		const cursor = new SegmentCursor(append.after);
		const pass = (/** @type {Batch} */ batch) => {
			const has = batch.lines.map(lineKey).every((key) => given.has(key));
			// One that does not come after what the cursor has passed changes the order of what was loaded.
			if (has && batch.clock > cursor.clock && cursor.of(this.host).count === batch.count - 1) cursor.pass(batch);
		};
		await this.#layout.prepareToWrite();
		for (let taken = 0; ; ) {
			if (append.epoch !== undefined) await this.#claims.check(session, folderOf(session), append.epoch);
			const { count: before } = end.of(this.host);
			const there = await this.#passOwn(session, end, (batch) => {
				for (const line of batch.lines) lines.delete(lineKey(line));
				pass(batch);
			});
			if (lines.size === 0) {
				cursor.know(this.host, end.of(this.host));
				return { stored: 0, cursor: cursor.toString() };
			}
			const { count, sum: prev } = end.of(this.host);
			taken = count > before ? 0 : taken + 1;
			if (taken > TAKEN_TRIES) throw new StoreError("failed", `Session ${session}: ${segmentPath(session, this.host, count + 1)} is taken, but cannot be read`);
			if (end.clock >= LAST_CLOCK) throw new StoreError("failed", `Session ${session}: the clock of its batches has come to its end`);
			const meta = {
				...{ session, host: this.host, count: count + 1, clock: end.clock + 1, prev, project: append.project },
				...{ header: count === 0 ? buffer(append.header) : undefined, lines: [...lines.values()] },
			};
			const batch = { ...meta, ...encodeBatch(meta) };
			if (count === 0 && append.project !== undefined) await this.#objects.create(projectPath(append.project, session), Buffer.alloc(0));
			if (!(await this.#objects.create(segmentPath(session, this.host, batch.count), batch.bytes))) {
				// Another process creates it, or it was removed since.
				if (taken > 0) await pause(taken * 20);
				continue;
			}
			const hosts = await this.#hostsOf(session);
			const own = hosts.get(this.host) ?? [];
			if (own.some(({ from, to }) => from < to && from <= batch.count && batch.count <= to)) continue;
			const isThere = [...there].every(([host, segments]) => segments.every(({ from }) => covering(hosts.get(host) ?? [], from)));
			if (!isThere || isReplaced(there.get(this.host) ?? [], own)) {
				// The session was deleted meanwhile: it must not come back, and without what was before it nobody could read this.
				await this.#objects.remove([segmentPath(session, this.host, batch.count)]);
				throw reset(session);
			}
			end.pass(batch);
			pass(batch);
			cursor.know(this.host, batch);
			const created = own.find(({ from, to }) => from === batch.count && to === batch.count);
			if (created) this.#created.set(session, created);
			this.#ends.set(session, { after: cursor.toString(), end: end.toString() });
			await this.#folding.fold(session, own);
			return { stored: lines.size, cursor: cursor.toString() };
		}
	}

	/**
	 * @param {string} session
	 * @param {string} [after]
	 * @returns {Promise<Page>}
	 */
	async load(session, after) {
		checkId(session, "session");
		const start = new SegmentCursor(after);
		await this.#layout.prepareToRead();
		for (let attempt = 1; ; attempt++) {
			const page = await this.#readPage(session, start, attempt > RELISTS);
			if (page) return page;
		}
	}

	/**
	 * @param {{ session?: string, project?: string }} [filter]
	 * @returns {Promise<import("./index").SessionList>}
	 */
	async list({ session, project } = {}) {
		if (session !== undefined) checkId(session, "session");
		const store = await this.#layout.readId();
		/** @type {import("./index").SessionList} */
		const list = { sessions: [], deleted: [], problems: [], ...(store !== undefined && { store }) };
		await inParallel(PARALLEL, await this.#foldersOf({ session, project }), async ({ session: id, listed: known }) => {
			const listed = known ?? (await this.#objects.list(folderOf(id)));
			const stored = await this.#describe(id, hostsIn(id, listed), list.problems);
			if (!stored || (project !== undefined && stored.project !== project)) return;
			const claim = await this.#claims.holder(folderOf(id), listed);
			list.sessions.push({ ...stored, ...(claim && { claim }) });
		});
		list.sessions.sort((a, b) => compareText(a.session, b.session));
		return list;
	}

	/**
	 * The sessions that may be meant, each with what is in its folder if that is known.
	 * @param {{ session?: string, project?: string }} filter
	 * @returns {Promise<{ session: string, listed?: Listed[] }[]>}
	 */
	async #foldersOf({ session, project }) {
		if (session !== undefined) return [{ session }];
		const prefix = project === undefined ? SESSIONS : folderOfProject(project);
		/** @type {Map<string, Listed[]>} */
		const folders = new Map();
		for (const one of await this.#objects.list(prefix)) {
			const id = idOf(one.path.slice(prefix.length).split("/", 1)[0] ?? "");
			if (id === undefined) continue;
			const folder = folders.get(id);
			if (folder) folder.push(one);
			else folders.set(id, [one]);
		}
		return [...folders].map(([session, listed]) => (project === undefined ? { session, listed } : { session }));
	}

	/** @param {string} session */
	async delete(session) {
		checkId(session, "session");
		await this.#layout.prepareToRead();
		const projects = new Set();
		// What is appended meanwhile goes, too.
		for (let tries = 0; tries < TAKEN_TRIES; tries++) {
			const all = await this.#objects.list(folderOf(session));
			if (all.length === 0) break;
			for (const [host, segments] of hostsIn(session, all)) {
				const { head } = await this.#readFirst(session, host, segments);
				if (head?.project !== undefined) projects.add(head.project);
			}
			// The last ones first: a kill leaves an earlier state of the session.
			await this.#objects.remove(all.map(({ path }) => path).sort().reverse());
		}
		await this.#objects.remove([...projects].map((project) => projectPath(project, session)));
		this.#created.delete(session);
		this.#ends.delete(session);
	}

	/**
	 * @param {string} session
	 * @param {{ ttl: number, force?: boolean }} claim
	 * @returns {Promise<import("./index").Claim>}
	 */
	async claim(session, claim) {
		checkId(session, "session");
		const { ttl, force = false } = claim ?? {};
		checkTtl(ttl);
		await this.#layout.prepareToRead();
		return this.#claims.claim(session, folderOf(session), { ttl, force });
	}

	/** @returns {Promise<never>} */
	async redact() {
		throw new StoreError("unsupported", `${this.#objects.name()} cannot redact lines`);
	}

	/** @returns {Promise<never>} */
	async redactions() {
		throw new StoreError("unsupported", `${this.#objects.name()} cannot redact lines`);
	}

	async close() {}

	/**
	 * Goes on to the end of this host's batches. Gives the segments of every host.
	 * @param {string} session
	 * @param {SegmentCursor} cursor
	 * @param {(batch: Batch) => void} take
	 */
	async #passOwn(session, cursor, take) {
		for (let attempt = 1; ; attempt++) {
			const hosts = await this.#hostsOf(session);
			const segments = hosts.get(this.host) ?? [];
			// In a directory that is synchronised, what another host has may be away for a moment.
			const { own } = cursor;
			const known = Math.max(cursor.of(this.host).count, own?.host === this.host ? own.count : 0);
			if (lastOf(segments) < known || (hosts.size === 0 && cursor.hosts.size > 0)) throw reset(session);
			const read = await this.#readHost(session, this.host, segments, cursor, Infinity, take);
			if (!read.problem) return hosts;
			if (!read.gone || attempt > RELISTS)
				throw new StoreError("failed", `Session ${session}: ${read.problem.where}: ${read.problem.message}`);
		}
	}

	/**
	 * Undefined if the segments changed meanwhile, unless what is gone shall count as missing.
	 * @param {string} session
	 * @param {SegmentCursor} start
	 * @param {boolean} settled
	 * @returns {Promise<Page | undefined>}
	 */
	async #readPage(session, start, settled) {
		const cursor = new SegmentCursor(start.toString());
		const hosts = await this.#hostsOf(session);
		checkCursor(session, start, hosts);
		/** @type {Page} */
		const page = { lines: [], cursor: "", more: false, problems: [], comesAfter: true };
		let room = PAGE_BYTES;
		for (const [host, segments] of [...hosts].sort(([a], [b]) => compareText(a, b))) {
			const { problem, gone, bytes, more, breaks } = await this.#readHost(session, host, segments, cursor, room, (batch, path) => {
				if (batch.clock <= start.clock) page.comesAfter = false;
				for (const [index, line] of batch.lines.entries()) {
					if (entryOf(line)) page.lines.push({ line, host, clock: batch.clock, index });
					else page.problems.push({ session, where: `${path}, line ${index + 1} of batch ${batch.count}`, message: "it is not an entry" });
				}
			});
			if (gone && !settled) return undefined;
			page.problems = page.problems.concat(breaks);
			if (problem) page.problems.push(problem);
			page.more ||= more;
			room -= bytes;
		}
		page.lines.sort(compareLines);
		page.cursor = cursor.toString();
		return page;
	}

	/**
	 * Gives the batches of a host that the cursor has not passed, one by one, and moves the cursor along. Ends before the
	 * first one that is missing or cannot be read: those after it wait, as it may come yet. `breaks` are batches that do not follow the
	 * one before them: that one was replaced by another.
	 * @param {string} session
	 * @param {string} host
	 * @param {Segment[]} segments
	 * @param {SegmentCursor} cursor
	 * @param {number} room ends after the segment that fills it; at once if there is none
	 * @param {(batch: Batch, path: string) => void} take
	 * @returns {Promise<{ bytes: number, more: boolean, breaks: Problem[], gone?: boolean, problem?: Problem }>}
	 */
	async #readHost(session, host, segments, cursor, room, take) {
		const last = lastOf(segments);
		/** @type {Problem[]} */
		const breaks = [];
		for (let bytes = 0; ; ) {
			const next = cursor.of(host).count + 1;
			if (next > last) return { breaks, ...(await this.#checkLast(session, host, segments, cursor, bytes)) };
			if (bytes >= room) return { bytes, more: true, breaks };
			for (const { segment, content } of await this.#getNext(segments, next, room - bytes)) {
				const { count } = cursor.of(host);
				if (!content || segment.from > count + 1) {
					const problem = { session, where: segmentPath(session, host, count + 1), message: "it is missing" };
					return { bytes, more: false, breaks, gone: true, problem };
				}
				bytes += content.length;
				const { batches, fault } = decodeSegment(content, { session, ...segment });
				for (const batch of batches.filter((batch) => batch.count > count)) {
					const { count: before, sum } = cursor.of(host);
					const where = `${segment.path}, batch ${batch.count}`;
					if (cursor.contradicts(batch)) throw reset(session);
					if (batch.prev !== sum) {
						// What the cursor has passed may not be there any more: an old state was put back.
						if (before === count && (await this.#sumOf(session, segments, before)) !== sum) throw reset(session);
						breaks.push({ session, where, message: "it does not follow the one before it, which was replaced" });
					}
					if (batch.clock > LAST_CLOCK) {
						const problem = { session, where, message: "its clock cannot be right" };
						return { bytes: bytes - content.length, more: false, breaks, problem };
					}
					take(batch, segment.path);
					cursor.pass(batch);
				}
				// It takes no room of the page: those of other hosts are read all the same.
				if (fault) return { bytes: bytes - content.length, more: false, breaks, problem: { session, where: segment.path, message: fault } };
			}
		}
	}

	/**
	 * The checksum of a host's batch, as it is in the store now; that of none is empty.
	 * @param {string} session
	 * @param {Segment[]} segments
	 * @param {number} count
	 */
	async #sumOf(session, segments, count) {
		if (count === 0) return "";
		const segment = covering(segments, count);
		const content = segment && (await this.#objects.get(segment.path));
		return content && decodeSegment(content, { session, ...segment }).batches.find((batch) => batch.count === count)?.sum;
	}

	/**
	 * Whether the last batch is the one that the cursor passed: an old state of the store may have been put back, and another one
	 * written since. A folded one is not asked.
	 * @param {string} session
	 * @param {string} host
	 * @param {Segment[]} segments
	 * @param {SegmentCursor} cursor
	 * @param {number} bytes that were read
	 * @returns {Promise<{ bytes: number, more: boolean, gone?: boolean, problem?: Problem }>}
	 */
	async #checkLast(session, host, segments, cursor, bytes) {
		const { count, sum } = cursor.of(host);
		const segment = covering(segments, count);
		if (bytes > 0 || !segment || segment.from < segment.to) return { bytes, more: false };
		const created = host === this.host ? this.#created.get(session) : undefined;
		if (created?.path === segment.path && created.size === segment.size && created.modified.getTime() === segment.modified.getTime()) return { bytes, more: false };
		const head = await this.#objects.get(segment.path, HEAD_BYTES);
		if (!head) return { bytes, more: false, gone: true, problem: { session, where: segment.path, message: "it is missing" } };
		const found = readSum(head);
		if (found !== undefined && found !== sum) throw reset(session);
		return { bytes, more: false };
	}

	/**
	 * The segments to read next, several at the same time while there is room.
	 * @param {Segment[]} segments
	 * @param {number} from the first batch that is wanted
	 * @param {number} room
	 */
	async #getNext(segments, from, room) {
		const next = [];
		let size = 0;
		for (const segment of coverOf(segments, from)) {
			if (next.length === PARALLEL || (size > 0 && size >= room)) break;
			next.push(segment);
			size += segment.size;
		}
		return Promise.all(next.map(async (segment) => ({ segment, content: await this.#objects.get(segment.path) })));
	}

	/**
	 * @param {string} session
	 * @param {Map<string, Segment[]>} hosts
	 * @param {Problem[]} problems
	 * @returns {Promise<import("./index").StoredSession | undefined>}
	 */
	async #describe(session, hosts, problems) {
		let creator;
		for (const [host, segments] of [...hosts].sort(([a], [b]) => compareText(a, b))) {
			const { where, head, fault } = await this.#readFirst(session, host, segments);
			if (fault !== undefined) problems.push({ session, where, message: fault });
			else if (head.header && (!creator || head.clock < creator.clock))
				creator = { ...head, header: Buffer.from(head.header) };
		}
		if (!creator) return undefined;
		const all = [...hosts.values()].flatMap((segments) => coverOf(segments));
		return {
			session,
			header: creator.header,
			project: creator.project,
			redactions: 0,
			hosts: [...hosts.keys()].sort(),
			bytes: all.reduce((sum, { size }) => sum + size, 0),
			modified: new Date(Math.max(...all.map(({ modified }) => modified.getTime()))),
		};
	}

	/**
	 * How a host's first batch begins.
	 * @param {string} session
	 * @param {string} host
	 * @param {Segment[]} segments
	 */
	async #readFirst(session, host, segments) {
		for (let attempt = 1; ; attempt++) {
			const first = covering(segments, 1);
			const where = first?.path ?? segmentPath(session, host, 1);
			let bytes = first && (await this.#objects.get(first.path, HEAD_BYTES));
			if (!bytes && attempt <= RELISTS) {
				segments = await this.#segmentsOf(session, host);
				continue;
			}
			if (!first || !bytes) return { where, fault: "it is missing" };
			let head = readHead(bytes);
			if (!head && bytes.length >= HEAD_BYTES) {
				bytes = await this.#objects.get(first.path);
				head = bytes && readHead(bytes);
			}
			if (!head) return { where, fault: "it is not a segment" };
			if (head.session !== session || head.host !== host) return { where, fault: "it belongs to another session or host" };
			const fault = head.header ? headerFault(head.header, session) : "it holds no header";
			return fault === undefined ? { where, head } : { where, fault };
		}
	}

	/** @param {string} session @returns {Promise<Map<string, Segment[]>>} */
	async #hostsOf(session) {
		return hostsIn(session, await this.#objects.list(folderOf(session)));
	}

	/** @param {string} session @param {string} host @returns {Promise<Segment[]>} */
	async #segmentsOf(session, host) {
		return hostsIn(session, await this.#objects.list(folderOf(session, host))).get(host) ?? [];
	}
}

/** @param {string} session */
const reset = (session) => new StoreError("reset", `Session ${session} is not the one that was loaded before: load it from the beginning`);

/**
 * Batches never become fewer, unless the session was deleted or an old state of the store put back.
 * @param {string} session
 * @param {SegmentCursor} cursor
 * @param {Map<string, Segment[]>} hosts
 */
function checkCursor(session, cursor, hosts) {
	for (const [host, { count }] of cursor.hosts) if (lastOf(hosts.get(host) ?? []) < count) throw reset(session);
	if (cursor.own && lastOf(hosts.get(cursor.own.host) ?? []) < cursor.own.count) throw reset(session);
}

/**
 * Whether a segment has given way to another one of its path. Folding removes segments, and replaces none.
 * @param {Segment[]} before
 * @param {Segment[]} after
 */
function isReplaced(before, after) {
	const known = new Map(before.map((segment) => [segment.path, identityOf(segment)]));
	return after.some((segment) => known.has(segment.path) && known.get(segment.path) !== identityOf(segment));
}

exports.SegmentStore = SegmentStore;
