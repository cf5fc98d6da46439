// The statement that appends to PostgreSQL; `$.` stands for the schema. docs/store-adapters.md has what each of its steps is for.

/** The stamp of the last row of a session up to a number. @param {string} number */
const stampAt = (number) => `(SELECT stamp FROM $.entries WHERE session = $1 AND sequence <= ${number}::bigint ORDER BY sequence DESC LIMIT 1)`;

/**
 * Its parameters: the session, its header and project, the host; of each line the entry's id, its parent's, the line and its hash; of the
 * cursor the generation, the number and the stamp; whether it restores the session.
 */
const APPEND = `WITH given AS (
		SELECT * FROM unnest($5::text[], $6::text[], $7::bytea[], $8::bytea[]) WITH ORDINALITY AS g (entry_id, parent_id, line, sha256, n)
	), there AS (
		SELECT n FROM given g JOIN $.entries e ON e.session = $1 AND e.entry_id = g.entry_id AND e.sha256 = g.sha256
		UNION SELECT n FROM given g
			JOIN (SELECT unnest(redacted) AS sha256, unnest(replacements) AS line FROM $.sessions WHERE id = $1) r ON sha256(r.line) = g.sha256
			JOIN $.entries e ON e.session = $1 AND e.sha256 = r.sha256
	), redacted AS (
		SELECT n FROM given g JOIN $.sessions s ON s.id = $1 AND g.sha256 = ANY (s.redacted)
	), known AS (
		SELECT n FROM there UNION SELECT n FROM redacted
	), fresh AS (
		SELECT g.*, row_number() OVER (ORDER BY n) AS place FROM given g WHERE n NOT IN (SELECT n FROM known)
	), added AS (
		SELECT count(*) AS lines, coalesce(sum(octet_length(line)), 0) AS bytes FROM fresh
	), made AS (
		INSERT INTO $.sessions AS s (id, header, project, hosts, head, bytes)
		SELECT $1, $2, $3, ARRAY[$4::text], lines, bytes FROM added WHERE $9::uuid IS NULL
		ON CONFLICT (id) DO UPDATE SET head = s.head + EXCLUDED.head, bytes = s.bytes + EXCLUDED.bytes, updated = now(), deleted = NULL,
			header = CASE WHEN s.deleted IS NULL THEN s.header ELSE EXCLUDED.header END,
			hosts = CASE WHEN $4 = ANY (s.hosts) THEN s.hosts ELSE s.hosts || EXCLUDED.hosts END
		WHERE (s.deleted IS NULL OR $12 AND EXISTS (SELECT FROM $.sessions WHERE id = $1 AND deleted IS NOT NULL))
		RETURNING s.generation, s.head, s.head - (SELECT lines FROM added) AS base, cardinality(s.redacted) AS redactions
	), changed AS (
		UPDATE $.sessions AS s SET head = s.head + added.lines, bytes = s.bytes + added.bytes, updated = now(),
			hosts = CASE WHEN $4 = ANY (s.hosts) THEN s.hosts ELSE s.hosts || ARRAY[$4::text] END
		FROM added WHERE s.id = $1 AND s.deleted IS NULL AND s.generation = $9 AND s.head >= $10 AND ${stampAt("$10")} IS NOT DISTINCT FROM $11::uuid
		RETURNING s.generation, s.head, s.head - added.lines AS base, cardinality(s.redacted) AS redactions
	), touched AS (
		SELECT * FROM made UNION ALL SELECT * FROM changed
	), stored AS (
		INSERT INTO $.entries (session, sequence, entry_id, parent_id, host, line, sha256)
		SELECT $1, base + place, entry_id, parent_id, $4, line, sha256 FROM fresh, touched
		WHERE ($9::uuid IS NULL OR generation = $9)
			AND redactions = coalesce((SELECT cardinality(redacted) FROM $.sessions WHERE id = $1), 0)
		ON CONFLICT (session, entry_id, sha256) DO NOTHING RETURNING sequence, stamp
	)
	SELECT generation, (SELECT generation FROM $.sessions WHERE id = $1) AS was, head, base,
		(SELECT count(*) FROM there) AS there, (SELECT count(*) FROM known) AS known, (SELECT count(*) FROM stored) AS stored,
		(SELECT stamp FROM stored ORDER BY sequence DESC LIMIT 1) AS stamp
	FROM touched`;

exports.APPEND = APPEND;
exports.stampAt = stampAt;
