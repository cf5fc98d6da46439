// The directory store, held to what every store must do.
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, test } from "vitest";
import { DirectoryStore } from "../../lib/index.js";
import { conformanceCases } from "../support/conformance.js";
import { library, logOf } from "../support/lines.js";

const { encodeBatch } = createRequire(library)("./logs/log-batches.js");

test.each(conformanceCases)("a directory: $name", async ({ run }) => {
	const path = mkdtempSync(join(tmpdir(), "psn-store-"));
	onTestFinished(() => rmSync(path, { recursive: true, force: true }));
	const tear = async (session: string, host: string) => {
		const { bytes } = encodeBatch({
			session,
			host,
			clock: 9,
			prev: "",
			lines: [Buffer.from('{"type":"message","id":"torn"}')],
		});
		appendFileSync(join(path, logOf(host, { session })), bytes.subarray(0, -10));
	};
	await run({ open: async (host) => new DirectoryStore({ path, host }), tear });
});
