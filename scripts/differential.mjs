// Runs the differential test with many cases, or repeats one case:
//   npm run differential -- --cases 20000 --seed 123
//   npm run differential -- --case operations:123456
// Without --seed it chooses a seed and prints it.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { count } from "../__test__/support/counts.mjs";
import { optionsOf } from "./options.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const { values } = optionsOf(
	import.meta.url,
	{
		options: { cases: { type: "string" }, seed: { type: "string" }, case: { type: "string" } },
	},
	{ counts: ["cases"], whole: ["seed"] },
);

const progress = mkdtempSync(join(tmpdir(), "differential-"));
const env = { ...process.env, PSN_PROGRESS: progress };
env.PSN_DIFFERENTIAL_CASES = String(values.cases ?? count("differential_cases", "long"));
const { seed = Math.floor(Math.random() * 2 ** 31) } = values;
env.PSN_SEED = String(seed);
if (values.case) env.PSN_CASE = values.case;

const vitest = join(root, "node_modules/vitest/vitest.mjs");
const { status } = spawnSync(process.execPath, [vitest, "run", "__test__/stress/differential"], {
	cwd: root,
	env,
	stdio: "inherit",
});
if (status !== 0) {
	for (const kind of readdirSync(progress)) {
		const seed = readFileSync(join(progress, kind), "utf8");
		if (seed !== "-1") console.log(`differential: not finished: ${kind}:${seed}`);
	}
}
rmSync(progress, { recursive: true, force: true });
const what = values.case ? `case ${values.case}` : `${env.PSN_DIFFERENTIAL_CASES} cases, seed ${seed}`;
console.log(`differential: ${what}: ${status === 0 ? "no difference" : "FAILED"}`);
process.exit(status ?? 1);
