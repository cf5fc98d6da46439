// The statement that appends to PostgreSQL. `$.` is replaced by the schema. docs/store-adapters.md describes its steps.

/** The stamp of the last row of a session up to a number. @param {string} number */
const stampAt = (number) =>
	`(SELECT stamp FROM $.entries WHERE session = $1 AND sequence <= ${number}::bigint ORDER BY sequence DESC LIMIT 1)`;

/**
 * Its parameters: the session, its header and project, the host; the lines and their hashes; the number of the cursor
 * (0 without one) and its stamp.
 */
const APPEND = `WITH given AS (
		SELECT * FROM unnest($5::bytea[], $6::bytea[]) WITH ORDINALITY AS g (line, sha256, n)
	), redacted AS (
		SELECT unnest(redacted) AS sha256, unnest(replacements) AS line FROM $.sessions WHERE id = $1
	), known AS (
		SELECT n FROM given g JOIN $.entries e ON e.session = $1 AND e.sha256 = g.sha256
		UNION SELECT n FROM given g JOIN redacted r ON r.sha256 = g.sha256
		UNION SELECT n FROM given g JOIN redacted r ON sha256(r.line) = g.sha256
			JOIN $.entries e ON e.session = $1 AND e.sha256 = r.sha256
	), fresh AS (
		SELECT g.*, row_number() OVER (ORDER BY n) AS place FROM given g WHERE n NOT IN (SELECT n FROM known)
	), touched AS (
		INSERT INTO $.sessions AS s (id, header, project, hosts, head, bytes)
		SELECT $1, $2, $3, ARRAY[$4::text], count(*), coalesce(sum(octet_length(line)), 0) FROM fresh
		HAVING $7 = 0 OR EXISTS (SELECT FROM $.sessions WHERE id = $1)
		ON CONFLICT (id) DO UPDATE SET head = s.head + EXCLUDED.head, bytes = s.bytes + EXCLUDED.bytes, updated = now(),
			hosts = CASE WHEN $4 = ANY (s.hosts) THEN s.hosts ELSE s.hosts || EXCLUDED.hosts END
		WHERE s.deleted IS NULL AND ${stampAt("$7")} IS NOT DISTINCT FROM $8::uuid
		RETURNING s.head, s.head - (SELECT count(*) FROM fresh) AS base, cardinality(s.redacted) AS redactions
	), stored AS (
		INSERT INTO $.entries (session, sequence, host, line, sha256)
		SELECT $1, base + place, $4, line, sha256 FROM fresh, touched
		WHERE redactions = (SELECT count(*) FROM redacted)
		ON CONFLICT (session, sha256) DO NOTHING RETURNING sequence, stamp
	)
	SELECT head, base, (SELECT count(*) FROM fresh) AS fresh, (SELECT count(*) FROM stored) AS stored,
		(SELECT stamp FROM stored ORDER BY sequence DESC LIMIT 1) AS stamp
	FROM touched`;

exports.APPEND = APPEND;
exports.stampAt = stampAt;
