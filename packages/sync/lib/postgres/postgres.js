// Lines in PostgreSQL. Each append is one statement, because a transaction of several is not available: two calls of
// `query` on a pool may use different connections, and so may two statements behind a pooler. Each statement of a call
// with several leaves a state from which a repeated call continues.
const { DEFAULT_SCHEMA, readAddress, timeoutIn } = require("../base/address.js");
const { StoreError, deletedError, resetError } = require("../base/errors.js");
const {
	buffer,
	checkAppend,
	checkProject,
	compareText,
	entryOf,
	headerFault,
	lineKey,
	sha256,
} = require("../base/lines.js");
const { checkId, isId } = require("../base/names.js");
const { APPEND, stampAt } = require("./postgres-append.js");
const { openPool, storeError } = require("./postgres-connection.js");
const { VERSION, makeTables, readVersion } = require("./postgres-schema.js");
const { settleRedactions, toRedactions } = require("../base/redaction-rules.js");

/** @typedef {import("../index").LineStore} Store */

const TIMEOUT_MS = 30_000;
/** The limits of a page, in bytes (which one line may exceed) and in lines. */
const PAGE_BYTES = 8 * 1024 * 1024;
const PAGE_LINES = 5000;
/**
 * The limit of an append. `pg` sends and reads it as hexadecimal text, and a string of JavaScript has at most 512 MB.
 */
const LONGEST_APPEND = 200 * 1024 * 1024;

const NO_TABLE = "42P01";
/**
 * No such table, column or operator: the tables were dropped, or changed by another release, while this process was
 * running.
 */
const OTHER_TABLES = new Set([NO_TABLE, "42703", "42883"]);

/**
 * A cursor contains the highest number that it has passed, and the stamp of the last row up to that. This one has
 * passed nothing.
 */
const NOTHING = "0:";
const CURSOR = /^(\d{1,15}):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?$/;

class PostgresStore {
	/** @type {import("../index").Queryable} */
	#client;
	#schema;
	#name = "PostgreSQL";
	/** @type {(() => Promise<void>) | undefined} */
	#end;
	/** @type {Promise<void> | undefined} */
	#ready;
	/** @readonly */
	longestLine = LONGEST_APPEND;
	/** @readonly */
	copies = ["PostgreSQL's own logs, dead rows until VACUUM, and backups"];

