// Compares SessionManager.search with a plain reader, which parses every line and searches every text.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import type { SearchHit, SearchScope } from "../../../index.js";
import { Random } from "../../stress/differential/random.js";
import { api, type Json, ownAgent } from "../../support/scratch.js";

const { SessionManager } = api;
const seed = Number(process.env.PSN_SEED ?? 20251121);
const SCOPES = ["user", "assistant", "name", "summary", "tool", "thinking", "custom"] as const;

// ---- The plain reader --------------------------------------------------------------------------------------------

/** A text without the escape sequences of terminals. */
const withoutSequences = (text: string): string =>
	text.replace(
		/\u001b(?:\[[ -?]*[@-~]|[\]PX^_][^\0-\x1f\x7f]*(?:\x07|\u001b\\)|[()*+#%][0-9A-Z@]|[78=>cDEHMNOZ])/g,
		"",
	);

/** Folds upper and lower case, one character to one character. */
const fold = (text: string): string =>
	text.replace(/\p{Surrogate}/gu, "\ufffd").replace(/[\0-\x7f]+|[^\0-\x7f]/gu, (c) => {
		if (c <= "\x7f") return c.toLowerCase();
		if (c === "ı" || c === "İ") return c;
		const upper = [...c.toUpperCase()].length === 1 ? c.toUpperCase() : c;
		return [...upper.toLowerCase()].length === 1 ? upper.toLowerCase() : upper;
	});

const isObject = (value: unknown): value is Json =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** Every string in a value. */
function strings(value: unknown): string[] {
	if (typeof value === "string") return [value];
	if (Array.isArray(value)) return value.flatMap(strings);
	return isObject(value) ? Object.values(value).flatMap(strings) : [];
}

/** The texts of an entry, each with its scope. */
function textsOf(one: Json): [SearchScope, unknown][] {
	switch (one.type) {
		case "session_info":
			return [["name", one.name]];
		case "label":
			return [["name", one.label]];
		case "compaction":
		case "branch_summary":
			return [["summary", one.summary]];
		case "custom":
			return strings(one.data).map((text) => ["custom", text]);
		case "custom_message":
			return content(one.content, "custom");
		case "context_edit":
			return isObject(one.replacement) ? content(one.replacement.content, "custom") : [];
		case "message": {
			const message = isObject(one.message) ? one.message : {};
			if (message.role === "bashExecution")
				return [
					["tool", message.command],
					["tool", message.output],
				];
			const scopes: Record<string, SearchScope> = {
				user: "user",
				assistant: "assistant",
				toolResult: "tool",
				custom: "custom",
			};
			const scope = scopes[String(message.role)];
			const failure: [SearchScope, unknown][] = scope === "assistant" ? [["assistant", message.errorMessage]] : [];
			return scope === undefined ? [] : [...content(message.content, scope), ...failure];
		}
		default:
			return [];
	}
}

function content(value: unknown, scope: SearchScope): [SearchScope, unknown][] {
	if (typeof value === "string") return [[scope, value]];
	return (Array.isArray(value) ? value : []).filter(isObject).flatMap((block): [SearchScope, unknown][] => {
		if (block.type === "text") return [[scope, block.text]];
		if (scope !== "assistant") return [];
		if (block.type === "thinking") return [["thinking", block.thinking]];
		if (block.type !== "toolCall") return [];
		return [["tool", block.name], ...strings(block.arguments).map((text): [SearchScope, unknown] => ["tool", text])];
	});
}

/** An entry, by session and id, and its folded texts, each with its scope. */
interface PlainEntry {
	name: string;
	texts: [SearchScope, string][];
}

/** The entries of all sessions. */
function plainEntries(dir: string): PlainEntry[] {
	const entries: PlainEntry[] = [];
	for (const name of readdirSync(dir)) {
		let isHeader = true;
		for (const line of readFileSync(join(dir, name), "utf8").split("\n")) {
			let one: unknown;
			try {
				one = JSON.parse(line);
			} catch {
				continue;
			}
			if (isHeader) {
				isHeader = false;
				if (!isObject(one) || one.type !== "session" || typeof one.id !== "string") break;
				continue;
			}
			if (!isObject(one) || typeof one.id !== "string") continue;
			const texts = textsOf(one).flatMap(([scope, text]): [SearchScope, string][] =>
				typeof text === "string" ? [[scope, fold(withoutSequences(text))]] : [],
			);
			entries.push({ name: `${name} ${one.id}`, texts });
		}
	}
	return entries;
}

/** The entries that contain all words. */
function plainSearch(entries: PlainEntry[], words: string[], scopes: readonly SearchScope[]): string[] {
	const holds = ({ texts }: PlainEntry): boolean => {
		const searched = texts.filter(([scope]) => scopes.includes(scope));
		return searched.length > 0 && words.every((word) => searched.some(([, text]) => text.includes(word)));
	};
	return entries
		.filter(holds)
		.map(({ name }) => name)
		.sort();
}

// ---- Random sessions ---------------------------------------------------------------------------------------------

const PIECES = [
	"needle",
	"NEEDLE",
	"Nee",
	"dle",
	"ſs",
	"K\u212a",
	"Straße",
	"ΣΊΣΥΦΟς",
	"σ",
	"İı",
	"日本語",
	"🙂",
	"\ud83d",
	"\ufffd",
	'"',
	"\\",
	"/",
	"\n",
	"\t",
	"\u0000",
	"\u001b[31m",
	"\u001b[31m",
	"\u001b(B",
	"\u001b]8;;x\u0007",
	"\u001b]0;y\u001b\\",
	"\u001b[3",
	" ",
	" ",
	"a",
	"x1",
	"é",
	"É",
];
const ROLES = ["user", "assistant", "toolResult", "bashExecution", "custom", "system", "other"];

const text = (random: Random): string => Array.from({ length: random.int(8) }, () => random.pick(PIECES)).join("");

/** The JSON text of a string in one of many forms: some characters as escapes, in upper or lower case. */
function written(random: Random, value: string): string {
	const plain = JSON.stringify(value);
	if (random.int(3) > 0) return plain;
	const escaped = [...value].flatMap((c) => {
		if (random.int(3) > 0)
			return JSON.stringify(c)
				.slice(1, -1)
				.replace("/", random.int(2) ? "/" : "\\/");
		return c.split("").map((unit) => {
			const hex = unit.charCodeAt(0).toString(16).padStart(4, "0");
			return `\\u${random.int(2) ? hex : hex.toUpperCase()}`;
		});
	});
	return `"${escaped.join("")}"`;
}

/** JSON with its strings in one of many forms, and with white space. If it is plain, keys are written as by pi. */
function json(random: Random, value: unknown, isPlain: boolean): string {
	if (typeof value === "string") return written(random, value);
	const space = random.int(9) === 0 ? " " : "";
	if (Array.isArray(value)) return `[${space}${value.map((one) => json(random, one, isPlain)).join(",")}]`;
	if (!isObject(value)) return JSON.stringify(value);
	const keyOf = (key: string) => (isPlain ? JSON.stringify(key) : written(random, key));
	const members = Object.entries(value).map(([key, one]) => {
		const value = isPlain && (key === "type" || key === "role") ? JSON.stringify(one) : json(random, one, isPlain);
		return `${keyOf(key)}${space}:${value}`;
	});
	// If a key is repeated, its last value counts. (In nested values all count.)
	if (!isPlain && "type" in value && random.int(12) === 0)
		members.unshift(members[0]?.replace(/:.*$/s, ':"needle overwritten"') as string);
	return `{${members.join(`,${space}`)}}`;
}

function block(random: Random): unknown {
	return random.pick<unknown>([
		{ type: "text", text: text(random) },
		{ type: "thinking", thinking: text(random) },
		{
			type: "toolCall",
			id: "c",
			name: "bash",
			arguments: { command: text(random), list: [text(random), { deep: text(random) }, 7, null] },
		},
		{ type: "image", data: "needle", mimeType: "x" },
		{ type: "text", text: 7 },
		{ text: "needle without a type" },
		"needle",
		null,
	]);
}

function line(random: Random, id: string, isPlain: boolean): string {
	const said = (): unknown => random.pick<unknown>([text(random), [block(random), block(random), block(random)], null]);
	const one = random.pick<() => unknown>([
		() => ({
			type: "message",
			id,
			parentId: null,
			timestamp: "2025-01-01T00:00:00.000Z",
			message: { role: random.pick(ROLES), content: said(), command: text(random), output: text(random) },
		}),
		() => ({ type: "message", id, message: { content: said(), role: random.pick(ROLES) } }),
		() => ({
			type: "message",
			id,
			message: { errorMessage: random.pick<unknown>([text(random), 7]), role: random.pick(ROLES), content: [] },
		}),
		() => ({
			type: "context_edit",
			id,
			targetId: "m",
			replacement: random.pick<unknown>([{ content: said() }, { content: said() }, null, text(random)]),
		}),
		() => ({ type: "message", id, message: random.pick<unknown>(["needle", null, []]) }),
		() => ({ type: "session_info", id, name: text(random) }),
		() => ({ type: "label", id, targetId: "m", label: text(random) }),
		() => ({ type: "compaction", id, summary: text(random) }),
		() => ({ type: "branch_summary", id, summary: random.pick<unknown>([text(random), 5]) }),
		() => ({ type: "custom", id, customType: "needle", data: { some: [text(random)], more: text(random) } }),
		() => ({ type: "custom_message", id, content: said() }),
		() => ({ type: "needle", id, content: "needle" }),
		() => ({ type: "message", message: { role: "user", content: "needle without an id" } }),
		() => ["needle"],
	])();
	const whole = json(random, one, isPlain);
	// Damaged lines are not entries.
	return random.int(15) === 0 ? whole.slice(0, random.int(whole.length)) : whole;
}

function query(random: Random): string {
	const words = [
		"needle",
		"NEE",
		"dle",
		"ß",
		"straße",
		"STRASSE",
		"ΣΊΣ",
		"ς",
		"k",
		"ſ",
		"s",
		"İ",
		"ı",
		"i",
		"日本",
		"本",
		"🙂",
		"\ud83d",
		"\ufffd",
		'"',
		"\\",
		"/",
		"\u0000",
		"\u001b[31m",
		"\u001b[3",
		"ee\u001b[0mdle",
		"needledle",
		"n",
		"x1 needle",
		"É é",
		"needle σ",
	];
	return random.int(3) === 0 ? text(random) : random.pick(words);
}

/** The length of the pieces in which a search decodes a long text. */
const PIECE = 256 << 10;

/**
 * The JSON text of a long text in one of many forms. `edges` receives words that occur once, near the ends of the
 * pieces in which it is read.
 */
function longJson(random: Random, edges: string[]): string {
	const size = random.pick([60_000, 65_520, PIECE - 20, 2 * PIECE, 4 * PIECE - 20, 1_500_000]) + random.int(40);
	const inside: string[] = [];
	for (let length = 0; length < size; ) {
		const left = PIECE - (length % PIECE);
		const filler = random.pick(["x1 ", "a\\n", "so", "é", "日本", "\\u0061"]);
		const most = Math.max(0, left - 1 - random.int(12));
		const count = Math.min(random.int(40_000), most) / Buffer.byteLength(filler);
		const isAtEnd = most - Math.floor(count) * Buffer.byteLength(filler) < 8;
		const edge = isAtEnd ? `edge${1e8 + random.int(9e8)}` : "";
		if (isAtEnd) edges.push(edge);
		const piece =
			filler.repeat(count) +
			edge +
			Array.from({ length: 1 + random.int(5) }, () => written(random, random.pick(PIECES)).slice(1, -1)).join("");
		inside.push(piece);
		length += Buffer.byteLength(piece);
	}
	return `"${inside.join("")}"`;
}

/** A line with long texts. */
function longLine(random: Random, id: string, edges: string[]): string {
	const [one, other] = [
		longJson(random, edges),
		random.int(2) === 0 ? longJson(random, edges) : written(random, text(random)),
	];
	const message = (rest: string) => `{"type":"message","id":"${id}","message":{${rest}}}`;
	return random.pick([
		() => message(`"role":"user","content":${one}`),
		() => message(`"content":[{"type":"text","text":${one}},{"text":${other},"type":"text"}],"role":"toolResult"`),
		() =>
			message(
				`"role":"assistant","content":[{"type":"thinking","thinking":${one}},{"type":"text","text":${other}},{"type":"toolCall","name":"x","arguments":{"command":${one}}}]`,
			),
		() => `{"type":"custom","id":"${id}","data":{"some":[${one},7,[${other}]]}}`,
		() => `{"type":"compaction","summary":${one},"id":"${id}"}`,
	])();
}

/** The queries for random sessions. */
const questions = (random: Random, count: number) =>
	Array.from({ length: count }, () => {
		const text = query(random);
		const scopes = random.int(2) === 0 ? undefined : SCOPES.filter(() => random.int(2) === 0);
		return { text, scopes, phrase: random.int(4) === 0 };
	});

/** Compares the hits in a directory with the plain reader's. Returns their number. */
async function compare(dir: string, asked: ReturnType<typeof questions>, where: string): Promise<number> {
	const entries = plainEntries(dir);
	let found = 0;
	const firstMessages = new Map<string, string | undefined>();
	for (const { text, scopes, phrase } of asked) {
		const plain = withoutSequences(text);
		const words = (phrase ? [plain] : plain.split(/\s+/)).filter((word) => word.trim() !== "").map(fold);
		const options = { limit: Infinity, phrase, dedupe: false, ...(scopes ? { in: scopes } : {}) };
		const want =
			words.length === 0 ? [] : plainSearch(entries, words, scopes ?? ["user", "assistant", "name", "summary"]);
		const hits = await SessionManager.search(text, options);
		const got = hits.map((hit: SearchHit) => `${basename(hit.path)} ${hit.entryId}`).sort();
		found += got.length;
		expect(got, `${where}: ${JSON.stringify(text)} in ${scopes}`).toEqual(want);
		if (scopes) for (const hit of hits) expect(scopes).toContain(hit.in);
		for (const { path, firstMessage } of hits) firstMessages.set(path, firstMessage);
	}
	for (const { path, firstMessage } of await SessionManager.listAll()) {
		const want =
			firstMessage === "(no messages)"
				? undefined
				: [...withoutSequences(firstMessage.replace(/\p{Surrogate}/gu, "\ufffd"))].slice(0, 200).join("");
		if (firstMessages.has(path)) expect(firstMessages.get(path), where).toBe(want);
	}
	return found;
}

const head = (file: number): string =>
	JSON.stringify({ type: "session", version: 3, id: `s-${file}`, timestamp: "2025-01-01T00:00:00.000Z", cwd: "/p" });

/** A new agent's directory. */
function ownDir(): string {
	ownAgent();
	return api.getDefaultSessionDir("/p");
}

test("exactly the lines with the words are found, per scope", async () => {
	console.log(`seed ${seed}`);
	const random = new Random(seed);
	let found = 0;
	for (let round = 0; round < 8; round++) {
		const dir = ownDir();
		for (let file = 0; file < 12; file++) {
			// Some sessions have no unusual line.
			const isPlain = random.int(3) > 0;
			const lines = Array.from({ length: random.int(40) }, (_, n) => line(random, `e${file}x${n}`, isPlain));
			const begin = random.pick([
				head(file),
				head(file),
				head(file),
				`torn\n${head(file)}`,
				'{"type":"message","id":"x","message":{"role":"user","content":"needle"}}',
			]);
			writeFileSync(join(dir, `${file}.jsonl`), [begin, ...lines].join("\n") + (random.int(2) ? "\n" : ""));
		}
		found += await compare(dir, questions(random, 30), `round ${round}`);
	}
	expect(found).toBeGreaterThan(1_000);
});

test("exactly the long lines with the words are found", async () => {
	console.log(`seed ${seed}`);
	const random = new Random(seed);
	const dir = ownDir();
	const edges: string[] = [];
	for (let file = 0; file < 2; file++) {
		const lines = Array.from({ length: 6 }, (_, n) => longLine(random, `e${file}x${n}`, edges));
		writeFileSync(join(dir, `${file}.jsonl`), [head(file), ...lines].join("\n") + (random.int(2) ? "\n" : ""));
	}
	const found = await compare(
		dir,
		[...questions(random, 4), ...edges.slice(0, 8).map((text) => ({ text, scopes: [...SCOPES], phrase: false }))],
		"long texts",
	);
	expect(found).toBeGreaterThan(20);
});
