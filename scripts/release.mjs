// Makes the packages of a release ready to be published, from the addons that the platforms' builds left in a folder.
//   node scripts/release.mjs <folder with pi-session-native.<platform>.node for every platform>
//
// It refuses to go on while one is missing. Afterwards each folder of npm/ holds its addon and the licenses of what the
// addon is compiled from, and the main package names all of them as optional dependencies of its own version: that is
// added here and not committed, because a clone would ask the registry for packages that nobody has published yet.
// Run it in a clone that is thrown away.
import { execFileSync } from "node:child_process";
import { copyFileSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const LICENSES = ["LICENSE", "THIRD_PARTY_NOTICES.md"];

/** Makes the packages in the clone at `dir` ready, with the addons in `addons`. */
export function stage(dir, addons) {
	const napi = (...args) =>
		execFileSync(process.execPath, [join(root, "node_modules/@napi-rs/cli/dist/cli.js"), ...args], {
			cwd: dir,
			stdio: "inherit",
		});
	napi("artifacts", "--output-dir", addons, "--npm-dir", "npm");
	for (const platform of readdirSync(join(dir, "npm"))) {
		for (const file of LICENSES) copyFileSync(join(dir, file), join(dir, "npm", platform, file));
	}
	// Publishing is npm's work, one package after the other (see the release workflow).
	napi("prepublish", "--tag-style", "npm", "--skip-optional-publish", "--no-gh-release");
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
	const addons = process.argv[2];
	if (addons === undefined) throw new Error("Usage: node scripts/release.mjs <folder of addons>");
	stage(root, resolve(addons));
}
