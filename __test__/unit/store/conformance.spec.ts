// The directory store, held to what every store must do.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, test } from "vitest";
import { conformanceCases } from "../../../lib/store/conformance.js";
import { DirectoryStore } from "../../../lib/store/index.js";

test.each(conformanceCases)("a directory: $name", async ({ run }) => {
	const path = mkdtempSync(join(tmpdir(), "psn-store-"));
	onTestFinished(() => rmSync(path, { recursive: true, force: true }));
	await run({ open: async (host) => new DirectoryStore({ path, host }) });
});
