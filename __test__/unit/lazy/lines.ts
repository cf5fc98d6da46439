// Lines of entries as text, written by hand, in forms that JSON allows but no present writer uses.
import type { Random } from "../../stress/differential/random.js";

export interface Allowed {
	/** Numbers that JSON.stringify does not write unchanged: -0, and infinite ones. */
	oddNumbers: boolean;
	/** Bytes that are not UTF-8. */
	oddBytes: boolean;
	/** Messages that are not objects. pi's context fails on them. */
	oddMessages: boolean;
}

const PIECES = [
	...["all work and no play ", "0123456789", "\\n", '\\"', "\\\\", "\\/", "\\u0000", "\\u00e9", "\\ud83d", "\\ude00"],
	...["\\ud83d\\ude00", "é", "日本語", "𝒳", "\u2028", "\u007f", "\ufeff", "{", "}", "[", "]", ",", ":", "content", " "],
	...['\\"content\\":', "\\t", "\u0085"],
];
const KEYS = ["a", "z", "10", "2", "-1", "01", "4294967294", "4294967295", "__proto__", "constructor", "toString", ""];
const NESTED = ["content", "details", "data", "message", "id", "type", "role"];

/** Usually about as long as the smallest large value. */
function size(r: Random): number {
	return r.weighted<() => number>([
		[4, () => r.int(60)],
		[6, () => r.between(490, 530)],
		[2, () => r.between(1000, 6000)],
		[1, () => r.between(20_000, 70_000)],
	])();
}

/** The JSON text of a string of about that many bytes, sometimes of exactly that many. */
function text(r: Random, bytes: number): string {
	if (r.chance(0.3)) return `"${"x".repeat(Math.max(0, bytes - 2))}"`;
	const few = r.chance(0.5) ? r.shuffle(PIECES).slice(0, 3) : PIECES;
	let made = "";
	// Lengths in bytes, exact enough for pieces of a few characters.
	for (let length = 2; length < bytes; ) {
		const piece = r.pick(few);
		made += piece;
		length += Buffer.byteLength(piece);
	}
	return `"${made}"`;
}

const space = (r: Random): string => (r.chance(0.05) ? r.pick([" ", "\t", "\r", "  "]) : "");

/** The JSON text of a key, sometimes with escapes. */
function keyText(r: Random, key: string): string {
	if (key === "" || !r.chance(0.08)) return JSON.stringify(key);
	const at = r.int(key.length);
	const code = key.charCodeAt(at).toString(16).padStart(4, "0");
	return `"${key.slice(0, at)}\\u${r.chance(0.5) ? code : code.toUpperCase()}${key.slice(at + 1)}"`;
}

function objectText(r: Random, fields: readonly (readonly [string, string])[]): string {
	const parts = fields.map(([key, value]) => `${space(r)}${keyText(r, key)}${space(r)}:${space(r)}${value}${space(r)}`);
	return `{${parts.join(",") || space(r)}}`;
}

/** The JSON text of a value of about that many bytes. */
function value(r: Random, bytes: number, allowed: Allowed, depth = 3): string {
	if (depth === 0 || r.chance(0.4)) return text(r, bytes);
	const share = r.between(1, 4);
	const each = (): string => value(r, bytes / share, allowed, depth - 1);
	return r.weighted<() => string>([
		[3, () => `[${Array.from({ length: share }, () => space(r) + each()).join(",")}]`],
		[
			3,
			() =>
				objectText(
					r,
					Array.from({ length: share }, () => [r.pick([...KEYS, ...NESTED]), each()]),
				),
		],
		[
			2,
			() =>
				`[${objectText(r, [
					["type", '"text"'],
					["text", each()],
				])}]`,
		],
		[1, () => r.pick(["null", "true", "0", "1.5e-7", "1700000000123", "[]", "{}", '""'])],
		[allowed.oddNumbers ? 1 : 0, () => `[${r.pick(["-0", "1e999", "-1e999", "12345678901234567890"])},${each()}]`],
	])();
}

type Field = [string, string];

