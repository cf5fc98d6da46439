// Times of files, which differ between runtimes.
import { expect } from "vitest";
import type { SessionInfo } from "../../index.js";
import { runtime } from "./runtime.js";

/** Bun and Deno cut `stat().mtime` to whole milliseconds; Node rounds it, and so does this package everywhere. */
export const cutsTimes = runtime !== "node";

/** The times that `SessionInfo.modified` may have if it is the file's time, from the `mtimeMs` of this runtime. */
export const timesOf = (mtimeMs: number): number[] =>
	cutsTimes ? [Math.floor(mtimeMs), Math.floor(mtimeMs) + 1] : [Math.round(mtimeMs)];

const byPath = (a: SessionInfo, b: SessionInfo): number => (a.path < b.path ? -1 : 1);
const newestFirst = (infos: readonly SessionInfo[]): boolean =>
	infos.every((info, at) => at === 0 || Number(infos[at - 1]?.modified) >= Number(info.modified));

/**
 * Expects the same list from both. If the runtime cuts times, ours may be later by one millisecond, and sessions that
 * are so close may have another order.
 */
export function expectSameList(ours: SessionInfo[], theirs: SessionInfo[], about: string): void {
	if (!cutsTimes) {
		expect(ours, about).toEqual(theirs);
		return;
	}
	expect(newestFirst(ours), `${about}: newest first`).toBe(true);
	const wanted = [...theirs].sort(byPath);
	const given = [...ours].sort(byPath).map((info, at) => {
		const time = wanted[at]?.modified;
		const isNear = [0, 1].includes(Number(info.modified) - Number(time));
		return isNear ? { ...info, modified: time } : info;
	});
	expect(given, about).toEqual(wanted);
}
