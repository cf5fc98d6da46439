// What the pages that the command writes have in common: their parts, and escaping and content security policies.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { UsageError } from "./errors.mjs";
import { outputPath } from "./session-dir.mjs";

/** @param {string} name */
export const part = (name) => readFileSync(new URL(`./page/${name}`, import.meta.url), "utf8");

/** @param {string} text */
export const escaped = (text) => text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);

/** @param {string} text of an inline script or style, as a policy names it */
export const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/**
 * The file that `--html` names; undefined if it names none.
 * @param {string | true | undefined} option
 * @returns {string | undefined}
 */
export function pageFile(option) {
	if (typeof option !== "string") return undefined;
	// A session after --html is taken for its value.
	if (option !== "-" && !/\.html?$/i.test(option)) throw new UsageError(`--html expects a file name that ends in .html, got ${JSON.stringify(option)}. Put the session before --html`);
	return outputPath(option);
}

/**
 * Refuses options that say something of the page, where none is written.
 * @param {string | true | undefined} html
 * @param {Record<string, unknown>} options by their names
 */
export function refuseWithoutPage(html, options) {
	const given = Object.keys(options).find((name) => options[name] !== undefined);
	if (html === undefined && given !== undefined) throw new UsageError(`--${given} needs --html`);
}
