// Memory of managers that are dropped, and of entries that are appended. A million: `npm run leaks`.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { count } from "../support/counts.mjs";

test("dropped managers leave no memory, appended entries little", () => {
	const script = join(__dirname, "leaks.mjs");
	const out = execFileSync(
		process.execPath,
		["--expose-gc", script, String(count("leak_managers")), String(count("leak_appends"))],
		{ encoding: "utf8" },
	);
	const told = JSON.parse(out.trim().split("\n").at(-1) as string);
	console.log(`memory: ${out.trim()}`);
	expect(told.count).toBe(count("leak_appends"));
	// The last three quarters of the managers. With a leak, 3,750 of 30 KB each would use 112 MB.
	expect(told.growthMB).toBeLessThan(40);
	expect(told.heapGrowthMB).toBeLessThan(5);
	expect(told.bytesPerEntry).toBeLessThan(1_500);
});
