// Checks the directory store with the suite for stores.
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { conformanceCases } from "../support/conformance.js";
import { batchOf, emptyDirectory, entry, logOf, openDirectory } from "../support/lines.js";

test.each(conformanceCases)("a directory: $name", async ({ run }) => {
	const path = emptyDirectory();
	const tear = async (session: string, host: string) => {
		appendFileSync(
			join(path, logOf(host, { session })),
			batchOf([entry("torn")], { session, host, clock: 9 }).subarray(0, -10),
		);
	};
	await run({ open: async (host) => openDirectory(path, host), tear });
});
