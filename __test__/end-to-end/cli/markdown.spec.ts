// The output of `pi-sessions export`, as a Markdown reader shows it.
import { createRequire } from "node:module";
import { type DefaultTreeAdapterTypes, parse } from "parse5";
import { expect, test } from "vitest";
import { Random } from "../../stress/differential/random.js";
import { good, put, world } from "../../support/cli.js";
import { assistant, message, user } from "../../support/scratch.js";

type Node = DefaultTreeAdapterTypes.Node;

/** The used part of a Markdown reader's API. */
interface Reader {
	render(text: string): string;
}
const MarkdownIt = createRequire(__filename)("markdown-it") as new (options: { html: boolean }) => Reader;
const reader = new MarkdownIt({ html: true });

/** The nodes of the page that a browser creates from a text, each with its enclosing elements. */
function* nodesOf(text: string): Generator<[Node, string[]]> {
	const waiting: [Node, string[]][] = [[parse(reader.render(text)), []]];
	for (let next = waiting.pop(); next; next = waiting.pop()) {
		yield next;
		const [node, within] = next;
		if ("childNodes" in node)
			waiting.push(...node.childNodes.map((child): [Node, string[]] => [child, [node.nodeName, ...within]]).reverse());
	}
}

const textOf = (node: Node): string =>
	"value" in node ? node.value : "childNodes" in node ? node.childNodes.map(textOf).join("") : "";

/** The headings that are not inside another element. */
function headings(text: string): string[] {
	return [...nodesOf(text)]
		.filter(([{ nodeName }, within]) => /^h[1-6]$/.test(nodeName) && within[0] === "body")
		.map(([node]) => textOf(node));
}

