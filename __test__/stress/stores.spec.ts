// A store in a directory under a crowd of processes.
import { test } from "vitest";
import { DirectoryStore } from "../../lib/store/index.js";
import { crowd } from "../support/crowd.js";
import { emptyDirectory } from "../support/lines.js";

test("processes of one host and of others write to one session, some of them killed: what was acknowledged is there once", async () => {
	const path = emptyDirectory();
	await crowd(path, new DirectoryStore({ path, host: "reader" }));
});
