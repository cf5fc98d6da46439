// A store in a directory that many processes use.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { DirectoryStore } from "../../lib/index.js";
import { crowd } from "../support/crowd.js";
import { emptyDirectory } from "../support/lines.js";

test("acknowledged lines of killed and other processes are stored once", async () => {
	const path = emptyDirectory();
	await crowd(path, new DirectoryStore({ path, host: "reader" }));
});

// Regression: two processes of one host used one name, and a quarter of the acknowledged lines was lost.
test("the same where files have no second names", async () => {
	const preload = join(emptyDirectory(), "without-links.cjs");
	writeFileSync(
		preload,
		`require("node:fs").promises.link = () => Promise.reject(Object.assign(new Error("not supported"), { code: "EPERM" }));`,
	);
	const path = emptyDirectory();
	await crowd(path, new DirectoryStore({ path, host: "reader" }), {
		...process.env,
		NODE_OPTIONS: `--require ${preload}`,
	});
});
