// Entries that were returned, changed in some way, and then copied to a new session. The new file, and the entries that
// are read from it, are the same as pi's after the same changes.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { SessionManager } from "../../../index.js";
import { CHANGES, FIXED } from "../../unit/lazy/changes.js";
import { type Look, openLazy, openReference, sampleFile, samples } from "../../unit/lazy/support.js";

const COUNT = samples().length;

/** Changes an entry, or its message, and returns the lines of the branch that is then created from the session. */
function branched(manager: SessionManager, at: number, ofMessage: boolean, change: Look, looked: boolean): unknown {
	const entries = manager.getEntries() as any[];
	const target = ofMessage ? entries[at].message : entries[at];
	if (target === undefined) return "none";
	if (looked) Object.values(target);
	try {
		change(target);
	} catch {
		// A change that fails half way keeps its first half. `changes.spec.ts` compares how it ends.
	}
	try {
		const file = manager.createBranchedSession(`e${COUNT - 1}`) as string;
		return [readFileSync(file, "utf8").split("\n").slice(1), JSON.stringify(manager.getEntries())];
	} catch (error) {
		return `thrown ${(error as Error).constructor.name}`;
	}
}

for (const looked of [false, true]) {
	describe(looked ? "after the first look" : "before the first look", () => {
		for (const [name, change] of Object.entries({ ...CHANGES, ...FIXED })) {
			test(name, () => {
				for (let at = 0; at < COUNT; at++) {
					for (const ofMessage of [false, true]) {
						const [ours, pis] = [openLazy, openReference].map((open) =>
							branched(open(sampleFile()), at, ofMessage, change, looked),
						);
						expect(ours, `${at} ${ofMessage}`).toEqual(pis);
					}
				}
			});
		}
	});
}