	/** @param {import("../index").PostgresStoreOptions} options */
	constructor({ host, client, url, schema }) {
		/** @readonly */
		this.host = checkId(host, "host");
		if (client) this.#client = client;
		else if (typeof url === "string") {
			const { kind, withSecrets, shown } = readAddress(url);
			if (kind !== "postgres") throw new StoreError("invalid", "The URL of a PostgreSQL store begins with postgres://");
			this.#name = shown;
			const address = new URL(withSecrets);
			schema ??= address.searchParams.get("schema") ?? undefined;
			const timeout = timeoutIn(address) ?? TIMEOUT_MS;
			for (const own of ["schema", "timeout"]) address.searchParams.delete(own);
			const pool = openPool(address, timeout);
			this.#client = pool;
			this.#end = () => pool.end();
		} else throw new StoreError("invalid", "A PostgreSQL store must have a client or a URL");
		this.#schema = schema ?? DEFAULT_SCHEMA;
		if (!/^[a-z_][a-z0-9_]{0,62}$/.test(this.#schema))
			throw new StoreError("invalid", `Not a name for the schema of a store: ${JSON.stringify(schema)}`);
	}

	/** @type {Store["append"]} */
	async append(session, append) {
		checkId(session, "session");
		const lines = [
			...new Map(checkAppend(session, append, LONGEST_APPEND).map((line) => [lineKey(line), line])).values(),
		];
		const after = readCursor(append.after);
		if (lines.length === 0 && after.sequence === 0) return { stored: 0, cursor: append.after ?? NOTHING };
		const values = [
			...[session, buffer(append.header), append.project ?? null, this.host],
			...[lines, lines.map(sha256), after.sequence, after.stamp],
		];
		const [row] = await this.#query(APPEND, values);
		if (!row) throw (await this.list({ session })).deleted.length > 0 ? deletedError(session) : resetError(session);
		const stored = Number(row.stored);
		// While this waited for the session's row, another host stored one of the lines, or redacted something. The next
		// attempt sees it.
		if (stored < Number(row.fresh)) {
			const again = await this.append(session, append);
			return { ...again, stored: again.stored + stored };
		}
		if (Number(row.base) !== after.sequence) return { stored, cursor: append.after ?? NOTHING };
		return { stored, cursor: cursorText(Number(row.head), row.stamp ?? after.stamp) };
	}

	/** @type {Store["load"]} */
	async load(session, cursor) {
		checkId(session, "session");
		const after = readCursor(cursor);
		const rows = await this.#query(
			`SELECT s.head, ${stampAt("$2")} AS seen, e.sequence, e.host, e.sha256, e.stamp,
				e.sha256 = ANY (s.redacted) AS redacted,
				CASE WHEN e.sha256 = ANY (s.redacted)
					THEN coalesce(s.replacements[array_position(s.redacted, e.sha256)], '') ELSE e.line END AS line
			FROM $.sessions s LEFT JOIN (
				SELECT *, sum(octet_length(line)) OVER (ORDER BY sequence) - octet_length(line) AS before FROM (
					SELECT sequence, host, line, sha256, stamp FROM $.entries
					WHERE session = $1 AND sequence > $2 ORDER BY sequence LIMIT $4
				) following
			) e ON e.before < $3 WHERE s.id = $1 AND s.deleted IS NULL ORDER BY e.sequence`,
			[session, after.sequence, PAGE_BYTES, PAGE_LINES],
		);
		/** @type {import("../index").Page} */
		const page = { lines: [], cursor: NOTHING, comesAfter: true, more: false, problems: [] };
		const [first] = rows;
		if (first ? first.seen !== after.stamp : after.sequence > 0) throw resetError(session);
		if (!first) return page;
		let [last, passed] = [Number(first.head), first.seen];
		for (const { sequence, host, line, sha256: hash, stamp, redacted } of rows) {
			if (sequence === null) continue;
			[last, passed] = [Number(sequence), stamp];
			const where = `row ${sequence} of ${this.#schema}.entries`;
			// A redacted line without a replacement.
			if (redacted && line.length === 0) continue;
			if (!redacted && !hash.equals(sha256(line)))
				page.problems.push({ session, where, message: "its checksum is wrong" });
			else if (!entryOf(line)) page.problems.push({ session, where, message: "it is not an entry" });
			else page.lines.push({ line, host, clock: last, index: 0 });
		}
		page.cursor = cursorText(last, passed);
		page.more = last < Number(first.head);
		return page;
	}

	/** @type {Store["list"]} */
	async list(filter) {
		const { session, project } = filter ?? {};
		if (session !== undefined) checkId(session, "session");
		const rows = await this.#query(
			`SELECT v.store, id, project, hosts, bytes, cardinality(redacted) AS redactions,
				extract(epoch FROM updated) AS updated, extract(epoch FROM deleted) AS deleted
			FROM $.schema_version v
			LEFT JOIN $.sessions ON ($1::text IS NULL OR id = $1) AND ($2::text IS NULL OR project = $2)
			WHERE v.version = ${VERSION}`,
			[session ?? null, project ?? null],
		);
		/** @type {import("../index").SessionList} */
		const list = { sessions: [], deleted: [], problems: [], store: rows[0]?.store };
		const found = rows.filter(({ id }) => id !== null);
		for (const row of found.sort((a, b) => compareText(a.id, b.id))) {
			if (row.deleted !== null) {
				if (isId(row.id)) list.deleted.push({ session: row.id, at: fromSeconds(row.deleted) });
				continue;
			}
			const where = `row ${JSON.stringify(row.id.slice(0, 200))} of ${this.#schema}.sessions`;
			if (!isId(row.id)) list.problems.push({ session: row.id, where, message: "its id is not one of a session" });
			else
				list.sessions.push({
					...{ session: row.id, project: row.project ?? undefined, hosts: row.hosts.sort(compareText) },
					...{ bytes: Number(row.bytes), modified: fromSeconds(row.updated), redactions: Number(row.redactions) },
				});
		}
		return list;
	}

	/** @type {Store["header"]} */
	async header(session) {
		checkId(session, "session");
		const [row] = await this.#query("SELECT header FROM $.sessions WHERE id = $1 AND deleted IS NULL", [session]);
		const fault = row && headerFault(row.header, session);
		if (fault) throw new StoreError("failed", `row ${JSON.stringify(session)} of ${this.#schema}.sessions: ${fault}`);
		return row?.header;
	}

