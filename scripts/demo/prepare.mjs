// Makes a fresh clone ready to run, doing only what is missing or stale: the packages, the release addon.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { root } from "./pi.mjs";

const modified = (path) => statSync(join(root, path)).mtimeMs;

function npm(args, failure) {
	console.log(`> npm ${args.join(" ")}`);
	const { status, error } = spawnSync("npm", args, { cwd: root, stdio: "inherit" });
	if (error || status !== 0) throw new Error(`${failure}${error ? `: ${error.message}` : ""}`);
}

/** npm leaves its own copy of the lock file behind: none, or one older than ours, means an install is due. */
function packagesAreStale() {
	const installed = "node_modules/.package-lock.json";
	return !existsSync(join(root, installed)) || modified(installed) < modified("package-lock.json");
}

function addonIsStale() {
	const prefix = `pi-session-native.${process.platform}-${process.arch}`;
	const addons = readdirSync(root).filter((name) => name.startsWith(prefix) && name.endsWith(".node"));
	if (addons.length === 0 || !existsSync(join(root, "index.js"))) return true;
	const sources = readdirSync(join(root, "src"), { recursive: true }).map((name) => join("src", name));
	const newest = Math.max(...[...sources, "Cargo.toml", "Cargo.lock", "build.rs"].map(modified));
	return Math.min(...addons.map(modified)) < newest;
}

export function prepareModule() {
	if (packagesAreStale()) npm(["ci", "--no-audit", "--no-fund"], "npm ci failed");
	if (addonIsStale()) npm(["run", "build"], "The addon did not build; it needs Rust (https://rustup.rs)");
}
