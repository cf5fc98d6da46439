// Installs the JavaScript runtimes of the tests from npm packages with their binaries. They are not dependencies of the
// root package, because a `node` in its `node_modules/.bin` would run every script.
//   node scripts/runtimes/setup.mjs [name…]     installs missing runtimes (by default all) and shows the versions
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMain } from "../is-main.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const { platform, arch } = process;
const isWindows = platform === "win32";
const exe = isWindows ? ".exe" : "";

const node = (version) => ({
	version,
	package: `node-${isWindows ? "win" : platform}-${arch}`,
	binary: `bin/node${exe}`,
	args: [],
});

/**
 * For each runtime: its release, its npm package for this platform, the binary in it, and the arguments that run a
 * script.
 */
export const RUNTIMES = {
	node20: node("20.20.2"),
	node22: node("22.23.3"),
	node24: node("24.21.0"),
	node26: node("26.10.0"),
	bun: {
		version: "1.4.5",
		package: `@oven/bun-${isWindows ? "windows" : platform}-${arch === "arm64" ? "aarch64" : arch}`,
		binary: `bin/bun${exe}`,
		// Otherwise Bun runs scripts with a line `#!/usr/bin/env node` by Node.
		args: ["--bun"],
	},
	deno: {
		version: "2.9.6",
		package: `@deno/${platform}-${arch}${platform === "linux" ? "-glibc" : ""}`,
		binary: `deno${exe}`,
		args: ["run", "--allow-all"],
	},
};

const binaryOf = (name) => {
	const { version, package: from, binary } = RUNTIMES[name];
	return join(here, "installed", `${name}-${version}`, "node_modules", from, binary);
};

/** Installs a runtime if it is missing. Returns its command as `{ binary, args }`. */
export function setup(name) {
	if (!RUNTIMES[name]) throw new Error(`Unknown runtime ${name}. Runtimes are ${Object.keys(RUNTIMES).join(", ")}`);
	const { version, package: from, args } = RUNTIMES[name];
	const binary = binaryOf(name);
	if (!existsSync(binary)) {
		const dir = join(here, "installed", `${name}-${version}`);
		mkdirSync(dir, { recursive: true });
		// With a package.json, because npm would otherwise look for one in the directories above.
		writeFileSync(join(dir, "package.json"), `${JSON.stringify({ private: true })}\n`);
		const install = ["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", `${from}@${version}`];
		execFileSync("npm", install, { cwd: dir, stdio: ["ignore", "ignore", "inherit"], shell: isWindows });
	}
	const said = execFileSync(binary, ["--version"], { encoding: "utf8" });
	if (!said.includes(version)) throw new Error(`${binary} is not ${name} ${version}: ${said}`);
	return { binary, args };
}

if (isMain(import.meta.url)) {
	const names = process.argv.slice(2);
	for (const name of names.length > 0 ? names : Object.keys(RUNTIMES)) {
		setup(name);
		console.log(`${name} ${RUNTIMES[name].version} is ready`);
	}
}
