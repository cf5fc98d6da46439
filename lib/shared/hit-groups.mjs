// Groups hits of a search by session. The hits of a session are adjacent.
import { counted } from "./text.mjs";

/** @typedef {import("../../index.js").SearchHit} SearchHit */

/** Whether a hit is the first of its session. @param {readonly SearchHit[]} hits @param {number} at */
export const isHitStart = (hits, at) => hits[at]?.path !== hits[at - 1]?.path;

/** Whether a hit is the last of its session. @param {readonly SearchHit[]} hits @param {number} at */
export const isHitEnd = (hits, at) => hits[at]?.path !== hits[at + 1]?.path;

/**
 * The numbers of hits and sessions as text, with "at least" if the search ended at its limit.
 * @param {readonly SearchHit[]} hits
 * @param {boolean} isCut
 */
export function foundCounts(hits, isCut) {
	const first = hits.filter((_, at) => isHitStart(hits, at));
	const total = first.reduce((sum, { hitsInSession }) => sum + hitsInSession, 0);
	const least = isCut ? "at least " : "";
	return `${least}${counted(total, "hit")} in ${least}${counted(first.length, "session")}`;
}
