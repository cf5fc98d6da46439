// Packs this clone for programs on this machine: a tarball with the addon of this machine, and a tarball of
// pi-session-sync, which depends on the first.
//   node scripts/pack.mjs [folder]
//
// `npm install <clone>` would create a link. TypeScript resolves imports from the target of a link, so that
// `pi-session-native/pi` would look for pi in the clone, not find it, and have the type `any`. `npm pack` in the clone
// leaves out the addon, because a published addon is in a package of its own.
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
	console.error("The addon was not built yet. Run npm run build");
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
	for (const cwd of [staged, join(root, "packages/sync")]) {
		const packed = execFileSync("npm", args, { cwd, encoding: "utf8", shell: process.platform === "win32" });
		console.log(join(resolve(folder), JSON.parse(packed)[0].filename));
	}
} finally {
	rmSync(staged, { recursive: true, force: true });
}
