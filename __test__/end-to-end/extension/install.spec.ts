// Installs the package by pi: from a folder, and from the published packages, where the platform's addon has its own
// package.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as pi from "../../../scripts/demo/pi.mjs";
import { assistant, root, user } from "../../support/scratch.js";
import { print, put, said, type World, world } from "./pi.js";

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Runs a command of pi's package manager. */
function packages(at: World, ...args: string[]): string {
	const cli = join(pi.referencePackage, "dist/bundle/cli.js");
	return execFileSync(pi.nodeBin, [cli, ...args], {
		cwd: at.work,
		env: pi.isolatedEnv(at.home),
		encoding: "utf8",
		stdio: ["ignore", "pipe", "pipe"],
	});
}

const settings = (at: World): any => JSON.parse(readFileSync(join(at.home, "agent/settings.json"), "utf8"));

test("pi install adds the package, pi remove removes it", async () => {
	const at = await world([{ text: "No command of pi." }]);
	put(at, "0194-pie", [said("a", null, user("Quince pie")), said("b", "a", assistant("Yes"))]);
	packages(at, "install", root);
	expect(settings(at).packages).toHaveLength(1);
	expect(packages(at, "list")).toContain(root);
	expect((await print(at, "/find quince", { extension: false })).stdout).toContain("Quince pie");
	packages(at, "remove", root);
	expect(settings(at).packages ?? []).toEqual([]);
	expect((await print(at, "/find quince", { extension: false })).stdout).toBe("No command of pi.\n");
});

test("the packed package works with its platform's package", async () => {
	const at = await world();
	put(at, "0194-pie", [said("a", null, user("Quince pie")), said("b", "a", assistant("Yes"))]);
	const packed = execFileSync(process.execPath, [join(root, "scripts/pack.mjs"), at.root], { encoding: "utf8" });
	const tarball = packed.split("\n").find((line) => /pi-session-native-[^/]*\.tgz$/.test(line)) as string;
	execFileSync("tar", ["-xzf", tarball, "-C", at.root]);
	const installed = join(at.root, "node_modules/pi-session-native");
	mkdirSync(join(at.root, "node_modules"));
	cpSync(join(at.root, "package"), installed, { recursive: true });
	for (const name of Object.keys(manifest.dependencies))
		symlinkSync(join(root, "node_modules", name), join(at.root, "node_modules", name));
	const addon = readdirSync(installed).find((name) => name.endsWith(".node")) as string;
	const platform = /\.([^.]+)\.node$/.exec(addon)?.[1] as string;
	expect((await print(at, "/find quince", { extension: installed })).stdout).toContain("Quince pie");
	// The published addon is beside the package.
	const beside = join(at.root, "node_modules", `pi-session-native-${platform}`);
	cpSync(join(root, "npm", platform), beside, { recursive: true });
	cpSync(join(installed, addon), join(beside, addon));
	rmSync(join(installed, addon));
	expect((await print(at, "/find quince", { extension: installed })).stdout).toContain("Quince pie");
	expect(existsSync(join(installed, "skills/session-search/SKILL.md"))).toBe(true);
	rmSync(beside, { recursive: true });
	const without = await print(at, "/find quince", { extension: installed });
	expect(without.stderr).toContain("pi-session-native: ");
	expect(without.code).toBe(0);
});

test("pi's packages are optional, and none of them is a dependency", () => {
	for (const name of ["@earendil-works/pi-coding-agent", "@earendil-works/pi-tui"]) {
		expect(manifest.peerDependencies[name]).toBe("*");
		expect(manifest.peerDependenciesMeta[name]).toEqual({ optional: true });
		expect(manifest.dependencies).not.toHaveProperty(name);
	}
	expect(manifest.keywords).toContain("pi-package");
	expect(manifest.pi.image).toBe("./docs/images/find.png");
	expect(manifest.files).toContain("docs/images/find.png");
});
