// What `pi-sessions export` writes, as a reader of Markdown sees it.
import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { Random } from "../../stress/differential/random.js";
import { type Json, assistant, message, user } from "../../support/scratch.js";
import { good, put, world } from "../../support/cli.js";

/** What is used of a reader of Markdown. */
interface Reader {
	parse(text: string, env: object): { type: string; level: number; content: string }[];
}
const MarkdownIt = createRequire(__filename)("markdown-it") as new (options: { html: boolean }) => Reader;
const reader = new MarkdownIt({ html: true });

/** The headings that are no part of anything. */
function headings(text: string): string[] {
	const tokens = reader.parse(text, {});
	return tokens.flatMap(({ type, level }, at) => (type === "heading_open" && level === 0 ? [tokens[at + 1]?.content ?? ""] : []));
}

const conversation = (texts: readonly string[]): Json[] => texts.map((text, index) => message(`m${index}`, index === 0 ? null : `m${index - 1}`, index % 2 === 0 ? user(text) : assistant(text)));
const quoted = (text: string): string => `> ${text.replaceAll("\n", "\n> ")}`;
const names = (texts: readonly string[]): string[] => ["Session", ...texts.map((_, index) => (index % 2 === 0 ? "User" : "Assistant"))];

// Regression: it swallowed the rest.
test.each([
	["a fence", "look:\n```js\nlet x"],
	["a fence of tildes, longer ones in it", "~~~~\n~~~\n````"],
	["a fence that is named like its end", "```\ncode\n``` js"],
	["a comment", "text\n\n<!-- not now"],
	["a comment after a whole one", "<!-- a -->\n<!-- b\n\n```"],
	["a script", "<script>\nif (a < b)"],
	["a <pre>", "<pre class='x'>\n\n"],
	["an instruction", "<?php echo 1;"],
	["a declaration", "<!DOCTYPE html"],
	["CDATA", "<![CDATA[ x > y"],
])("%s that a text leaves open ends with the text", async (_, text) => {
	const at = world();
	const texts = ["begin", text, "after", "the end"];
	put(at, "s-open", conversation(texts));
	const out = await good(at, ["export"]);
	expect(headings(out)).toEqual(names(texts));
	expect(out).toContain(`\n\n${quoted(text)}\n\n`);
});

test.each([
	["a fence that was ended", "```\ncode\n```"],
	["a fence in a list", "- one\n  ```\n  code"],
	["a fence in a list, below which the text goes on", "- one\n  ```\n  code\n\nbelow"],
	["a fence in a quotation", "> ```\n> code"],
	["code by its indent", "text\n\n    ```\n    <!-- x"],
	["marks in a line", "a ```b``` and <!-- c"],
	["a heading that pretends to be another speaker's", "so\n\n## User\n\ndo it"],
	["lines that end with a carriage return", "one\r## User\r```"],
	["a fence in a fence", "````\n```\n````"],
])("a text is quoted and is no part of the structure with %s", async (_, text) => {
	const at = world();
	put(at, "s-whole", conversation(["begin", text, "after"]));
	const out = await good(at, ["export"]);
	expect(out).toContain(`## Assistant\n\n${quoted(text.replaceAll("\r", "␍"))}\n\n## User\n\n> after\n`);
	expect(headings(out)).toEqual(names(["", "", ""]));
});

// Regression: a line of quotation marks ended the export, and one of marks of items took a minute and more.
test.each([
	["a line of quotation marks does not end the export", ">".repeat(20_000)],
	["a line of marks of items is written at once", "* ".repeat(200_000) + "x"],
])("%s", async (_, text) => {
	const at = world();
	put(at, "s-marks", conversation(["begin", text, "after"]));
	const out = await good(at, ["export"]);
	expect(out).toContain(`\n> ${text}\n`);
	expect(out.endsWith("## User\n\n> after\n")).toBe(true);
});

// Regression: the runs were the arguments of one call, which can have some 120,000.
test("a text with very many runs of backticks is in a fence that is longer than each", async () => {
	const at = world();
	const text = `${"``` x\n".repeat(130_000)}\`\`\`\`\` end`;
	const output = message("m1", "m0", { role: "toolResult", toolCallId: "c", toolName: "bash", content: [{ type: "text", text }], isError: false, timestamp: 1 });
	put(at, "s-runs", [message("m0", null, user("begin")), output, message("m2", "m1", assistant("after"))]);
	const out = await good(at, ["export", "--full"]);
	expect(out).toContain(`\n\`\`\`\`\`\`\n${text}\n\`\`\`\`\`\`\n\n## Assistant\n\n> after\n`);
});

test("whatever lines follow each other, the headings after them stand", async () => {
	const seed = Number(process.env.PSN_SEED ?? 20_260_101);
	const random = new Random(seed);
	const pieces = ["```", "```js", "````", "~~~", "~~~ x`", "<!--", "<!-- a -->", "-->", "<script>", "</script>", "<pre class=x>", "text", "- item", "  - deeper", "1. one", "   more", "  ```", "   ```", "    ```", "    code", "> quote", "> ```", "", "-   ```", "- ```js", "\t```", "`in` ``` x", "***", "<?php", "?>", "<!DOCTYPE", "a > b", "<![CDATA[", "]]>", "10. ten", "<details>", "<div>x", "# title"];
	const texts = Array.from({ length: 2000 }, () => Array.from({ length: 1 + random.int(7) }, () => random.pick(pieces)).join("\n"));
	const at = world();
	// Each alone in front of one that must not be swallowed.
	const all = texts.flatMap((text) => [text, "after"]);
	put(at, "s-random", conversation(all));
	const out = await good(at, ["export"]);
	const sections = out.split(/(?<=\n\n## Assistant\n\n> after\n)/);
	expect(sections.length).toBe(texts.length);
	const wrong = sections.filter((section) => headings(section).at(-1) !== "Assistant").map((section) => JSON.stringify(section));
	expect({ seed, wrong }).toEqual({ seed, wrong: [] });
});
