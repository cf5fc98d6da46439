// Damages the text of lines: JSON that JSON.parse accepts but strict parsers refuse, and text that no parser accepts.
import type { Random } from "./random.js";
import type { Fields } from "./sessions.js";

const escapeFirst = (key: string): string => `"\\u${key.charCodeAt(0).toString(16).padStart(4, "0")}${key.slice(1)}"`;

/** Inserts text before the closing brace. */
const append = (json: string, field: string): string => `${json.slice(0, -1)},${field}}`;

const REWRITES: readonly ((r: Random, json: string, value: Fields) => string)[] = [
	// Key names written with escapes.
	(r, json, value) => {
		const key = r.pick(Object.keys(value).filter((name) => /^[a-zA-Z]/.test(name)));
		return json.replace(`"${key}":`, `${escapeFirst(key)}:`);
	},
	(_, json) => json.replaceAll('"role":', '"r\\u006fle":').replaceAll('"content":', '"\\u0063ontent":'),
	// Values written with escapes.
	(_, json, value) =>
		typeof value.id === "string" && value.id !== ""
			? json.replace(`"id":"${value.id}"`, `"id":${escapeFirst(value.id)}`)
			: json,
	(_, json) => json.replace('"type":"message"', '"type":"\\u006dessage"'),
	// Repeated keys: the last value counts, at the place of the first.
	(r, json) =>
		`{${JSON.stringify(r.pick(Object.keys(JSON.parse(json) as object)))}:${r.pick(['"x"', "5", "null", "{}"])},${json.slice(1)}`,
	(_, json) => json.replace('"role":', '"role":"assistant","role":'),
	(_, json) => append(json, '"twice":1,"other":2,"twice":3'),
	// White space wherever JSON allows it, also carriage returns.
	(r, json, value) => JSON.stringify(value, null, 1).replaceAll("\n", r.pick(["\r", "\t", "  ", " \r "])) || json,
	(r, json) => `${r.pick([" ", "\t", "\r"])}${json}${r.pick([" ", "\t\t", "\r", "\r\r"])}`,
	// Numbers beyond or near the limits of a double.
	(_, json) =>
		append(
			json,
			'"n":[1e999,-1e999,-0,-0.0,1E400,12345678901234567890,0.1e-400,1.0,100000000000000000000000,4294967296,1700000000000]',
		),
	// Keys that JavaScript sorts or treats specially.
	(_, json) => append(json, '"10":1,"2":2,"__proto__":{"a":1},"k":{"5":1,"b":2,"1":3,"__proto__":[]}'),
	// Deeper than any parser's recursion limit.
	(r, json) => append(json, `"deep":${deep(r.pick([127, 129, 400, 1200]))}`),
	// Half of a surrogate pair as an escape, which is often the end of a truncated text.
	(_, json) => append(json, '"cut":"\\ud83d","low":"\\udc00x","pair":"\\ud83d\\ude00","key\\ud83d":1'),
	(_, json) => json.replaceAll('"text":"', '"text":"\\ud83d').replaceAll('"summary":"', '"summary":"\\udfff'),
	// Raw separators, which end lines in other programs.
	(_, json) => append(json, '"sep":"\u2028 raw \u2029 \u0085 \ufeff"'),
	(_, json) => append(json, '"esc":"\\u2028\\u0000\\/\\b\\f\\n\\r\\t\\u007f"'),
	// Long enough for a body that is parsed at its first use.
	(r, json) => append(json, `"long":"${r.hex(64).repeat(80)}\\ud83d\\\\"`),
];

function deep(depth: number): string {
	return depth % 2 ? `${"[".repeat(depth)}1${"]".repeat(depth)}` : `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
}

/** Byte sequences that are not UTF-8: each becomes one or more U+FFFD, and the line is still valid. */
const NOT_UTF8 = [
	[0xff],
	[0xc3],
	[0xe2, 0x82],
	[0xf0, 0x9f, 0x98],
	[0xed, 0xa0, 0xbd],
	[0xc0, 0xaf],
	[0x80, 0x80],
	[0xf8, 0x88, 0x80, 0x80, 0x80],
	[0xe2, 0x28, 0xa1],
];

/** The value as a line. JSON.parse reads it as that value, except for the fields that it adds. */
export function hostileText(r: Random, value: Fields): Buffer {
	let json = JSON.stringify(value);
	for (let i = r.between(1, 2); i > 0; i--) {
		const rewritten = r.pick(REWRITES)(r, json, value);
		// Rewrites that begin with the value may be second. The others may find nothing to change.
		if (isSameEntry(rewritten, value)) json = rewritten;
	}
	const bytes = Buffer.from(json);
	if (!r.chance(0.15)) return bytes;
	const field = Buffer.concat([
		Buffer.from(',"raw":"a'),
		...r
			.shuffle(NOT_UTF8)
			.slice(0, 3)
			.map((x) => Buffer.from(x)),
		Buffer.from('"}'),
	]);
	return Buffer.concat([bytes.subarray(0, bytes.lastIndexOf("}")), field]);
}

/**
 * After a rewrite the line must be valid, and the entry must have the same place in the tree: no duplicate ids, no
 * cycles.
 */
function isSameEntry(json: string, value: Fields): boolean {
	try {
		const parsed = JSON.parse(json) as Fields;
		return (["type", "id", "parentId"] as const).every(
			(key) => JSON.stringify(parsed[key]) === JSON.stringify(value[key]),
		);
	} catch {
		// The second rewrite did not fit the result of the first.
		return false;
	}
}

const JUNK: readonly (string | Buffer)[] = [
	"",
	" ",
	"\t \r",
	"\u00a0",
	"\ufeff",
	"{",
	"}",
	'{"type":"message","id":"torn0001","parentId":null,"message":{"role":"user","content":"cut her',
	'{"type":"label","id":"torn0002",}',
	"{'type':'message'}",
	'{"type":"message","id":"torn0003"} trailing',
	'{"type":"message","id":"torn0004"}{"type":"message","id":"torn0005"}',
	'{"type":"message","id":"torn0006","text":"raw \u0001 control"}',
	'{"type":"message","id":"torn0007","text":"bad \\x escape"}',
	'{"type":"message","id":"torn0008","n":01}',
	'{"type":"message","id":"torn0009","n":NaN}',
	'\ufeff{"type":"message","id":"torn0010"}',
	'{"type":"message","id":"torn0011"}\u00a0',
	'{"type":"message","id":"torn0012"}\u2028',
	'// {"type":"message"}',
	"undefined",
	"nul",
	Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
	Buffer.from([0x00, 0x00, 0x00]),
	"\u0000".repeat(64),
];

/** A line that is not JSON. */
export function junkLine(r: Random): Buffer {
	const junk = r.pick(JUNK);
	return typeof junk === "string" ? Buffer.from(junk) : junk;
}

/**
 * A line of valid JSON that is not an entry. In versions whose migration assigns ids, an object without an id is an
 * entry.
 */
export function nonEntryLine(r: Random, migrationGivesIds: boolean): Buffer {
	const values = ["5", '"text"', "true", "[]", '[{"type":"message","id":"inarray0"}]', "1e999"];
	const objects = [
		'{"type":"custom","data":1}',
		'{"type":"custom","id":5,"parentId":null}',
		'{"type":"label","id":null,"targetId":"x","label":"y"}',
		"{}",
		'{"id":["a"],"type":"compaction"}',
	];
	return Buffer.from(r.pick(migrationGivesIds ? values : [...values, ...objects]));
}
