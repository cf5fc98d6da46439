// Prepares the packages of a release from a folder with the addons of all platforms.
//   node scripts/release.mjs <folder with pi-session-native.<platform>.node for every platform>
//   node scripts/release.mjs --dry-run <folder> <folder of addons>    packs the main packages and the addons there are
//   node scripts/release.mjs --tag v1.2.3     compares a tag with all manifests, Cargo.toml and the changelog
//
// It fails if an addon is missing. Afterwards each folder of npm/ contains its addon and the licenses of the compiled
// crates, and the main package has all of them as optional dependencies of its own version. These dependencies are not
// committed, because a clone would ask the registry for packages that are not published yet. Neither is `repository`,
// which npm compares with the place of the build, and which comes from the workflow. Run it in a temporary clone; the
// dry run creates one.
import { execFileSync } from "node:child_process";
import {
	copyFileSync,
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseTriple } from "@napi-rs/cli";
import { isMain } from "./is-main.mjs";
import { optionsOf } from "./options.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const LICENSES = ["LICENSE", "THIRD_PARTY_NOTICES.md"];

/** pi-session-sync has a version of its own, and needs the main package of this release. */
const SYNC = "packages/sync";

const read = (file) => JSON.parse(readFileSync(file, "utf8"));
const platformsOf = (dir) => readdirSync(join(dir, "npm")).sort();

/** The manifests of all packages of a clone: the platforms', and the main one last. */
const manifestsOf = (dir) =>
	[...platformsOf(dir).map((name) => join(dir, "npm", name)), dir].map((one) => join(one, "package.json"));

/** The version of the crates in the workspace's `Cargo.toml`. */
function crateVersion(file) {
	const [, section = ""] = readFileSync(file, "utf8").split(/^\[workspace\.package\]$/m);
	return /^version = "([^"]*)"$/m.exec(section.split(/^\[/m)[0])?.[1];
}

/**
 * Throws unless each manifest in the clone at `dir` has the version of the tag, and the changelog has a section for it.
 */
export function checkTag(dir, tag) {
	const version = tag.replace(/^v/, "");
	const crate = join(dir, "Cargo.toml");
	const said = [...manifestsOf(dir).map((file) => [file, read(file).version]), [crate, crateVersion(crate)]]
		.filter(([, says]) => says !== version)
		.map(([file, says]) => `${file} says ${says}`);
	if (!tag.startsWith("v") || said.length > 0) {
		throw new Error(`The tag ${tag} does not match this version: ${said.join(", ") || "it should begin with v"}`);
	}
	const sync = join(dir, SYNC, "package.json");
	const { name } = read(join(dir, "package.json"));
	if (read(sync).dependencies[name] !== `^${version}`) throw new Error(`${sync} must depend on ${name} ^${version}`);
	const sections = readFileSync(join(dir, "CHANGELOG.md"), "utf8").match(/^## \S+/gm) ?? [];
	if (!sections.includes(`## ${version}`)) throw new Error(`CHANGELOG.md has no section ${version}`);
}

/** The repository that GitHub builds in, as npm wants it; undefined anywhere else. */
function repositoryOf(env) {
	const { GITHUB_REPOSITORY: name, GITHUB_SERVER_URL: server = "https://github.com" } = env;
	return name ? { type: "git", url: `git+${server}/${name}.git` } : undefined;
}

/** Makes the packages in the clone at `dir` ready, with the addons in `addons`. */
export function stage(dir, addons, env = process.env) {
	const {
		napi: { binaryName },
	} = read(join(dir, "package.json"));
	const missing = platformsOf(dir)
		.map((name) => `${binaryName}.${name}.node`)
		.filter((name) => !existsSync(join(addons, name)));
	if (missing.length > 0) throw new Error(`Not in ${addons}: ${missing.join(", ")}`);
	const napi = (...args) =>
		execFileSync(process.execPath, [join(root, "node_modules/@napi-rs/cli/dist/cli.js"), ...args], {
			cwd: dir,
			stdio: "inherit",
		});
	napi("artifacts", "--output-dir", addons, "--npm-dir", "npm");
	for (const platform of platformsOf(dir)) {
		for (const file of LICENSES) copyFileSync(join(dir, file), join(dir, "npm", platform, file));
	}
	copyFileSync(join(dir, "LICENSE"), join(dir, SYNC, "LICENSE"));
	// publish.mjs publishes the packages one after another.
	napi("prepublish", "--tag-style", "npm", "--skip-optional-publish", "--no-gh-release");
	const repository = repositoryOf(env);
	if (!repository) return;
	for (const file of [...manifestsOf(dir), join(dir, SYNC, "package.json")])
		writeFileSync(file, `${JSON.stringify({ ...read(file), repository }, null, 2)}\n`);
}

/**
 * Packs the release of this clone into a folder, without committing: the platforms whose addons are in `addons`, and a
 * main package that depends only on these, and pi-session-sync. Returns the missing platforms.
 */
export function dryRun(addons, folder) {
	const scratch = mkdtempSync(join(tmpdir(), "pi-session-native-release-"));
	try {
		const manifest = read(join(root, "package.json"));
		const ofSync = [...read(join(root, SYNC, "package.json")).files, "package.json", "README.md"];
		const parts = [...manifest.files, "npm", "README.md", ...ofSync.map((part) => join(SYNC, part))];
		for (const part of parts) cpSync(join(root, part), join(scratch, part), { recursive: true });
		const { napi } = manifest;
		const isThere = (platform) => existsSync(join(addons, `${napi.binaryName}.${platform}.node`));
		const missing = platformsOf(root).filter((platform) => !isThere(platform));
		for (const platform of missing) rmSync(join(scratch, "npm", platform), { recursive: true });
		const targets = napi.targets.filter((triple) => isThere(parseTriple(triple).platformArchABI));
		if (targets.length === 0) throw new Error(`There is no addon in ${addons}`);
		writeFileSync(join(scratch, "package.json"), JSON.stringify({ ...manifest, napi: { ...napi, targets } }, null, 2));
		stage(scratch, addons, {});
		mkdirSync(folder, { recursive: true });
		const packages = [...platformsOf(scratch).map((platform) => join("npm", platform)), ".", SYNC];
		const args = ["pack", "--ignore-scripts", "--pack-destination", folder];
		for (const dir of packages)
			execFileSync("npm", args, {
				cwd: join(scratch, dir),
				stdio: ["ignore", "inherit", "ignore"],
				shell: process.platform === "win32",
			});
		return missing;
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
}

if (isMain(import.meta.url)) {
	const options = { tag: { type: "string" }, "dry-run": { type: "string" } };
	const { values, positionals } = optionsOf(import.meta.url, { options, allowPositionals: true });
	const [addons] = positionals;
	if (values.tag !== undefined) checkTag(root, values.tag);
	else if (addons !== undefined && values["dry-run"] !== undefined) {
		const missing = dryRun(resolve(addons), resolve(values["dry-run"]));
		if (missing.length > 0) console.log(`Not in ${addons}: ${missing.join(", ")}`);
	} else if (addons !== undefined) stage(root, resolve(addons));
	else throw new Error("Usage: node scripts/release.mjs [--dry-run <folder>] <folder of addons> | --tag <tag>");
}
