// The tables. The first host creates them, in one transaction under an advisory lock; hosts that start at the same time
// wait for it.

/** The version of their layout. Those before it were never released. */
const VERSION = 6;

/**
 * `sequence` is given by an update of the session's row in the transaction that inserts. The row stays locked until
 * that commits, so that a higher number is never visible before a lower one: a reader of what comes after n misses
 * nothing. A line is `bytea`: `jsonb` and `text` hold neither NUL nor half a surrogate pair. A cursor names the `stamp`
 * of the last row that it has passed, which is random because a store that was restored or made anew gives the same
 * numbers again: a row is changed only to remove what was redacted, so the same stamp means the same rows before. The
 * row of a deleted session stays, because whoever waits for it to append is to find it deleted. Redactions are the
 * hashes of lines, and in the same order what stands in their places. Later columns, unlike later tables, have the
 * rights of what is there.
 * @param {string} schema
 */
const tables = (schema) => `
	CREATE TABLE ${schema}.sessions (
		id text COLLATE "C" PRIMARY KEY,
		header bytea NOT NULL,
		project text,
		hosts text[] NOT NULL,
		head bigint NOT NULL,
		bytes bigint NOT NULL,
		updated timestamptz NOT NULL DEFAULT now(),
		deleted timestamptz,
		redacted bytea[] NOT NULL DEFAULT '{}',
		replacements bytea[] NOT NULL DEFAULT '{}'
	);
	CREATE INDEX sessions_by_project ON ${schema}.sessions (project);
	CREATE TABLE ${schema}.entries (
		session text COLLATE "C" NOT NULL REFERENCES ${schema}.sessions ON DELETE CASCADE,
		sequence bigint NOT NULL,
		host text NOT NULL,
		line bytea NOT NULL,
		sha256 bytea NOT NULL,
		stamp uuid NOT NULL DEFAULT gen_random_uuid(),
		PRIMARY KEY (session, sequence),
		UNIQUE (session, sha256)
	);`;

/** @param {string} schema */
const readVersion = (schema) => `SELECT max(version) AS version FROM ${schema}.schema_version`;

/**
 * Makes the tables where there are none. As it is one message, it is one transaction. It may take longer than the
 * connection's limits allow, because another host may be at it.
 * @param {string} schema
 */
const makeTables = (schema) => `
	SET LOCAL statement_timeout = 0;
	SET LOCAL lock_timeout = 0;
	SELECT pg_advisory_xact_lock(hashtext('pi-session-native ${schema}'));
	DO $make$ BEGIN
		IF to_regnamespace('${schema}') IS NULL THEN CREATE SCHEMA ${schema}; END IF;
		IF to_regclass('${schema}.schema_version') IS NULL THEN CREATE TABLE ${schema}.schema_version (version int PRIMARY KEY, store uuid NOT NULL DEFAULT gen_random_uuid()); END IF;
		IF NOT EXISTS (SELECT FROM ${schema}.schema_version) THEN ${tables(schema)} INSERT INTO ${schema}.schema_version VALUES (${VERSION}); END IF;
	END $make$;`;

exports.VERSION = VERSION;
exports.makeTables = makeTables;
exports.readVersion = readVersion;
