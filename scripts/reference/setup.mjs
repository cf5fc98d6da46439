// Installs the agent (pi 0.87.1) and a newer Node from the lock file, and unpacks the published files of other releases
// beside them: the reference, whose session manager decides what is right, and the release before it. Dependencies are
// not installed: the session manager runs on the pi-ai of 0.87.1, and a release's bundle contains what it needs.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMain } from "../is-main.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const PACKAGES = {
	pi: "@earendil-works/pi-coding-agent",
	ai: "@earendil-works/pi-ai",
	core: "@earendil-works/pi-agent-core",
};

/**
 * The releases that are unpacked. The directory of the reference is named without its version, so that another release
 * becomes the reference by a change in this file alone. The types of its messages are in two packages more.
 */
const RELEASES = {
	reference: {
		version: "1.6.0",
		integrity: "sha512-zX1BVEsshx7A2MRuQ6jfr3RJGWw4Wn+vLq5ZfmlvS1RskhRmByaSZVXH/zcwRrWHO7qPgs98pNCbPOEti/t0fQ==",
		dir: join(here, "pi"),
	},
	ai: {
		name: PACKAGES.ai,
		version: "1.6.0",
		integrity: "sha512-9hL+eygFDEiFp//cydeUfmFsKmEqpmvsNPb10Y1W8+m5K9O+sx1hMStfu6nukrBD5sl6mP4RykCYBBNEgsVLfw==",
		dir: join(here, "pi-packages/pi-ai"),
	},
	core: {
		name: PACKAGES.core,
		version: "1.6.0",
		integrity: "sha512-IU/x+2XtE4KIdIkEndZssdLPbIUR38Btj+Q7vjIIXIK7GSamLtDH5jOw/dzBWAvWFAgZ2dslF5sPc6GcGOnS+w==",
		dir: join(here, "pi-packages/pi-agent-core"),
	},
	earlier: {
		version: "1.5.2",
		integrity: "sha512-mUWI04rqF1Vd/m1q+Ps1XeWsTXEVvRUnsmRa83I3Dzua0Tx5bYS93imeqtIfrXf7PkkaR6ERz+AuQhIJlom5yA==",
		dir: join(here, "pi-1.5.2"),
	},
};

/** The reference; `npm run follow` names another release in PSN_REFERENCE, by its directory. */
export const referenceDir = process.env.PSN_REFERENCE || RELEASES.reference.dir;
export const referenceVersion = process.env.PSN_REFERENCE ? versionIn(referenceDir) : RELEASES.reference.version;
/** The types of the reference's messages: the packages pi-ai and pi-agent-core. */
export const typesDir = join(here, "pi-packages");
/** The release before the reference. Tests run its bundle. */
export const earlierVersion = RELEASES.earlier.version;
export const earlierDir = RELEASES.earlier.dir;
export const agentDir = join(here, "node_modules/@earendil-works/pi-coding-agent");
export const nodeBin = join(here, "node_modules/node/bin/node");

// On Windows npm is a script, which only a shell can start.
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
		// The npm package `node` downloads the package of this platform in an install script. If such scripts are disabled,
		// we install the platform's package by name.
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
	for (const release of Object.values(RELEASES)) if (versionIn(release.dir) !== release.version) unpack(release);
}

/** The version of the pi in a directory, or undefined. */
function versionIn(dir) {
	const manifest = join(dir, "package.json");
	return existsSync(manifest) ? JSON.parse(readFileSync(manifest, "utf8")).version : undefined;
}

/**
 * Unpacks a version of pi, pi-ai and pi-agent-core into directories named after the version. Returns the directories.
 */
export function unpackVersion(version) {
	const dirs = {
		pi: version === RELEASES.earlier.version ? RELEASES.earlier.dir : join(here, `pi-${version}`),
		types: join(here, `pi-packages-${version}`),
	};
	const wanted = { pi: dirs.pi, ai: join(dirs.types, "pi-ai"), core: join(dirs.types, "pi-agent-core") };
	for (const [key, dir] of Object.entries(wanted))
		if (versionIn(dir) !== version) unpack({ name: PACKAGES[key], version, dir });
	return dirs;
}

/** The version that npm installs if none is named. */
export const newestVersion = () => asked(["view", PACKAGES.pi, "version"], here);

/** The answer of the registry. Throws npm's summary of the error if there is none. */
function asked(args, cwd) {
	try {
		return JSON.parse(npm([...args, "--json", "--silent"], { cwd }));
	} catch (error) {
		throw /^\s*\{/.test(error.stdout ?? "") ? new Error(JSON.parse(error.stdout).error.summary) : error;
	}
}

/** Unpacks a published package into a directory, which is replaced. Without an `integrity` the registry is trusted. */
export function unpack({ name = PACKAGES.pi, version, integrity, dir }) {
	const scratch = mkdtempSync(join(tmpdir(), "pi-reference-"));
	try {
		const [packed] = asked(["pack", `${name}@${version}`, "--pack-destination", scratch], scratch);
		const tarball = join(scratch, packed.filename);
		const digest = `sha512-${createHash("sha512").update(readFileSync(tarball)).digest("base64")}`;
		if (integrity && digest !== integrity)
			throw new Error(`${name}@${version} is not the release that is pinned here: ${digest}`);
		mkdirSync(dirname(dir), { recursive: true });
		const partial = `${dir}.partial`;
		rmSync(partial, { recursive: true, force: true });
		mkdirSync(partial, { recursive: true });
		execFileSync("tar", ["-xzf", tarball, "-C", partial, "--strip-components=1"]);
		rmSync(dir, { recursive: true, force: true });
		renameSync(partial, dir);
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
}

if (isMain(import.meta.url)) setup();
