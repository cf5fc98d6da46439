// Memory of managers that are dropped, and of entries that are appended. A million: `npm run leaks`.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

test("20,000 managers opened, read and dropped at flat memory; 100,000 appends at a few hundred bytes each", () => {
	const script = join(__dirname, "leaks.mjs");
	const out = execFileSync(process.execPath, ["--expose-gc", script, "20000", "100000"], { encoding: "utf8" });
	const told = JSON.parse(out.trim().split("\n").at(-1) as string);
	console.log(`memory: ${out.trim()}`);
	expect(told.managers).toBe(20_000);
	expect(told.count).toBe(100_000);
	// 15,000 managers of 30 KB each would be 450 MB.
	expect(told.growthMB).toBeLessThan(40);
	expect(told.heapGrowthMB).toBeLessThan(5);
	expect(told.bytesPerEntry).toBeLessThan(1_500);
});
