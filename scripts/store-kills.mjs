// Kills machines that share a store, and disconnects them from it, at random moments. At the end it checks that no
// acknowledged entry is lost or duplicated, that no file contains a redacted text, and that all files have the same
// lines in the same order. Each round of 100 kills has its own session and seed:
//   npm run store-kills -- --kills 5000 --seed 1 --store postgres
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { count } from "../__test__/support/counts.mjs";
import { optionsOf } from "./options.mjs";
import { VITEST } from "./report.mjs";

const ROUND = 100;
/** The tests by store. */
const STORES = {
	directory: ["packages/sync/__test__/stress/store-kills.spec.ts", "directory"],
	postgres: ["packages/sync/__test__/end-to-end/kills.spec.ts", "PostgreSQL"],
	s3: ["packages/sync/__test__/end-to-end/kills.spec.ts", "bucket"],
};

const { values } = optionsOf(
	import.meta.url,
	{ options: { kills: { type: "string" }, seed: { type: "string" }, store: { type: "string" } } },
	{ counts: ["kills"], whole: ["seed"], oneOf: { store: Object.keys(STORES) } },
);
const { kills = count("store_kills", "long"), seed = Math.floor(Math.random() * 2 ** 31), store } = values;
const cwd = fileURLToPath(new URL("..", import.meta.url));
for (const [name, [file, title]] of Object.entries(STORES)) {
	if (store !== undefined && store !== name) continue;
	for (let done = 0, round = seed; done < kills; done += ROUND, round++) {
		const env = {
			...process.env,
			PSN_STORE_KILLS: String(Math.min(ROUND, kills - done)),
			PSN_SEED: String(round),
			PSN_STRICT: "1",
		};
		const { status } = spawnSync(process.execPath, [VITEST, "run", file, "-t", title, "--testTimeout", "0"], {
			cwd,
			env,
			stdio: "inherit",
		});
		if (status !== 0) process.exitCode = 1;
	}
}
