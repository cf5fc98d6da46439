// Formats hits and their messages.
import { wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { age, safeBlock } from "../shared/text.mjs";

/** @typedef {import("../../index.js").SearchedSession} SearchedSession */

/**
 * @param {import("@earendil-works/pi-coding-agent").Theme} theme
 * @param {string} text
 */
export const mark = (theme, text) => theme.fg("warning", theme.bold(text));

/**
 * Wraps a text to a width, makes it safe for a terminal, and marks words in it.
 * @param {string} text
 * @param {RegExp | undefined} words
 * @param {number} width
 * @param {import("@earendil-works/pi-coding-agent").Theme} theme
 * @returns {{ line: string, isMarked: boolean }[]}
 */
export function markedLines(text, words, width, theme) {
	return safeBlock(text.toWellFormed())
		.replaceAll("\t", "    ")
		.split("\n")
		.flatMap((plain) => {
			if (plain === "") return [{ line: "", isMarked: false }];
			const line = words ? plain.replace(words, (found) => mark(theme, found)) : plain;
			if (line === plain) return wrapTextWithAnsi(line, width).map((part) => ({ line: part, isMarked: false }));
			return wrapTextWithAnsi(line, width).map((part) => ({ line: part, isMarked: part.includes("\x1b[") }));
		});
}

/** The title of a session, as in `/resume`. @param {SearchedSession} session */
export const titleOf = ({ name, firstMessage, id }) => name || firstMessage || id;

/** @param {{ timestamp: string }} hit */
export const ageOf = ({ timestamp }) => (Number.isNaN(Date.parse(timestamp)) ? "?" : age(new Date(timestamp)));
