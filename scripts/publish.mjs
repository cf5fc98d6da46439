// Publishes the tested tarballs of a release: the packages of the platforms, then the main package, then
// pi-session-sync, so that an install of each finds the packages that it depends on.
//   node scripts/publish.mjs <folder of tarballs>
//
// If it failed half way, run it again: it skips published packages. A version like 1.2.0-beta.1 gets the dist-tag
// `beta`, so that only users who ask for it install it. If GitHub provides a token, each package is published with
// npm's provenance statement.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isMain } from "./is-main.mjs";

/** On Windows npm is a script, which only a shell can start. */
const shell = process.platform === "win32";
const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/** The dist-tag: `latest` for a release; for a pre-release the word after its dash, or `next`. */
export function distTag(version) {
	const before = /^\d+\.\d+\.\d+-([^+]+)/.exec(version)?.[1];
	if (before === undefined) return "latest";
	const word = before.split(".")[0];
	return /^[a-z][a-z-]*$/i.test(word) && word.toLowerCase() !== "latest" ? word.toLowerCase() : "next";
}

/** The manifest in a tarball. */
const manifestIn = (tarball) =>
	JSON.parse(execFileSync("tar", ["-xzOf", tarball, "package/package.json"], { encoding: "utf8" }));

/** The checksum of a published version; undefined if it is not published. Throws if the registry does not answer. */
function published({ name, version }) {
	const args = ["view", `${name}@${version}`, "dist.integrity", "--json"];
	const { stdout, stderr, error } = spawnSync("npm", args, { encoding: "utf8", shell });
	if (error) throw error;
	// For a package without this version npm prints nothing, for an unknown package an error.
	const told = stdout.trim() === "" ? "" : JSON.parse(stdout);
	if (typeof told === "string") return told === "" ? undefined : told;
	if (told.error?.code === "E404") return undefined;
	throw new Error(`The registry did not tell whether ${name}@${version} is published: ${stdout}${stderr}`);
}

/** Publishes the packages that are not published yet. */
export function publish(dir) {
	const { name: main } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
	const tarballs = readdirSync(dir)
		.filter((file) => file.endsWith(".tgz"))
		.map((file) => join(dir, file));
	const packages = tarballs.map((tarball) => ({ tarball, ...manifestIn(tarball) }));
	const step = ({ name, dependencies }) => (name === main ? 1 : dependencies?.[main] ? 2 : 0);
	packages.sort((a, b) => step(a) - step(b) || (a.name < b.name ? -1 : 1));
	const mainPackage = packages.find(({ name }) => name === main);
	if (!mainPackage) throw new Error(`${dir} contains no tarball of ${main}`);
	const wanted = Object.entries(mainPackage.optionalDependencies ?? {});
	const missing = wanted.filter(
		([name, version]) => !packages.some((one) => one.name === name && one.version === version),
	);
	if (wanted.length === 0 || missing.length > 0) {
		throw new Error(
			`${dir} does not contain these platform packages: ${missing.map((one) => one.join("@")).join(", ") || "all"}`,
		);
	}
	const provenance = process.env.ACTIONS_ID_TOKEN_REQUEST_URL ? ["--provenance"] : [];
	for (const one of packages) {
		const there = published(one);
		if (there !== undefined) {
			const own = `sha512-${createHash("sha512").update(readFileSync(one.tarball)).digest("base64")}`;
			console.log(`${one.name}@${one.version} is published already${there === own ? "" : ", from another build"}`);
			continue;
		}
		const tag = distTag(one.version);
		const tarball = shell ? `"${one.tarball}"` : one.tarball;
		const args = ["publish", tarball, "--access", "public", "--tag", tag, ...provenance];
		execFileSync("npm", args, { stdio: "inherit", shell });
		console.log(`${one.name}@${one.version} is published as ${tag}`);
	}
}

if (isMain(import.meta.url)) {
	const dir = process.argv[2];
	if (dir === undefined) throw new Error("Usage: node scripts/publish.mjs <folder of tarballs>");
	publish(resolve(dir));
}
