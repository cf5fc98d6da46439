// Files that are read as a whole, and names in them that are shown.
import { execFileSync } from "node:child_process";
import { symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
// @ts-expect-error: JavaScript without declarations
import { readExtensionSettings } from "../../../lib/extension/settings.mjs";
// @ts-expect-error: JavaScript without declarations
import { readSmall } from "../../../lib/shared/read-small.mjs";
import { scratch } from "../../support/scratch.js";
import { testIf } from "../../support/windows.js";

test("a file of at most the limit is read", () => {
	const path = join(scratch(), "file");
	writeFileSync(path, "x".repeat(200_000));
	expect(readSmall(path, 200_000).length).toBe(200_000);
	expect(() => readSmall(path, 199_999)).toThrow(`${path} has more than 199999 bytes`);
	truncateSync(path, 2 ** 40);
	expect(() => readSmall(path)).toThrow(`${path} has more than 1048576 bytes`);
	expect(() => readSmall(join(path, "none"))).toThrow(
		expect.objectContaining({ code: process.platform === "win32" ? "ENOENT" : "ENOTDIR" }),
	);
});

testIf(process.platform !== "win32", "Windows has no such pipes and devices")(
	"what is no regular file is not read",
	() => {
		const dir = scratch();
		execFileSync("mkfifo", [join(dir, "pipe")]);
		symlinkSync("/dev/zero", join(dir, "device"));
		for (const path of [dir, join(dir, "pipe"), join(dir, "device")])
			expect(() => readSmall(path)).toThrow(`${path} is not a regular file`);
	},
);

// Regression: they were shown with their escape sequences.
test("names of settings are shown without control characters", () => {
	const name = "a\u009b31m\u202eb";
	const warnings: string[] = [];
	readExtensionSettings({ getSettings: () => ({ "pi-session-native": { [name]: true } }) }, (text: string) =>
		warnings.push(text),
	);
	expect(warnings).toEqual([expect.stringContaining('unknown setting "a?31m?b"')]);
});
