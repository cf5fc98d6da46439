// Damages single entries: fields that are missing, unusual or unknown.
import type { Random } from "./random.js";
import type { Fields } from "./sessions.js";
import { nested, number, plain, text } from "./values.js";

/** Times that V8 parses: ISO or not, local or not, beyond the range. */
export const READABLE_TIMESTAMPS: readonly unknown[] = [
	"2023-07-26T10:30:40.594Z",
	"2024-01-01",
	"2024-02-30T00:00:00Z",
	"2024-01-01T00:00:00",
	"2024-01-01T10:00:00+02:00",
	"2024-06-01 10:00",
	"Tue Mar 01 2022 10:00:00 GMT+0100",
	"1 Jan 2023",
	"2023",
	1700000000000,
	0,
	null,
	true,
];

const TIMESTAMPS: readonly unknown[] = [...READABLE_TIMESTAMPS, "not a date", "", undefined, {}];

const DROPPABLE = [
	"timestamp",
	"summary",
	"tokensBefore",
	"customType",
	"display",
	"data",
	"content",
	"thinkingLevel",
	"provider",
	"modelId",
	"label",
	"targetId",
	"fromId",
	"firstKeptEntryId",
	"usage",
];

const MUTATIONS: readonly ((r: Random, entry: Fields, listable: boolean) => void)[] = [
	(r, entry) => {
		entry.timestamp = r.pick(TIMESTAMPS);
	},
	(r, entry) => {
		entry.parentId = r.pick([undefined, null, "", "0badc0de", 5, true, {}]);
	},
	(r, entry) => {
		entry[r.pick(["unknown", "x-field", "7", "", "toString"])] = plain(r);
	},
	(r, entry) => {
		entry.deep = nested(r, r.pick([50, 130, 600]));
	},
	(_, entry) => {
		Object.defineProperty(entry, "__proto__", {
			value: { type: "label" },
			enumerable: true,
			configurable: true,
			writable: true,
		});
	},
	(r, entry) => {
		if (entry.type !== "context_edit") delete entry[r.pick(DROPPABLE)];
	},
	(r, entry) => {
		if (entry.type !== "label") return;
		entry.label = r.pick([undefined, null, "", 5, true, 0, { an: "object" }, text(r)]);
		if (r.chance(0.3)) entry.targetId = r.pick([undefined, 5, null, ""]);
	},
	(r, entry) => {
		if (entry.type === "compaction") entry.firstKeptEntryId = r.pick([undefined, null, 5, "", "0badc0de", entry.id]);
	},
	(r, entry) => {
		if (entry.type === "session_info") entry.name = r.pick([undefined, null, "", " \t"]);
	},
	(r, entry) => {
		entry.type = r.pick(["invented_kind", 5, null, undefined, "", "constructor"]);
	},
	(r, entry, listable) => {
		const message = entry.message as Fields | undefined;
		if (!message) return;
		message[r.pick(["extra", "model", "provider"])] = r.chance(0.5) ? number(r) : text(r);
		// Lists are sorted by it, and times beyond a Date's range have no defined order.
		if (!listable) message.timestamp = r.chance(0.5) ? number(r) : text(r);
	},
	(r, entry) => {
		const shuffled = r.shuffle(Object.entries(entry));
		for (const key of Object.keys(entry)) delete entry[key];
		Object.assign(entry, Object.fromEntries(shuffled));
	},
];

export function mutateEntry(r: Random, entry: Fields, listable: boolean): void {
	r.pick(MUTATIONS)(r, entry, listable);
	// A line contains no undefined, and a later generator may read the entry again.
	for (const key of Object.keys(entry)) if (entry[key] === undefined) delete entry[key];
}

/** Sets any other entry as an entry's parent, even a later one, unless this creates a cycle. */
export function relink(r: Random, entries: Fields[]): void {
	// Version 1 has no parents.
	if (entries.some((entry) => typeof entry.id !== "string")) return;
	const byId = new Map(entries.map((entry) => [entry.id, entry]));
	for (let i = r.between(1, 3); i > 0 && entries.length > 1; i--) {
		const child = r.pick(entries);
		const parent = r.pick(entries);
		let ancestor: Fields | undefined = parent;
		while (ancestor && ancestor !== child) ancestor = byId.get(ancestor.parentId);
		if (!ancestor) child.parentId = parent.id;
	}
	if (r.chance(0.3) && entries.length > 1) {
		const at = r.int(entries.length - 1);
		entries.splice(at, 2, entries[at + 1] as Fields, entries[at] as Fields);
	}
}
