// What the pages that the command writes have in common: their parts, and what keeps them safe.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** @param {string} name */
export const part = (name) => readFileSync(new URL(`./page/${name}`, import.meta.url), "utf8");

/** @param {string} text */
export const escaped = (text) => text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);

/** @param {string} text of an inline script or style, as a policy names it */
export const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
