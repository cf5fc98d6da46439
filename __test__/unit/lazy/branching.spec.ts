// A path as a session of its own, made of entries that somebody holds.
import { expect, test } from "vitest";
import { shape } from "../../support/scratch.js";
import { openLazy, Reference, sampleFile, waiting } from "./support.js";

test("createBranchedSession reads no large value of entries that were handed out and left alone", () => {
	const manager = openLazy(sampleFile());
	const held = manager.getEntries();
	const before = held.map((one) => waiting(one).join(" "));
	const path = manager.createBranchedSession("e12") as string;
	expect(held.map((one) => waiting(one).join(" "))).toEqual(before);
	const [all, copied] = [held.slice(0, 13), manager.getEntries()];
	expect(copied.map((one) => waiting(one).join(" "))).toEqual(before.slice(0, 13));
	expect(copied.map(shape)).toEqual(all.map(shape));
	expect(Reference.open(path).getEntries().map(shape)).toEqual(all.map(shape));
});
