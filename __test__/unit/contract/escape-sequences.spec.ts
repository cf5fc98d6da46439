// `withoutEscapeSequences`, and the same texts in `lib`: search, lists and all output follow one rule.
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { api, entry, header, message, root, scratch, user, writeSession } from "../../support/scratch.js";

const { SessionManager, withoutEscapeSequences } = api;
const { safeBlock, safeLine } = (await import(join(root, "lib/shared/text.mjs"))) as Record<
	"safeBlock" | "safeLine",
	(text: unknown) => string
>;

/** Texts, and their visible characters. */
const CASES = [
	["plain", "plain"],
	["\u001b[32m✓ \u001b[39mdone \u001b[33m33\u001b[39m\u001b[1mms", "✓ done 33ms"],
	["\u001b]0;my title\u0007x", "x"],
	["\u001b]8;;https://a.b/c?q=(1)\u001b\\link\u001b]8;;\u001b\\", "link"],
	["\u001b[38:2::1:2:3mx", "x"],
	["\u001b[>4;1mx", "x"],
	["\u001bPq#0\u001b\\é", "é"],
	["\u001b(B\u001b7x", "x"],
	["\u001b[38;2;1;2;3mx\u001b[0m\u001b[?25l\u001b[2J", "x"],
];

describe("escape sequences", () => {
	// Regression: search removed them, but all output contained parts of them.
	test.each(CASES)("%j is read and shown as %j", async (text, plain) => {
		expect(withoutEscapeSequences(text)).toBe(plain);
		expect(safeBlock(text)).toBe(plain);
		expect(safeLine(`a\n${text}`)).toBe(`a ${plain}`);
		const dir = scratch();
		writeSession(dir, [header(), message("a", null, user(`needle${text}`)), entry("session_info", "b", "a", {})]);
		const [hit] = await SessionManager.search(`needle${plain}`, { sessionDir: dir, phrase: true, mark: ["", ""] });
		expect(hit?.snippet).toBe(`needle${plain}`);
	});

	test.each([
		["\u009b31mred", "\u009b31mred", "\\x9b31mred"],
		["cut \u001b[3", "cut \u001b[3", "cut ␛[3"],
		["\u001b]0;title\nx\u0007", "\u001b]0;title\nx\u0007", "␛]0;title\nx␇"],
		["\u001b[1m\ud800", "\ud800", "\ufffd"],
		["\u001b[3é", "\u001b[3é", "␛[3é"],
		["\u001b text \u001b", "\u001b text \u001b", "␛ text ␛"],
		["\u001b\u001b[1mx", "\u001bx", "␛x"],
	])("%j is text, which is shown and does nothing", (text, plain, shown) => {
		expect(withoutEscapeSequences(text)).toBe(plain);
		expect(safeBlock(text)).toBe(shown);
		expect(safeLine(text)).toBe(shown.replace("\n", " "));
	});
});
