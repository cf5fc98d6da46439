// What the library draws of a session for `show` is what the command draws itself, which it does where there are colours.
import { readFileSync, writeFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { Random } from "../../stress/differential/random.js";
import { count } from "../../support/counts.mjs";
import { type World, branched, good, lines, put, run, world } from "../../support/cli.js";
import { type Json, api, assistant, entry, message, toolResult, user } from "../../support/scratch.js";

/** Shows a session both ways and compares. Gives what was shown. */
async function same(at: World, args: string[], what: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
	const drawn = await good(at, ["show", ...args], env);
	const coloured = await good(at, ["show", ...args], { ...env, FORCE_COLOR: "1" });
	expect(coloured).not.toBe(drawn);
	const [found, expected] = [drawn, stripVTControlCharacters(coloured)].map((text) => text.split("\n")) as [string[], string[]];
	const first = expected.findIndex((line, index) => line !== found[index]);
	if (first >= 0 || found.length !== expected.length) {
		const near = (all: string[]) => all.slice(Math.max(0, first - 8), first + 4);
		expect({ what, first, lines: near(found) }).toEqual({ what, first, lines: near(expected) });
	}
	expect(found).toHaveLength(expected.length);
	return drawn;
}

/** What texts are made of: what is drawn as it is, and what a terminal must not get. */
const PIECES = ["word", "two words", " ", "  ", "\t", "\n", "\n\n", "\r\n", "\r", "\u2028", "\u2029", "é", "日本", "👍🏽", "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}", "\u001b[31mred\u001b[0m", "\u001b]0;t\u0007", "\u0000", "\u007f", "\u009b1m", "\u200b", "\u00ad", "\ufe0f", "\u202e", "\ud83d", "\udc00", "\ufffe", "\\n", "\\", '"', "/", "…", "x".repeat(150), "a line\n".repeat(250), "log\r\n".repeat(12), "\n".repeat(6)];
const SIMPLE = ["word", "two words", "\n", "\t", "é", "日本", "a line\n".repeat(250), "log\n".repeat(9), "{\"a\": 1}", "x".repeat(200)];

function someText(random: Random): string {
	const pieces = random.chance(0.9) ? SIMPLE : PIECES;
	return Array.from({ length: random.int(9) }, () => random.pick(pieces)).join("");
}

const ODD: unknown[] = [undefined, null, true, false, 0, 1.5, "", " ", "!", [], {}, { type: "text", text: "nested" }, "x".repeat(200)];
const orOdd = (random: Random, value: unknown): unknown => (random.chance(0.01) ? random.pick(ODD) : value);

function someArguments(random: Random): unknown {
	return random.pick<() => unknown>([
		() => ({ command: someText(random) }),
		() => ({ path: "src/main.rs", limit: random.int(500), all: true, none: null }),
		() => ({ b: 1, 2: "first", a: [1, "two", { c: [] }] }),
		() => ({ number: random.pick<number>([-0, -1, 0.5, 1e21, 1e-7, 123456789012345, 12345678901234567]) }),
		() => ({ [someText(random)]: someText(random), deep: [[[[[[[[[[1]]]]]]]]]] }),
		() => Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`key${at}`, "  "])),
		() => random.pick(ODD),
	])();
}

function someBlock(random: Random): unknown {
	return orOdd(random, random.pick<() => unknown>([
		() => simpleBlock(random),
		() => ({ type: "text", text: orOdd(random, someText(random)), textSignature: "signed" }),
		() => ({ text: someText(random), type: "text" }),
		() => ({ type: "thinking", thinking: orOdd(random, someText(random)), redacted: random.pick([undefined, false, true, "yes"]) }),
		() => ({ type: "toolCall", id: "c", name: orOdd(random, random.pick(["bash", "read file", "!", "日本", ""])), arguments: someArguments(random) }),
		() => ({ type: "image", mimeType: "image/png", data: "AAAA" }),
		() => ({ type: "a kind of later", some: someText(random) }),
	])());
}

const simpleBlock = (random: Random): Json =>
	random.pick<() => Json>([
		() => ({ type: "text", text: someText(random) }),
		() => ({ type: "thinking", thinking: someText(random), thinkingSignature: "signed" }),
		() => ({ type: "toolCall", id: "c", name: "read file", arguments: { command: someText(random), limit: random.int(500), all: true, none: null } }),
	])();

function someMessage(random: Random): Json {
	if (random.chance(0.3)) return toolResult(someText(random));
	if (random.chance(0.3)) return { ...assistant(), content: Array.from({ length: random.int(3) }, () => simpleBlock(random)) };
	const role = random.pick(["user", "assistant", "toolResult", "toolResult", "assistant", "bashExecution", "system", "custom", "a role of later"]);
	const content = random.chance(0.2) ? someText(random) : Array.from({ length: random.int(4) }, () => someBlock(random));
	const more = random.pick<Json>([{}, {}, {}, { stopReason: "aborted" }, { stopReason: "toolUse" }, { errorMessage: someText(random) }, { details: { some: "x".repeat(random.int(70_000)) } }]);
	return { role, content: orOdd(random, content), timestamp: 1, toolName: orOdd(random, random.pick(["bash", "read file", "", "x".repeat(101)])), isError: orOdd(random, random.chance(0.2)), command: "ls", output: someText(random), ...more };
}

