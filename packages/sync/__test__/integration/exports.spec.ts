// How programs load the package: `import` and `require` return one module.
import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import * as store from "../../lib/index.js";
import { library } from "../support/lines.js";

const run = promisify(execFile);
const names = (module: object) =>
	Object.keys(module)
		.filter((name) => name !== "default" && name !== "module.exports")
		.sort();
const print = async (flags: string[], code: string) =>
	(await run(process.execPath, [...flags, "-e", code], { cwd: dirname(library) })).stdout.trim();

test.each([["pi-session-sync", names(store)]])("%s is the same by import and by require", async (path, expected) => {
	expect(expected.length).toBeGreaterThan(0);
	const named = `import { createRequire } from "node:module"; import * as all from "${path}"; import { ${expected.join(", ")} } from "${path}";
		const required = createRequire(import.meta.url)("${path}");
		console.log([${expected.join(", ")}].every((one, at) => one !== undefined && one === required[${JSON.stringify(expected)}[at]]));`;
	expect(await print(["--input-type=module"], named)).toBe("true");
	expect(await print(["--input-type=commonjs"], `console.log(Object.keys(require("${path}")).sort().join())`)).toBe(
		expected.join(),
	);
});

test("addon and clients are loaded only when needed", async () => {
	const loaded = await print(
		["--input-type=commonjs"],
		`require("pi-session-sync"); console.log(Object.keys(require.cache).filter((path) => !/sync.lib/.test(path)).join())`,
	);
	expect(loaded).toBe("");
});
