// Installs the packages of the lock file, unless they are there already.
//
// Not by `npm ci`: it refuses a lock file that lacks optional packages of other platforms, and a registry that does not
// carry them cannot give a lock file with them. `npm install` keeps to the lock file's versions and hashes as well.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMain } from "./is-main.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/** Gives npm's exit code. */
export function install() {
	const stamp = createHash("sha256")
		.update(readFileSync(join(root, "package-lock.json")))
		.digest("hex");
	const stampFile = join(root, "node_modules/.stamp");
	if (existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp) return 0;
	// npm is a script on Windows, which only a shell starts.
	const options = { cwd: root, stdio: "inherit", shell: process.platform === "win32" };
	const { status, error } = spawnSync("npm", ["install", "--no-save", "--no-audit", "--no-fund"], options);
	if (error) throw error;
	if (status === 0) writeFileSync(stampFile, stamp);
	return status ?? 1;
}

if (isMain(import.meta.url)) process.exitCode = install();
