// Prepares a fresh clone: installs packages and builds the release addon, if they are missing or stale.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { install } from "../install.mjs";
import { root } from "./pi.mjs";

const modified = (path) => statSync(join(root, path)).mtimeMs;

function npm(args, failure) {
	console.log(`> npm ${args.join(" ")}`);
	const { status, error } = spawnSync("npm", args, {
		cwd: root,
		stdio: "inherit",
		shell: process.platform === "win32",
	});
	if (error || status !== 0) throw new Error(`${failure}${error ? `: ${error.message}` : ""}`);
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
	if (install() !== 0) throw new Error("The packages could not be installed");
	if (addonIsStale()) npm(["run", "build"], "The addon did not build; it needs Rust (https://rustup.rs)");
}
