// The output of `pi-sessions export`, as a Markdown reader shows it.
import { createRequire } from "node:module";
import { type DefaultTreeAdapterTypes, parse } from "parse5";
import { expect, test } from "vitest";
import { Random } from "../../stress/differential/random.js";
import { good, put, world } from "../../support/cli.js";
import { assistant, type Json, message, user } from "../../support/scratch.js";

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

const conversation = (texts: readonly string[]): Json[] =>
	texts.map((text, index) =>
		message(`m${index}`, index === 0 ? null : `m${index - 1}`, index % 2 === 0 ? user(text) : assistant(text)),
	);
const quoted = (text: string): string => `> ${text.replaceAll("\n", "\n> ")}`;
const names = (texts: readonly string[]): string[] => [
	"Session",
	...texts.map((_, index) => (index % 2 === 0 ? "User" : "Assistant")),
];

/** Exports messages of a user, each before an answer that it must not hide. Returns a part for each message. */
async function sectionsOf(texts: readonly string[]): Promise<string[]> {
	const at = world();
	put(at, "s-random", conversation(texts.flatMap((text) => [text, "after"])));
	const sections = (await good(at, ["export"])).split(/(?<=\n\n## Assistant\n\n> after\n)/);
	expect(sections.length).toBe(texts.length);
	return sections;
}

// Regression: it hid the rest.
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
	["a text field", "<textarea>"],
	["a title", "<title>"],
	["a style", "<style>* { display: none }"],
	["a template", "see <template>"],
])("%s that a text leaves open ends with the text", async (_, text) => {
	const at = world();
	const texts = ["begin", text, "after", "the end"];
	put(at, "s-open", conversation(texts));
	const out = await good(at, ["export"]);
	expect(headings(out)).toEqual(names(texts));
	expect(foreign(out)).toEqual([]);
	expect(out).toContain(`\n\n${quoted(text.replace(/<(?=[a-z!?])/gi, "&lt;"))}\n\n`);
});

// Regression: they looked like another speaker's.
test.each([
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
])("%s in a text is text", async (_, text) => {
	const at = world();
	put(at, "s-tags", conversation(["begin", text, "after"]));
	const out = await good(at, ["export"]);
	expect(headings(out)).toEqual(names(["", "", ""]));
	expect(foreign(out)).toEqual([]);
});

test.each([
	["a fence", "so:\n\n```html\n<b>\n```\n\n<b>", "so:\n\n```html\n<b>\n```\n\n&lt;b>"],
	["a fence in a list", "1. so:\n   ```html\n   <b>\n   ```\n2. <b>", "1. so:\n   ```html\n   <b>\n   ```\n2. &lt;b>"],
	[
		"a fence deep in a list",
		"10. so:\n\n    ```\n    <b>\n    ```\n\n<b>",
		"10. so:\n\n    ```\n    <b>\n    ```\n\n&lt;b>",
	],
	["a line", "a `Vec<u8>` and ``<`b``, <b>", "a `Vec<u8>` and ``<`b``, &lt;b>"],
	["no code", "a < b, a <- b, <https://a.b/c>, \\<b>", "a < b, a <- b, <https://a.b/c>, &lt;b>"],
])("code in %s stays as it is", async (_, text, shown) => {
	const at = world();
	put(at, "s-code", conversation([text]));
	expect(await good(at, ["export"])).toContain(`\n\n${quoted(shown)}\n`);
});

test("no HTML of a text stays HTML in any context", async () => {
	const seed = Number(process.env.PSN_SEED ?? 20_260_102);
	const random = new Random(seed);
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
	const texts = Array.from({ length: 3000 }, () => Array.from({ length: 1 + random.int(8) }, line).join("\n"));
	const sections = await sectionsOf(texts);
	const isWrong = (page: string) =>
		foreign(page).length > 0 || !/^(?:Session,)?User,Assistant$/.test(headings(page).join());
	const wrong = texts.filter((_, at) => isWrong(sections[at] as string)).map((text) => JSON.stringify(text));
	expect({ seed, wrong: wrong.sort((a, b) => a.length - b.length).slice(0, 5) }).toEqual({ seed, wrong: [] });
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
])("%s in a text stays inside its quotation", async (_, text) => {
	const at = world();
	put(at, "s-whole", conversation(["begin", text, "after"]));
	const out = await good(at, ["export"]);
	expect(out).toContain(
		`## Assistant\n\n${quoted(text.replaceAll("\r", "␍").replace("and <!--", "and &lt;!--"))}\n\n## User\n\n> after\n`,
	);
	expect(headings(out)).toEqual(names(["", "", ""]));
});

// Regression: a line of quotation marks ended the export, and a line of list markers took more than a minute.
test.each([
	["a line of quotation marks does not end the export", ">".repeat(20_000)],
	["a line of marks of items is written at once", `${"* ".repeat(200_000)}x`],
	["a line of backslashes is written at once", `${"\\".repeat(300_000)} x < y`],
])("%s", async (_, text) => {
	const at = world();
	put(at, "s-marks", conversation(["begin", text, "after"]));
	const out = await good(at, ["export"]);
	expect(out).toContain(`\n> ${text}\n`);
	expect(out.endsWith("## User\n\n> after\n")).toBe(true);
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

test("whatever lines follow each other, the headings after them stand", async () => {
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
	];
	const texts = Array.from({ length: 2000 }, () =>
		Array.from({ length: 1 + random.int(7) }, () => random.pick(pieces)).join("\n"),
	);
	const wrong = (await sectionsOf(texts))
		.filter((section) => headings(section).at(-1) !== "Assistant" || foreign(section).length > 0)
		.map((section) => JSON.stringify(section));
	expect({ seed, wrong }).toEqual({ seed, wrong: [] });
});