/** A value as JSON, written in one of the ways that other programs have. */
function written(random: Random, value: unknown): string {
	const json = JSON.stringify(value);
	if (random.chance(0.7)) return json;
	if (random.chance(0.5)) return JSON.stringify(value, null, 1).replaceAll(/\n */g, " ");
	const escaped = (code: string) => `\\u${random.chance(0.5) ? code : code.toUpperCase()}`;
	return json.replace(/[^ -~]/g, (char) => escaped(char.charCodeAt(0).toString(16).padStart(4, "0"))).replaceAll("/", "\\/").replace(/\\./g, (found) => (found === "\\n" && random.chance(0.5) ? escaped("000a") : found));
}

function someSession(random: Random, size: number): string[] {
	const all: string[] = [];
	let parentId: string | null = null;
	for (let at = 0; at < size; at++) {
		const id: string = random.chance(0.03) ? `${someText(random).slice(0, 50)}${at}` : `id${at}`;
		const timestamp = random.chance(0.03) ? orOdd(random, someText(random)) : "2025-01-01T00:00:00.000Z";
		const body = random.chance(0.9) ? { type: "message", message: someMessage(random) } : random.pick<Json>([{ type: "label", targetId: parentId, label: someText(random) }, { type: "custom", customType: "c", data: someText(random) }, { type: "custom_message", customType: "c", content: someText(random) }, { type: "a type of later", some: someText(random) }, { type: "compaction", summary: someText(random), tokensBefore: 1 }]);
		all.push(written(random, { ...body, id, parentId, timestamp }));
		if (random.chance(0.02)) {
			// Keys that come twice.
			const twice = all.at(-1) as string;
			if (twice.startsWith('{"type":"message"')) all[all.length - 1] = `${twice.slice(0, -1)},"message":${written(random, someMessage(random))}}`;
		}
		parentId = id;
		if (random.chance(0.02)) all.push(random.pick(["no JSON", '{"type":"message","id":"torn","mess', "\u0000\u0000", "[1]"]));
	}
	return all;
}

test("what the library draws is what the command draws, whatever a session holds", async () => {
	const size = count("transcript_entries");
	const seed = Number(process.env.PSN_SEED ?? 20_250_101);
	const random = new Random(seed);
	const at = world();
	const path = put(at, "random", someSession(random, size));
	const manager = api.SessionManager.open(path);
	const { count: tried, parts } = manager.drawTranscript(undefined, { columns: 120 });
	expect(manager.getBranch().length).toBeGreaterThan(size * 0.9);
	// Many are drawn, and many are not.
	const others = parts.filter((part) => !(part instanceof Uint8Array)).length;
	expect(others).toBeGreaterThan(tried / 5);
	expect(tried - others).toBeGreaterThan(tried / 5);
	for (const columns of ["80", "257"]) {
		const what = `${size} entries of seed ${seed} in ${columns} columns`;
		await same(at, [path], what, { COLUMNS: columns });
		await same(at, [path, "--full"], `${what}, full`, { COLUMNS: columns });
	}
	// Lines that are no UTF-8.
	const bytes = readFileSync(path);
	for (let change = 0; change < size / 20; change++) bytes[random.int(bytes.length)] = 0x80 + random.int(0x80);
	writeFileSync(path, bytes);
	await same(at, [path], `${size} entries of seed ${seed} with bytes that are no UTF-8`);
}, 300_000);

test("each character is drawn as the command draws it", async () => {
	const at = world();
	const ranges = [[0x80, 0x3400], [0xa000, 0xa4d0], [0xd7f0, 0xe010], [0xf8f0, 0x10100], [0x1bc90, 0x1bcb0], [0x1d160, 0x1d190], [0x1f3f0, 0x1f600], [0xe0000, 0xe0200], [0xe0ff0, 0xe1010]] as const;
	const characters = ranges.flatMap(([from, to]) => Array.from({ length: to - from }, (_, more) => String.fromCodePoint(from + more)));
	const session = characters.map((character, index) => message(`i${index}`, index === 0 ? null : `i${index - 1}`, user(`${index} a${character}b`)));
	const shown = await same(at, [put(at, "characters", session)], "characters");
	expect(lines(shown).filter((line) => /^\d+ a/u.test(line)).length).toBeGreaterThan(characters.length - 10);
}, 120_000);

test("the branch of another leaf, and a session of one empty entry, are drawn", async () => {
	const at = world();
	const path = put(at, "branched", branched);
	expect(await same(at, [path], "branched")).toContain("    … 26 more lines (--full)");
	const other = await same(at, [path, "--leaf", "e4"], "another leaf");
	expect(other).toContain("Done with the first");
	expect(other).not.toContain("Both are mended");
	expect(await same(at, [put(at, "unnamed", [message("", null, user("no id"))])], "an empty id")).not.toContain("no id");
	expect((await run(at, ["show", put(at, "none", [])])).code).toBe(0);
});

/** What a run of `show` says, and the most memory that it had, in MB. */
async function peakOf(at: World, args: string[]): Promise<{ out: string; peak: number }> {
	const note = 'data:text/javascript,process.on("exit",()=>console.error(process.resourceUsage().maxRSS))';
	const { code, out, err } = await run(at, ["show", ...args], { NODE_OPTIONS: `--import=${encodeURI(note)}` });
	expect(code).toBe(0);
	return { out, peak: Number(err) / 1024 };
}

test("details of 200 MB, which are not shown, take no memory", async () => {
	const at = world();
	const details = "x".repeat(5 << 20);
	const session = Array.from({ length: 40 }, (_, index) => message(`d${index}`, index === 0 ? null : `d${index - 1}`, index % 2 ? assistant("Next") : { ...toolResult(`result ${index}`), details: { details } }));
	const small = await peakOf(at, [put(at, "small", branched)]);
	const large = await peakOf(at, [put(at, "details", session)]);
	expect(large.out).toContain("result 38");
	expect(large.peak - small.peak).toBeLessThan(60);
}, 120_000);
