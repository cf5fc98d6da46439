// Installs the agent (pi 0.87.1) and a newer Node from the lock file, and unpacks the published files of the reference (pi 1.5.2)
// beside them. Of the reference only the files are wanted: its session manager runs on the pi-ai of 0.87.1.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMain } from "../is-main.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const REFERENCE = "@earendil-works/pi-coding-agent@1.5.2";
const INTEGRITY = "sha512-mUWI04rqF1Vd/m1q+Ps1XeWsTXEVvRUnsmRa83I3Dzua0Tx5bYS93imeqtIfrXf7PkkaR6ERz+AuQhIJlom5yA==";

export const referenceDir = join(here, "pi-1.5.2");
export const agentDir = join(here, "node_modules/@earendil-works/pi-coding-agent");
export const nodeBin = join(here, "node_modules/node/bin/node");

// npm is a script on Windows, which only a shell starts.
const common = { stdio: ["ignore", "pipe", "inherit"], encoding: "utf8", shell: process.platform === "win32" };
const npm = (args, options) => execFileSync("npm", args, { ...common, ...options });

function runs(bin) {
	try {
		return execFileSync(bin, ["--version"], { encoding: "utf8" }).startsWith("v22.");
	} catch {
		return false;
	}
}

export function setup() {
	const lock = readFileSync(join(here, "package-lock.json"));
	const stamp = createHash("sha256").update(lock).digest("hex");
	const stampFile = join(here, "node_modules/.stamp");
	if (!existsSync(stampFile) || readFileSync(stampFile, "utf8") !== stamp) {
		npm(["ci", "--no-audit", "--no-fund"], { cwd: here });
		// The npm package `node` fetches the package of this platform in an install script; where such scripts
		// are off, the platform's package is installed by name.
		if (!runs(nodeBin)) {
			const { version } = JSON.parse(readFileSync(join(here, "node_modules/node/package.json"), "utf8"));
			const name = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
			npm(["install", "--no-save", "--no-audit", "--no-fund", `${name}@${version}`], { cwd: here });
			rmSync(join(here, "node_modules/node/bin"), { recursive: true, force: true });
			renameSync(join(here, "node_modules", name, "bin"), join(here, "node_modules/node/bin"));
		}
		if (!runs(nodeBin)) throw new Error(`The newer Node for the agent does not run: ${nodeBin}`);
		writeFileSync(stampFile, stamp);
	}
	if (!existsSync(join(referenceDir, "dist/core/session-manager.js"))) unpackReference();
}

function unpackReference() {
	const scratch = mkdtempSync(join(tmpdir(), "pi-reference-"));
	try {
		const [{ filename }] = JSON.parse(npm(["pack", REFERENCE, "--json", "--pack-destination", scratch], { cwd: scratch }));
		const tarball = join(scratch, filename);
		const digest = `sha512-${createHash("sha512").update(readFileSync(tarball)).digest("base64")}`;
		if (digest !== INTEGRITY) throw new Error(`${REFERENCE} is not the release that is pinned here: ${digest}`);
		const partial = `${referenceDir}.partial`;
		rmSync(partial, { recursive: true, force: true });
		mkdirSync(partial, { recursive: true });
		execFileSync("tar", ["-xzf", tarball, "-C", partial, "--strip-components=1"]);
		rmSync(referenceDir, { recursive: true, force: true });
		renameSync(partial, referenceDir);
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
}

if (isMain(import.meta.url)) setup();
