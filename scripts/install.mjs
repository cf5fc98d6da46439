// Installs the packages of the lock file, unless they are installed.
//
// We do not use `npm ci`, because it refuses a lock file without the optional packages of other platforms, which some
// registries do not have. `npm install` uses the lock file's versions and hashes as well.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMain } from "./is-main.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/** Returns npm's exit code. */
export function install() {
	const stamp = createHash("sha256")
		.update(readFileSync(join(root, "package-lock.json")))
		.digest("hex");
	const stampFile = join(root, "node_modules/.stamp");
	if (existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp) return 0;
	// On Windows npm is a script, which only a shell can start.
	const options = { cwd: root, stdio: "inherit", shell: process.platform === "win32" };
	const { status, error } = spawnSync("npm", ["install", "--no-save", "--no-audit", "--no-fund"], options);
	if (error) throw error;
	if (status === 0) writeFileSync(stampFile, stamp);
	return status ?? 1;
}

if (isMain(import.meta.url)) process.exitCode = install();
