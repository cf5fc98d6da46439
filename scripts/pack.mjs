// Packs this clone for programs on this machine: one tarball with the addon that was built here.
//   node scripts/pack.mjs [folder]
//
// `npm install <clone>` makes a link. TypeScript resolves imports from where a link leads to, so that
// `pi-session-native/pi` would look for pi in the clone, not find it, and be typed `any`. `npm pack` in the clone
// leaves the addon out: each platform's is a package of its own once this package is published.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const [folder = root] = process.argv.slice(2);

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const addons = readdirSync(root).filter(
	(name) => name.startsWith(`${manifest.napi.binaryName}.`) && name.endsWith(".node"),
);
if (addons.length === 0) {
	console.error("There is no addon yet: npm run build");
	process.exit(1);
}
const files = [...manifest.files, ...addons];
const staged = mkdtempSync(join(tmpdir(), "pi-session-native-pack-"));
try {
	for (const name of [...files, "README.md"].filter((name) => existsSync(join(root, name)))) {
		cpSync(join(root, name), join(staged, name), { recursive: true });
	}
	writeFileSync(
		join(staged, "package.json"),
		JSON.stringify({ ...manifest, files, workspaces: undefined, scripts: {}, devDependencies: {} }, null, 2),
	);
	mkdirSync(folder, { recursive: true });
	const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", resolve(folder)];
	const [{ filename }] = JSON.parse(
		execFileSync("npm", args, { cwd: staged, encoding: "utf8", shell: process.platform === "win32" }),
	);
	console.log(join(resolve(folder), filename));
} finally {
	rmSync(staged, { recursive: true, force: true });
}