/** The elements that Markdown creates. */
const MARKDOWN =
	/^(?:#document|#text|html|head|body|h[1-6]|p|blockquote|pre|code|em|strong|s|a|img|br|hr|ul|ol|li|table|thead|tbody|tr|th|td)$/;

/** The elements and comments of a page that came from HTML in the text. */
const foreign = (text: string): string[] =>
	[...nodesOf(text)].map(([{ nodeName }]) => nodeName).filter((name) => !MARKDOWN.test(name));

const quoted = (text: string): string => `> ${text.replaceAll("\n", "\n> ")}`;

/** The Markdown sections of an export, one for each text. In the exported conversation an answer follows each text. */
async function sectionsOf(texts: readonly string[]): Promise<string[]> {
	const at = world();
	const said = texts.flatMap((text) => [text, "after"]);
	const entries = said.map((text, index) =>
		message(`m${index}`, index === 0 ? null : `m${index - 1}`, index % 2 === 0 ? user(text) : assistant(text)),
	);
	put(at, "s-texts", entries);
	const out = await good(at, ["export"]);
	const sections = out.slice(out.indexOf("## User\n")).split(/(?<=\n\n## Assistant\n\n> after\n)/);
	expect(sections).toHaveLength(texts.length);
	return sections;
}

/** A section has the headings of its two speakers, and no HTML. */
const isWhole = (section: string): boolean =>
	headings(section).join() === "User,Assistant" && foreign(section).length === 0;

// Regression: they looked like another speaker's.
test("HTML in a text stays text", async () => {
	const texts = [
		["the end of a quotation", "</blockquote><h2>User</h2>\n\ndo it"],
		["a heading in a line", "so <h2>User</h2> do it"],
		["the end of everything", "</p></blockquote></body><h2>User</h2>"],
		["a tag behind code", "`a` <h2>User</h2> `b`"],
		["a tag between marks of code of two lines", "`a\nb` </blockquote><h2>User</h2> `c`"],
		["a tag after a backslash", "\\\\<h2>User</h2>"],
		["a tag behind the mark of a fence that ended with its item", "- ```\nx\n```\n</blockquote><h2>User</h2>\n```"],
		["a tag in a table", "a | b\n-|-\n` | </blockquote><h2>User</h2> | `"],
		["a tag after a link to code", "[x](`) </blockquote><h2>User</h2> (`)"],
		["a tag behind an address", "https://a.b/<h2>User</h2> and https://a.b/\\<h2>User</h2>"],
		["a tag in an item, below a blank line", "- a\n\n    </blockquote><h2>User</h2>"],
	] as const;
	const sections = await sectionsOf(texts.map(([, text]) => text));
	expect(texts.filter((_, index) => !isWhole(sections[index] as string)).map(([name]) => name)).toEqual([]);
});

test("code in a text stays unchanged", async () => {
	const texts = [
		["a fence", "so:\n\n```html\n<b>\n```\n\n<b>", "so:\n\n```html\n<b>\n```\n\n&lt;b>"],
		[
			"a fence in a list",
			"1. so:\n   ```html\n   <b>\n   ```\n2. <b>",
			"1. so:\n   ```html\n   <b>\n   ```\n2. &lt;b>",
		],
		[
			"a fence deep in a list",
			"10. so:\n\n    ```\n    <b>\n    ```\n\n<b>",
			"10. so:\n\n    ```\n    <b>\n    ```\n\n&lt;b>",
		],
		["a line", "a `Vec<u8>` and ``<`b``, <b>", "a `Vec<u8>` and ``<`b``, &lt;b>"],
		["no code", "a < b, a <- b, <https://a.b/c>, \\<b>", "a < b, a <- b, <https://a.b/c>, &lt;b>"],
	] as const;
	const sections = await sectionsOf(texts.map(([, text]) => text));
	for (const [index, [name, , shown]] of texts.entries())
		expect(sections[index], name).toContain(`## User\n\n${quoted(shown)}\n\n## Assistant`);
});

test("Markdown in a text stays inside its quotation", async () => {
	const texts = [
		["a fence that was ended", "```\ncode\n```"],
		["a fence in a list", "- one\n  ```\n  code"],
		["a fence in a list, below which the text goes on", "- one\n  ```\n  code\n\nbelow"],
		["a fence in a quotation", "> ```\n> code"],
		["code by its indent", "text\n\n    ```\n    <!-- x"],
		["marks in a line", "a ```b``` and <!-- c"],
		["a heading that pretends to be another speaker's", "so\n\n## User\n\ndo it"],
		["lines that end with a carriage return", "one\r## User\r```"],
		["a fence in a fence", "````\n```\n````"],
	] as const;
	const sections = await sectionsOf(texts.map(([, text]) => text));
	for (const [index, [name, text]] of texts.entries()) {
		const shown = text.replaceAll("\r", "␍").replace("and <!--", "and &lt;!--");
		expect(sections[index], name).toContain(`## User\n\n${quoted(shown)}\n\n## Assistant`);
		expect(headings(sections[index] as string), name).toEqual(["User", "Assistant"]);
	}
});

// Regression: a line of quotation marks ended the export, and a line of list markers took more than a minute.
test("long lines of marks are written at once", async () => {
	const texts = [">".repeat(20_000), `${"* ".repeat(200_000)}x`, `${"\\".repeat(300_000)} x < y`];
	const sections = await sectionsOf(texts);
	for (const [index, text] of texts.entries()) expect(sections[index]).toContain(`\n> ${text}\n`);
});

// Regression: the runs were the arguments of one call, which may have only some 120,000.
test("a fence is longer than each of 130,000 backtick runs", async () => {
	const at = world();
	const text = `${"``` x\n".repeat(130_000)}\`\`\`\`\` end`;
	const output = message("m1", "m0", {
		role: "toolResult",
		toolCallId: "c",
		toolName: "bash",
		content: [{ type: "text", text }],
		isError: false,
		timestamp: 1,
	});
	put(at, "s-runs", [message("m0", null, user("begin")), output, message("m2", "m1", assistant("after"))]);
	const out = await good(at, ["export", "--full"]);
	expect(out).toContain(`\n\`\`\`\`\`\`\n${text}\n\`\`\`\`\`\`\n\n## Assistant\n\n> after\n`);
});

// Regressions: an open fence, comment or tag swallowed the texts that follow, and HTML passed for another speaker's.
test("no text ends or swallows another, whatever its lines are", async () => {
	const seed = Number(process.env.PSN_SEED ?? 20_260_101);
	const random = new Random(seed);
	const pieces = [
		"```",
		"```js",
		"````",
		"~~~",
		"~~~ x`",
		"<!--",
		"<!-- a -->",
		"-->",
		"<script>",
		"</script>",
		"<pre class=x>",
		"text",
		"- item",
		"  - deeper",
		"1. one",
		"   more",
		"  ```",
		"   ```",
		"    ```",
		"    code",
		"> quote",
		"> ```",
		"",
		"-   ```",
		"- ```js",
		"\t```",
		"`in` ``` x",
		"***",
		"<?php",
		"?>",
		"<!DOCTYPE",
		"a > b",
		"<![CDATA[",
		"]]>",
		"10. ten",
		"<details>",
		"<div>x",
		"# title",
		"<textarea>",
		"<title>",
		"<style>* { display: none }",
		"see <template>",
	];
	const words = [
		"<x-a>",
		"</blockquote>",
		"<!-- ",
		"<h2>User</h2>",
		"<script>",
		"<?x ",
		"<![CDATA[",
		"`",
		"``",
		"`a`",
		"\\",
		" ",
		"|",
		"](",
		"[",
		"][",
		")",
		"(",
		'"',
		"https://a.b/",
		"www.a.b/",
		"<https://a",
		">",
		"x",
		"*",
		"&lt;b>",
		"\t",
		"\u00a0",
	];
	const starts = [
		"",
		"",
		"",
		" ",
		"  ",
		"   ",
		"    ",
		"     ",
		"\t",
		"- ",
		"1. ",
		"> ",
		">",
		"- - ",
		"   - ",
		"[^1]: ",
		"[`]: ",
		"# ",
		"| ",
		"-|-",
		"```",
		"~~~",
		"````",
		"  ```",
		"    ```",
		"- ```",
		"> ```",
		"10. ```",
		"\t```",
		"```js",
		"``` \u00a0",
		"  ~~~",
	];
	const line = (): string =>
		random.pick(starts) + Array.from({ length: random.int(5) }, () => random.pick(words)).join("");
	const texts = [
		...Array.from({ length: 2000 }, () => Array.from({ length: 1 + random.int(7) }, () => random.pick(pieces))),
		...Array.from({ length: 3000 }, () => Array.from({ length: 1 + random.int(8) }, line)),
	].map((lines) => lines.join("\n"));
	const sections = await sectionsOf(texts);
	const wrong = texts.filter((_, index) => !isWhole(sections[index] as string));
	expect({ seed, wrong: wrong.sort((a, b) => a.length - b.length).slice(0, 5) }).toEqual({ seed, wrong: [] });
});
