// The code blocks of the documentation.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "../../support/scratch.js";

export interface Block {
	/** The path below the root. */
	file: string;
	/** The line where its code begins, from 1. */
	line: number;
	language: string;
	code: string;
}

/** The references of pages to other pages: links, and files that the text names. */
const LED = /\]\(([^)\s#]+\.md)\b|`([\w/.-]+\.md)`/g;

/**
 * All pages of documentation that the first page leads to, and the pages of the packages. Other files beside them, such
 * as the notices, are texts of others.
 */
function reachable(): string[] {
	const found = new Set(["README.md"]);
	for (const page of found) {
		for (const [, link, named] of textOf(page).matchAll(LED)) {
			const path = link === undefined ? (named as string) : join(dirname(page), link);
			if (path !== "THIRD_PARTY_NOTICES.md" && existsSync(join(root, path))) found.add(path);
		}
	}
	return [...found, ...readdirSync(join(root, "npm")).map((name) => `npm/${name}/README.md`)].sort();
}

export const textOf = (page: string): string => readFileSync(join(root, page), "utf8");

export const pages: string[] = reachable();

/** The fenced blocks of a page, or of the comments in a TypeScript file. */
export function blocksOf(page: string): Block[] {
	const blocks: Block[] = [];
	let open: { fence: string; block: Block } | undefined;
	const text = page.endsWith(".ts") ? textOf(page).replace(/^\s*\* ?/gm, "") : textOf(page);
	for (const [index, line] of text.split("\n").entries()) {
		const [, fence, info = ""] = /^\s*(`{3,}|~{3,})\s*(\S*)/.exec(line) ?? [];
		if (open) {
			if (fence && info === "" && fence.startsWith(open.fence)) {
				blocks.push(open.block);
				open = undefined;
			} else open.block.code += `${line}\n`;
		} else if (fence) open = { fence, block: { file: page, line: index + 2, language: info, code: "" } };
	}
	if (open) throw new Error(`${page}:${open.block.line} the block has no end`);
	return blocks;
}

/** Also the examples in the comments of the declarations. */
export const allBlocks: Block[] = [...pages, "index.d.ts"].flatMap(blocksOf);
export const placeOf = ({ file, line }: Block): string => `${file}:${line}`;
/** The output that a block declares by `// → text`, line by line. */
export const printed = (code: string): string[] =>
	[...code.matchAll(/\/\/ → (.*)$/gm)].map(([, text]) => (text as string).trimEnd());
