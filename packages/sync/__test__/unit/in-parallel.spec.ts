import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { library } from "../support/lines.js";

const { inParallel } = createRequire(library)("./base/in-parallel.js");

// Regression: they were started in spite of the failure.
test("after one item has failed, no others are begun", async () => {
	const begun: number[] = [];
	let goOn: () => void = () => {};
	const waits = new Promise<void>((resolve) => (goOn = resolve));
	const others: Promise<unknown>[] = [];
	const work = async (item: number) => {
		begun.push(item);
		if (item === 1) throw new Error("failed");
		others.push(waits);
		await waits;
	};
	await expect(inParallel([0, 1, 2, 3, 4], work, { limit: 3 })).rejects.toThrow("failed");
	goOn();
	await Promise.all(others);
	await new Promise(setImmediate);
	expect(begun).toEqual([0, 1, 2]);
});
