// Complete sessions as pi would have written them, in its three versions. hostile.ts damages them.
import { type MessageOptions, message, textBlock, usage } from "./messages.js";
import type { Random } from "./random.js";
import { plain, text } from "./values.js";

export type Fields = Record<string, unknown>;

export interface Session {
	version: 1 | 2 | 3;
	header: Fields;
	entries: Fields[];
}

type MakePayload = (r: Random, session: Session, options: MessageOptions) => Fields;

/** An id in the session: usually an earlier entry's, sometimes one that does not exist. */
function someId(r: Random, session: Session): unknown {
	const known = session.entries.map((entry) => entry.id).filter((id) => id !== undefined);
	return known.length > 0 && r.chance(0.9) ? r.pick(known) : r.pick(["0badc0de", "gone"]);
}

function compaction(r: Random, session: Session): Fields {
	const fields: Fields = { summary: text(r) };
	if (session.version === 1) {
		// An index that counts the header as 0. Indexes of later entries, missing indexes and fractions occur.
		fields.firstKeptEntryIndex = r.chance(0.7)
			? r.int(session.entries.length + 1)
			: r.pick([-1, 0, 1.5, session.entries.length + 1, session.entries.length + 3, 9999, "2", null]);
	} else {
		fields.firstKeptEntryId = someId(r, session);
	}
	fields.tokensBefore = r.int(1e5);
	if (r.chance(0.3)) fields.details = plain(r);
	if (r.chance(0.3)) {
		fields.systemMessage = {
			role: "system",
			content: r.chance(0.5) ? text(r) : [textBlock(r)],
			sections: { style: text(r) },
			toolsAdded: [{ name: "read" }],
			timestamp: 1700000000000,
		};
	}
	return fields;
}

const PAYLOADS: Record<string, MakePayload> = {
	message: (r, session, options) => ({
		message: message(r, options, session.version < 3 && r.chance(0.15) ? "hookMessage" : undefined),
	}),
	thinking_level_change: (r) => ({ thinkingLevel: r.pick(["off", "low", "high", text(r)]) }),
	model_change: (r) => ({ provider: r.pick(["anthropic", text(r)]), modelId: r.pick(["m-1", text(r)]) }),
	usage: (r) => ({
		kind: "cache_warm",
		provider: "p",
		model: "m",
		usage: usage(r),
		...(r.chance(0.5) ? { note: text(r) } : {}),
	}),
	compaction,
	branch_summary: (r, session) => ({
		fromId: someId(r, session),
		summary: text(r),
		...(r.chance(0.3) ? { details: plain(r), fromHook: true } : {}),
	}),
	custom: (r) => ({ customType: text(r), data: plain(r) }),
	custom_message: (r) => ({
		customType: text(r),
		content: r.chance(0.1) ? null : r.chance(0.5) ? text(r) : [textBlock(r)],
		display: r.chance(0.5),
		details: plain(r),
	}),
	context_edit: (r, session) => ({
		targetId: someId(r, session),
		replacement: r.weighted<unknown>([
			[1, null],
			[1, {}],
			[2, { content: text(r) }],
			[2, { content: [textBlock(r)] }],
		]),
	}),
	label: (r, session) => ({ targetId: someId(r, session), ...(r.chance(0.8) ? { label: text(r) } : {}) }),
	session_info: (r) => ({ name: r.pick(["", "  padded  ", "a name", text(r)]) }),
	invented_kind: (r) => ({ payload: plain(r), targetId: 1, label: "not a label" }),
};

const KINDS: readonly (readonly [number, string])[] = [
	[14, "message"],
	[1, "thinking_level_change"],
	[1, "model_change"],
	[1, "usage"],
	[2, "compaction"],
	[1, "branch_summary"],
	[1, "custom"],
	[2, "custom_message"],
	[2, "context_edit"],
	[3, "label"],
	[1, "session_info"],
	[1, "invented_kind"],
];

/** Random data may contain a second `type` or `id`, but the ids of entries stay unique. */
function uniqueId(r: Random, taken: Set<unknown>): string {
	for (;;) {
		const id = r.hex(8);
		if (!taken.has(id)) return id;
	}
}

export function session(r: Random, options: { cwd: string; oddContent: boolean; maxEntries: number }): Session {
	const version = r.weighted<1 | 2 | 3>([
		[3, 1],
		[2, 2],
		[5, 3],
	]);
	const start = 1690000000000 + r.int(1e9);
	const header: Fields = {
		type: "session",
		version,
		id: r.chance(0.5) ? `session-${r.hex(6)}` : `${r.hex(8)}-${r.hex(4)}-7${r.hex(3)}-8${r.hex(3)}-${r.hex(12)}`,
		timestamp: new Date(start).toISOString(),
		cwd: options.cwd,
	};
	if (version === 1) {
		delete header.version;
		Object.assign(header, { provider: "anthropic", modelId: "m-0", thinkingLevel: "low" });
	}
	if (r.chance(0.2)) header[version === 3 ? "parentSession" : "branchedFrom"] = "/elsewhere/parent.jsonl";

	const result: Session = { version, header, entries: [] };
	const ids = new Set<unknown>();
	const count = r.int(options.maxEntries + 1);
	let leaf: unknown = null;
	const branching = r.pick([0.05, 0.15, 0.5]);
	for (let i = 0; i < count; i++) {
		const type = r.weighted(KINDS);
		const timestamp = new Date(start + i * 1000 + r.int(500)).toISOString();
		const payload = (PAYLOADS[type] as MakePayload)(r, result, { oddContent: options.oddContent, inMemory: false });
		// A line does not contain the fields that the in-memory generators set to undefined.
		const entry: Fields =
			version === 1
				? { type, timestamp, ...payload }
				: { type, id: uniqueId(r, ids), parentId: leaf, timestamp, ...payload };
		ids.add(entry.id);
		result.entries.push(JSON.parse(JSON.stringify(entry)) as Fields);
		if (version > 1) leaf = r.chance(branching) ? r.pick(result.entries).id : entry.id;
	}
	return result;
}