/** Fields that may be large, some twice. */
function bodies(r: Random, names: readonly string[], allowed: Allowed): Field[] {
	const fields: Field[] = [];
	for (const name of names) {
		if (r.chance(0.25)) continue;
		const times = r.chance(0.12) ? 2 : 1;
		for (let n = 0; n < times; n++) fields.push([name, r.chance(0.06) ? "null" : value(r, size(r), allowed)]);
	}
	return fields;
}

/** Others around them, in any order. */
function mixed(r: Random, fixed: readonly Field[], large: readonly Field[], allowed: Allowed): Field[] {
	const more: Field[] = Array.from({ length: r.int(3) }, () => [r.pick(KEYS), value(r, r.int(50), allowed, 1)]);
	const all = [...fixed, ...more];
	return r.pick([
		() => [...large, ...all],
		() => [...all, ...large],
		() => r.shuffle([...all, ...large]),
		() => r.shuffle([...all, ...large]),
	])();
}

function message(r: Random, allowed: Allowed): string {
	const role: Field = ["role", `"${r.pick(["user", "assistant", "toolResult", "custom", "invented"])}"`];
	const fixed: Field[] = r.chance(0.9) ? [role, ["timestamp", "1700000000000"]] : [];
	// In a message, `data` is not a large value.
	return objectText(
		r,
		mixed(r, fixed, bodies(r, ["content", "details", ...(r.chance(0.2) ? ["data"] : [])], allowed), allowed),
	);
}

/** A line of an entry with this id, without its line feed. */
export function line(r: Random, id: string, parent: string | null, allowed: Allowed): Buffer {
	const kind = r.weighted([
		[8, "message"],
		[2, "custom"],
		[2, "custom_message"],
		[1, "compaction"],
		[1, "branch_summary"],
		[1, "invented"],
	]);
	const fixed: Field[] = [
		["type", `"${kind}"`],
		["id", JSON.stringify(id)],
		["parentId", JSON.stringify(parent)],
		["timestamp", '"2025-01-01T00:00:00.000Z"'],
	];
	if (r.chance(0.03)) fixed.unshift(["id", '"another"']);
	let large: Field[] = [];
	if (kind === "message") {
		large = [["message", message(r, allowed)]];
		if (r.chance(0.08))
			large.unshift([
				"message",
				r.chance(0.5) || !allowed.oddMessages ? message(r, allowed) : r.pick(["5", "null", '"m"']),
			]);
		if (r.chance(0.1)) large.push(...bodies(r, ["content", "details", "data"], allowed));
	} else {
		large = bodies(r, ["content", "details", "data"], allowed);
		if (kind === "invented" && r.chance(0.5)) large.push(["message", message(r, allowed)]);
		if (kind === "compaction")
			fixed.push(["summary", text(r, size(r))], ["firstKeptEntryId", JSON.stringify(parent ?? id)]);
		if (kind === "branch_summary") fixed.push(["summary", text(r, size(r))], ["fromId", '"root"']);
		if (kind === "custom_message") fixed.push(["customType", '"note"'], ["display", "true"]);
	}
	const lastWins = (fields: Field[]): Field[] => {
		// The real id must be the last in the line.
		const ids = fields.filter(([key]) => key === "id");
		return [...fields.filter(([key, text]) => key !== "id" || text !== '"another"' || ids.at(-1)?.[1] !== text)];
	};
	const written = objectText(r, r.chance(0.5) ? [...fixed, ...large] : lastWins(mixed(r, fixed, large, allowed)));
	return spoiled(r, Buffer.from(`${space(r)}${written}${space(r)}${r.chance(0.1) ? "\r" : ""}`), allowed);
}

const NOT_UTF8 = [[0xff], [0xc3], [0xe6, 0x97], [0xf0, 0x9f, 0x98], [0xed, 0xa0, 0xbd], [0x80], [0xc0, 0xaf]];

/** The line with bytes that are not UTF-8 in one of its longest texts. */
function spoiled(r: Random, bytes: Buffer, allowed: Allowed): Buffer {
	if (!allowed.oddBytes || !r.chance(0.12)) return bytes;
	const at = bytes.indexOf(r.pick(["all work", "xxxx"]));
	if (at < 0) return bytes;
	return Buffer.concat([bytes.subarray(0, at), Buffer.from(r.pick(NOT_UTF8)), bytes.subarray(at)]);
}
