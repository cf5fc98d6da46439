// The code blocks of the documentation.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "../../support/scratch.js";

export interface Block {
	/** Path below the root. */
	file: string;
	/** Where its code begins, from 1. */
	line: number;
	language: string;
	code: string;
}

/** Where pages lead to other pages: links, and files that are named in the text. */
const LED = /\]\(([^)\s#]+\.md)\b|`([\w/.-]+\.md)`/g;

/**
 * Every page of documentation that people are led to from the first one, and those of the packages. The notices are
 * other people's texts, and so is whatever else may lie beside it.
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

/** The fenced blocks of a page, or of the comments in a file of TypeScript. */
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
/** What a block says it prints: `// → text`, line by line. */
export const printed = (code: string): string[] =>
	[...code.matchAll(/\/\/ → (.*)$/gm)].map(([, text]) => (text as string).trimEnd());
