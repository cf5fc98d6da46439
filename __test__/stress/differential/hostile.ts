// Session files as they occur: valid sessions, damaged in all ways that the reference accepts.
//
// If we do more than the reference on purpose (docs/moving-from-pi.md), the two sides get different bytes. The bytes of
// the reference are chosen so that its result is the result that we should return:
// - "a later line of valid JSON that is no object ...": only our side gets such a line (`reference: null`). We must
//   ignore it, and keep it. In version 1 the reference gets a second session line in its place, because that is also no
//   entry, but counts in `firstKeptEntryIndex`, the index of a parsed line.
// - "a message entry without a message object": the reference gets the entry with an unknown type.
//
// These are never generated: duplicate ids and cycles, because the reference hangs; replacements of context edits that
// are not objects, and names that are not strings, because the reference fails to read them; `null`, `0`, `false` or
// `""` before the header, because only the reference skips them; headers above 1 MiB.
import { mutateEntry, READABLE_TIMESTAMPS, relink } from "./hostile-entries.js";
import { hostileText, junkLine, nonEntryLine } from "./hostile-lines.js";
import { NON_ENTRY_ID, STAND_IN_TYPE } from "./names.js";
import type { Random } from "./random.js";
import { type Fields, session } from "./sessions.js";

export interface Line {
	bytes: Buffer;
	/** The line in the reference's file instead; null for no line. */
	reference?: Buffer | null;
	/** Valid JSON that is not an entry. */
	nonEntry?: boolean;
	/** Shortening a case keeps it. Otherwise the next line, which must be below a header, would be read as the header. */
	header?: boolean;
}

export interface HostileFile {
	lines: Line[];
	endsWithNewline: boolean;
	/** Both sides' plain loaders return the same for it: no line exists only on our side. */
	sameForBoth: boolean;
	/** The version from which the loaders migrate. */
	version: unknown;
}

export function render(file: HostileFile, forReference: boolean): Buffer {
	const lines = file.lines.map((line) => (forReference && line.reference !== undefined ? line.reference : line.bytes));
	const parts: Buffer[] = [];
	lines.forEach((bytes, i) => {
		if (bytes === null) return;
		parts.push(bytes);
		if (file.endsWithNewline || i < lines.length - 1) parts.push(Buffer.from("\n"));
	});
	return Buffer.concat(parts);
}

export interface HostileOptions {
	cwd: string;
	/** Whether the module under test differs on purpose (docs/moving-from-pi.md). */
	better: boolean;
	/** Omits contents that would remove the whole session from the reference's list. */
	listable: boolean;
}

const VERSIONS = [undefined, null, 0, -1, 1, 1.5, 2, 2.5, 3, 3.5, 4, 99, "1", "2", "3", true];

function mutateHeader(r: Random, header: Fields, listable: boolean): void {
	// Entries of version 1 have no ids, so the version in the header must stay one whose migration assigns ids.
	if (r.chance(0.3)) header.version = r.pick(givesIds(header.version) ? VERSIONS.filter(givesIds) : VERSIONS);
	if (r.chance(0.1)) header.extra = { unknown: [1, "field"] };
	if (r.chance(0.1))
		header.timestamp = r.pick([undefined, "not a date", "Tue Mar 01 2022 10:00:00", "2024-02-30", "2022-03-01"]);
	if (r.chance(0.15)) header.cwd = r.pick([undefined, "", "relative/place", "~", "~/deep", 5, null]);
	if (!listable && r.chance(0.04)) header.id = r.pick([undefined, 5, null, ""]);
	if (!listable && r.chance(0.03)) header.type = r.pick([undefined, "message", "Session", 5]);
}

/** Below version 2 the migration assigns ids; later an entry needs its own. */
function givesIds(version: unknown): boolean {
	return ((version ?? 1) as number) < 2;
}

