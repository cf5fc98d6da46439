// Runs each fuzz target for a number of seconds. Inputs with a new effect, and inputs that fail, are added to the
// corpus in crates/session-core/fuzz/corpus:
//   npm run fuzz -- --seconds 600 --seed 1 --target open
import { spawnSync } from "node:child_process";
import { optionsOf } from "./options.mjs";

const TARGETS = ["lines", "open", "operations", "repair"];
const { values } = optionsOf(
	import.meta.url,
	{
		options: { seconds: { type: "string" }, seed: { type: "string" }, target: { type: "string" } },
	},
	{ counts: ["seconds"], whole: ["seed"], oneOf: { target: TARGETS } },
);
const seed = values.seed ?? Math.floor(Math.random() * 2 ** 31);
const env = { ...process.env, PSN_FUZZ_SECONDS: String(values.seconds ?? 300), PSN_FUZZ_SEED: String(seed) };
if (values.target) env.PSN_FUZZ_TARGET = values.target;
console.log(`fuzz: ${env.PSN_FUZZ_SECONDS} seconds each, seed ${seed}`);
// `npm test` checks that the planted bugs are found.
const args = [
	"test",
	"--locked",
	"--package",
	"pi-session-core",
	"--release",
	"fuzz::",
	"--",
	"--nocapture",
	"--skip",
	"planted",
];
process.exit(spawnSync("cargo", args, { env, stdio: "inherit" }).status ?? 1);
