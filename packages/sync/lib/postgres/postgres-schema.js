// The tables. The first host creates them, in one transaction under an advisory lock, for which other hosts wait.

/** The version of the layout. Earlier versions were never released. */
const VERSION = 6;

/**
 * The statements that create the tables.
 *
 * - `sequence` comes from an update of the session's row in the transaction that inserts. The row stays locked until
 *   that commits, so a higher number is never visible before a lower one, and a reader that asks for rows after a
 *   number misses nothing.
 * - A line is `bytea`, because `jsonb` and `text` contain neither NUL nor half a surrogate pair.
 * - A cursor contains the `stamp` of the last row that it has passed. The stamp is random, because a store that was
 *   restored or created again counts from the same numbers. A row only changes for a redaction, so the same stamp means
 *   the same rows before it.
 * - The row of a deleted session stays, so that an append that waits for the row finds the deletion.
 * - `redacted` contains the hashes of lines, `replacements` their replacements in the same order. They are columns and
 *   not tables, because new columns inherit the rights of the table.
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
 * Creates the tables if there are none. One message is one transaction. It has no limits of time, because another host
 * may be creating the tables.
 * @param {string} schema
 */
const makeTables = (schema) => `
	SET LOCAL statement_timeout = 0;
	SET LOCAL lock_timeout = 0;
	SELECT pg_advisory_xact_lock(hashtext('pi-session-native ${schema}'));
	DO $make$ BEGIN
		IF to_regnamespace('${schema}') IS NULL THEN CREATE SCHEMA ${schema}; END IF;
		IF to_regclass('${schema}.schema_version') IS NULL THEN
			CREATE TABLE ${schema}.schema_version (
				version int PRIMARY KEY, store uuid NOT NULL DEFAULT gen_random_uuid()
			);
		END IF;
		IF NOT EXISTS (SELECT FROM ${schema}.schema_version) THEN
			${tables(schema)} INSERT INTO ${schema}.schema_version VALUES (${VERSION});
		END IF;
	END $make$;`;

exports.VERSION = VERSION;
exports.makeTables = makeTables;
exports.readVersion = readVersion;