	/** @type {Store["delete"]} */
	async delete(session) {
		checkId(session, "session");
		await this.#query(
			"UPDATE $.sessions SET deleted = now(), header = '', hosts = '{}', redacted = '{}', replacements = '{}' " +
				"WHERE id = $1 AND deleted IS NULL",
			[session],
		);
		// A second statement, because only that sees lines that were appended before the first one got the row.
		await this.#query(
			"DELETE FROM $.entries WHERE session = $1 AND EXISTS (SELECT FROM $.sessions WHERE id = $1 AND deleted " +
				"IS NOT NULL)",
			[session],
		);
	}

	/** @type {Store["redact"]} */
	async redact(session, redactions) {
		checkId(session, "session");
		for (let isKept = false; !isKept; ) {
			const known = await this.redactions(session);
			const changed = new Map(settleRedactions(session, redactions, known).map(({ hash, line }) => [hash, line]));
			const all = new Map([
				...known.map(({ hash, line }) => /** @type {[string, Buffer | undefined]} */ ([hash, line])),
				...changed,
			]);
			const [row] = await this.#query(
				"UPDATE $.sessions SET redacted = $2, replacements = $3 WHERE id = $1 AND deleted IS NULL AND " +
					"cardinality(redacted) = $4 RETURNING id",
				[
					session,
					[...all.keys()].map((hash) => Buffer.from(hash, "hex")),
					[...all.values()].map((line) => line ?? null),
					known.length,
				],
			);
			isKept = row !== undefined;
			if (!isKept) await this.#requireSession(session);
		}
		// An append waits for the session's row and then looks for redactions again, so no such row is added any more. This
		// applies earlier redactions, too, because their process may have been stopped here.
		await this.#query(
			`UPDATE $.entries e SET line = '' FROM $.sessions s
			WHERE e.session = $1 AND s.id = $1 AND e.sha256 = ANY (s.redacted) AND e.line <> ''`,
			[session],
		);
	}

	/** @type {Store["redactions"]} */
	async redactions(session) {
		checkId(session, "session");
		const [row] = await this.#query("SELECT redacted, replacements FROM $.sessions WHERE id = $1", [session]);
		/** @type {Buffer[]} */
		const hashes = row?.redacted ?? [];
		return toRedactions(new Map(hashes.map((hash, at) => [hash.toString("hex"), row.replacements[at] ?? undefined])));
	}

	/** @type {Store["move"]} */
	async move(from, to) {
		for (const project of [from, to]) checkProject(project);
		await this.#query("UPDATE $.sessions SET project = $2 WHERE project = $1", [from, to]);
	}

	async close() {
		await this.#end?.();
	}

	/** The session in the list; throws if it is not stored. @param {string} session */
	async #requireSession(session) {
		const {
			sessions: [there],
			deleted,
		} = await this.list({ session });
		if (there) return there;
		throw deleted.length > 0 ? deletedError(session) : new StoreError("not-found", `There is no session ${session}`);
	}

	/**
	 * Runs a statement in which `$.` is replaced by the schema.
	 * @param {string} text
	 * @param {unknown[]} values
	 * @returns {Promise<any[]>}
	 */
	async #query(text, values) {
		await this.#prepared();
		const statement = text.replaceAll("$.", `${this.#schema}.`);
		try {
			return await this.#run(statement, values);
		} catch (error) {
			if (!OTHER_TABLES.has(codeOf(error))) throw error;
			this.#ready = undefined;
		}
		await this.#prepared();
		return this.#run(statement, values);
	}

	#prepared() {
		this.#ready ??= this.#prepare().catch((error) => {
			this.#ready = undefined;
			throw error;
		});
		return this.#ready;
	}

	/**
	 * @param {string} text
	 * @param {unknown[]} [values]
	 * @returns {Promise<any[]>}
	 */
	async #run(text, values) {
		try {
			const { rows } = await this.#client.query(values ? { text, values } : { text });
			return rows;
		} catch (error) {
			throw storeError(this.#name, error);
		}
	}

	async #prepare() {
		const version = await this.#version();
		if (version === 0) return void (await this.#run(makeTables(this.#schema)));
		if (version !== VERSION)
			throw new StoreError(
				"newer-schema",
				`${this.#name}: schema ${this.#schema} has layout ${version}, and this release reads only layout ` +
					`${VERSION}: install the pi-session-sync that created the store`,
			);
	}

	/** 0 if there are no tables yet. */
	async #version() {
		try {
			const [row] = await this.#run(readVersion(this.#schema));
			return Number(row?.version ?? 0);
		} catch (error) {
			if (codeOf(error) === NO_TABLE) return 0;
			throw error;
		}
	}
}

/** @param {number} sequence @param {string | null} stamp */
const cursorText = (sequence, stamp) => `${sequence}:${stamp ?? ""}`;

/** @param {string} [text] */
function readCursor(text = NOTHING) {
	const [, sequence, stamp = null] = CURSOR.exec(text) ?? [];
	if (sequence !== undefined) return { sequence: Number(sequence), stamp };
	throw new StoreError("reset", "The cursor is not one of this store");
}

/** The server's code for an error of `#run`. @param {any} error @returns {string} */
const codeOf = (error) => String(error?.cause?.code);

/** @param {unknown} seconds */
const fromSeconds = (seconds) => new Date(Number(seconds) * 1000);

exports.PostgresStore = PostgresStore;