export function hostileFile(r: Random, options: HostileOptions): HostileFile {
	const special = options.listable
		? undefined
		: r.weighted<Buffer | undefined>([
				[40, undefined],
				[2, Buffer.from("")],
				[1, Buffer.from(" \n\t\n")],
				[1, Buffer.from("just some text\n")],
				[1, Buffer.from("[]\n")],
				[1, Buffer.from("\n\n\n")],
			]);
	if (special) return { lines: [{ bytes: special }], endsWithNewline: false, sameForBoth: true, version: undefined };

	const base = session(r, { cwd: options.cwd, oddContent: !options.listable, maxEntries: r.pick([3, 8, 20]) });
	// The order of sessions with equal times in a list.
	if (options.listable && r.chance(0.3)) {
		base.header.timestamp = "2023-11-11T11:11:11.111Z";
		base.entries = base.entries.filter((entry) => entry.type !== "message");
	}
	if (r.chance(0.15)) for (const entry of base.entries) entry.timestamp = r.pick(READABLE_TIMESTAMPS);
	mutateHeader(r, base.header, options.listable);
	const version = base.header.version;
	if (r.chance(0.5)) for (const entry of base.entries) if (r.chance(0.2)) mutateEntry(r, entry, options.listable);
	if (r.chance(0.15)) base.entries = base.entries.filter(() => !r.chance(0.15));
	if (r.chance(0.2)) relink(r, base.entries);

	const noMessage = new Set<Fields>();
	if (options.better && !options.listable && r.chance(0.15)) {
		for (const entry of base.entries) if (entry.type === "message" && r.chance(0.3)) noMessage.add(entry);
	}
	const rough = r.chance(0.5);
	const lines: Line[] = base.entries.map((entry) => entryLine(r, entry, rough, noMessage.has(entry)));
	const headerBytes = rough && r.chance(0.3) ? hostileText(r, base.header) : Buffer.from(JSON.stringify(base.header));
	lines.unshift({ bytes: headerBytes, header: true });
	if (r.chance(0.1)) insert(r, lines, Buffer.from(JSON.stringify({ ...base.header, id: "a-later-session-line" })));
	if (r.chance(0.4)) for (let i = r.between(1, 3); i > 0; i--) insert(r, lines, junkLine(r));
	// If reading continues after these, the two sides differ where the first value decides; see the top of this file.
	if (r.chance(0.1)) insert(r, lines, Buffer.from(r.pick(["null", "0", "-0", "false", '""', " null "])));
	let sameForBoth = noMessage.size === 0;
	if (options.better && r.chance(0.2)) {
		const reference = givesIds(version) ? Buffer.from(`{"type":"session","id":"${NON_ENTRY_ID}"}`) : null;
		for (let i = r.between(1, 3); i > 0; i--)
			insert(r, lines, nonEntryLine(r, givesIds(version)), { reference, nonEntry: true });
		sameForBoth = false;
	}
	const beforeHeader = r.chance(0.12) ? [{ bytes: options.listable ? Buffer.from(" \t") : junkLine(r) }] : [];
	return { lines: [...beforeHeader, ...lines], endsWithNewline: r.chance(0.85), sameForBoth, version };
}

/** Inserts a line somewhere below the header. */
function insert(r: Random, lines: Line[], bytes: Buffer, more: Omit<Line, "bytes"> = {}): void {
	lines.splice(r.between(1, lines.length), 0, { bytes, ...more });
}

function entryLine(r: Random, entry: Fields, rough: boolean, withoutMessage: boolean): Line {
	if (withoutMessage) {
		const { message, ...rest } = entry;
		const bare = r.chance(0.5) ? rest : { ...rest, message: r.pick([null, 5, "text", true, false]) };
		return {
			bytes: Buffer.from(JSON.stringify(bare)),
			reference: Buffer.from(JSON.stringify({ ...bare, type: STAND_IN_TYPE })),
		};
	}
	return { bytes: rough && r.chance(0.4) ? hostileText(r, entry) : Buffer.from(JSON.stringify(entry)) };
}
