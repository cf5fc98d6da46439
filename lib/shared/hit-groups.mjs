// Hits of a search by session: those of one follow each other.
import { counted } from "./text.mjs";

/** @typedef {import("../../index.js").SearchHit} SearchHit */

/** Whether a hit is the first of its session. @param {readonly SearchHit[]} hits @param {number} at */
export const isHitStart = (hits, at) => hits[at]?.path !== hits[at - 1]?.path;

/** Whether a hit is the last of its session. @param {readonly SearchHit[]} hits @param {number} at */
export const isHitEnd = (hits, at) => hits[at]?.path !== hits[at + 1]?.path;

/**
 * How many hits and sessions were found, in words. Where the search has ended because it had enough, there may be more.
 * @param {readonly SearchHit[]} hits
 * @param {boolean} isCut
 */
export function foundCounts(hits, isCut) {
	const first = hits.filter((_, at) => isHitStart(hits, at));
	const total = first.reduce((sum, { hitsInSession }) => sum + hitsInSession, 0);
	const least = isCut ? "at least " : "";
	return `${least}${counted(total, "hit")} in ${least}${counted(first.length, "session")}`;
}
