// Windows paths on any system: the results of Node's `path.win32` and of pi are committed, and the core's tests read
// them.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { loadReference } from "../../support/reference.js";
import { runtime } from "../../support/runtime.js";
import { root } from "../../support/scratch.js";

test.runIf(runtime === "node")("the core's tests expect the paths of Node and pi", async () => {
	await loadReference();
	const pi = ["core/session-manager.js", "utils/paths.js"].map(
		(file) => pathToFileURL(join(root, "scripts/reference/pi/dist", file)).href,
	);
	const lines = execFileSync(process.execPath, [join(root, "__test__/support/windows-paths.mjs"), ...pi], {
		encoding: "utf8",
	});
	await expect(lines).toMatchFileSnapshot(join(root, "crates/session-core/src/base/path_syntax/windows.jsonl"));
});
