// Installs the package by pi from a folder. packages.spec.ts installs what is published.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as pi from "../../../scripts/demo/pi.mjs";
import { assistant, root, user } from "../../support/scratch.js";
import { print, put, said, type World, world } from "./pi.js";

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
