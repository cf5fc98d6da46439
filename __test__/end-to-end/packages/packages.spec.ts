// The packages as they would be published: packed, installed into an empty project on a machine without Rust, and used.
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import {
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseTriple } from "@napi-rs/cli";
import { type BuildOptions, build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runProgram } from "../../support/cli.js";
import { root, user } from "../../support/scratch.js";
import { print, put, said, world } from "../extension/pi.js";
import { fakePi, moduleDir } from "../register/fake-pi.js";

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const syncManifest = JSON.parse(readFileSync(join(root, "packages/sync/package.json"), "utf8"));
const targets = (manifest.napi.targets as string[]).map((triple) => parseTriple(triple));
const platforms = targets.map((target) => target.platformArchABI);
/** The platform of this machine, from the name of the built addon. */
const here = platforms.find((platform) => existsSync(join(root, `pi-session-native.${platform}.node`))) as string;

/** A registry without packages: npm gets 404 for each request. */
let registry: Server;
const asked: string[] = [];
const scratch = mkdtempSync(join(tmpdir(), "psn-packages-"));
const tarballs = join(scratch, "tarballs");

/** Runs a command with only node, npm and a shell on the path, and without the user's settings. */
async function run(command: string, args: string[], cwd: string) {
	const env = {
		PATH: join(scratch, "bin"),
		HOME: join(scratch, "home"),
		TMPDIR: tmpdir(),
		NO_COLOR: "1",
		PI_OFFLINE: "1",
	};
	const { code, out, err } = await runProgram(command, args, { cwd, env });
	return { code, stdout: out, stderr: err };
}

const checked = (result: SpawnSyncReturns<string>): string => {
	if (result.status !== 0) throw new Error(`${result.error ?? ""}${result.stdout}${result.stderr}`);
	return result.stdout;
};

/**
 * The folders of the packages that a package needs at run time, at any depth. npm would also list those of the
 * workspaces.
 */
function dependenciesOf(dir: string, found = new Set<string>()): string[] {
	const { dependencies = {} } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8")) as {
		dependencies?: Record<string, string>;
	};
	for (const name of Object.keys(dependencies).filter((name) => name !== manifest.name)) {
		const folder = [join(dir, "node_modules", name), join(root, "node_modules", name)].find((one) => existsSync(one));
		if (folder === undefined) throw new Error(`${dir} needs ${name}, which is not installed`);
		if (found.has(folder)) continue;
		found.add(folder);
		dependenciesOf(folder, found);
	}
	return [...found];
}

/** Packs folders. Returns for each the tarball and the files in it. */
function pack(...dirs: string[]): { tarball: string; files: string[] }[] {
	const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", tarballs, ...dirs];
	const packed: { filename: string; files: { path: string }[] }[] = JSON.parse(
		checked(spawnSync("npm", args, { cwd: scratch, encoding: "utf8" })),
	);
	return packed.map(({ filename, files }) => ({
		tarball: join(tarballs, filename),
		files: files.map(({ path }) => path).sort(),
	}));
}

const clone = join(scratch, "clone");
let main: ReturnType<typeof pack>[number];
let platform: ReturnType<typeof pack>[number];
let sync: ReturnType<typeof pack>[number];
/** The run-time dependencies of the main package, as tarballs, because there is no registry. */
let dependencies: string[];
/** The further dependencies of pi-session-sync. */
let syncDependencies: string[];

function which(command: string): string {
	return checked(spawnSync("sh", ["-c", `command -v ${command}`], { encoding: "utf8" })).trim();
}

beforeAll(async () => {
	for (const dir of ["bin", "home", "artifacts", "tarballs"]) mkdirSync(join(scratch, dir));
	symlinkSync(process.execPath, join(scratch, "bin/node"));
	for (const command of ["npm", "sh", "env"]) symlinkSync(which(command), join(scratch, "bin", command));

	// A temporary clone, as a release has one. The addons of other platforms are not built here. It contains sources and
	// tests, so that the test sees that packages omit them.
	const parts = [...manifest.files, "npm", "package.json", "README.md", "src", "Cargo.toml", "__test__/unit/contract"];
	parts.push("packages/sync");
	for (const part of parts) {
		if (existsSync(join(root, part))) cpSync(join(root, part), join(clone, part), { recursive: true });
	}
	for (const name of platforms) {
		const addon = join(scratch, "artifacts", `pi-session-native.${name}.node`);
		if (name === here) cpSync(join(root, `pi-session-native.${name}.node`), addon);
		else writeFileSync(addon, "the addon of another platform\n");
	}
	const code = `import { stage } from ${JSON.stringify(join(root, "scripts/release.mjs"))}; stage(${JSON.stringify(clone)}, ${JSON.stringify(join(scratch, "artifacts"))});`;
	checked(spawnSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" }));
	const others = dependenciesOf(root);
	const ofSync = dependenciesOf(join(root, "packages/sync")).filter((folder) => !others.includes(folder));
	const packed = pack(clone, join(clone, "npm", here), join(clone, "packages/sync"), ...others, ...ofSync);
	[main, platform, sync] = packed as [typeof main, typeof platform, typeof sync];
	const tarballsOf = (some: typeof packed) => some.map(({ tarball }) => tarball);
	dependencies = tarballsOf(packed.slice(3, 3 + others.length));
	syncDependencies = tarballsOf(packed.slice(3 + others.length));

	registry = createServer((request, response) => {
		asked.push(decodeURIComponent(request.url ?? "").slice(1));
		response.writeHead(404, { "content-type": "application/json" });
		response.end(JSON.stringify({ error: "Not found" }));
	});
	await new Promise<void>((resolve) => registry.listen(0, "127.0.0.1", resolve));
});

afterAll(async () => {
	await new Promise((resolve) => registry.close(resolve));
	rmSync(scratch, { recursive: true, force: true });
});

/** Installs tarballs into an empty project. */
async function project(name: string, ...packages: string[]): Promise<string> {
	const dir = join(scratch, name);
	mkdirSync(dir);
	writeFileSync(join(dir, "package.json"), JSON.stringify({ name, private: true }));
	const address = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`;
	const flags = [
		"--registry",
		address,
		"--no-audit",
		"--no-fund",
		"--fetch-retries=0",
		"--cache",
		join(scratch, "cache"),
	];
	const { code, stdout, stderr } = await run("npm", ["install", ...flags, ...packages], dir);
	expect(code, `${stdout}${stderr}`).toBe(0);
	return dir;
}

describe("the platform packages", () => {
	test("are one for each target, of the same version", () => {
		expect(readdirSync(join(root, "npm")).sort()).toEqual(platforms.slice().sort());
		expect(platforms).toHaveLength(8);
		for (const target of targets) {
			const own = JSON.parse(readFileSync(join(root, "npm", target.platformArchABI, "package.json"), "utf8"));
			const addon = `pi-session-native.${target.platformArchABI}.node`;
			expect(own).toMatchObject({
				name: `pi-session-native-${target.platformArchABI}`,
				version: manifest.version,
				os: [target.platform],
				cpu: [target.arch],
				main: addon,
				files: [addon, "LICENSE", "THIRD_PARTY_NOTICES.md"],
				engines: manifest.engines,
			});
			const libc = { gnu: ["glibc"], musl: ["musl"] }[target.abi ?? ""];
			expect(own.libc).toEqual(libc);
		}
	});

	test("contain the addon and its licenses", () => {
		const addon = `pi-session-native.${here}.node`;
		expect(platform.files).toEqual(["LICENSE", "README.md", "THIRD_PARTY_NOTICES.md", "package.json", addon]);
	});
});

describe("the main package", () => {
	test("depends on every platform package once it is published", () => {
		const wanted = Object.fromEntries(platforms.map((name) => [`pi-session-native-${name}`, manifest.version]));
		expect(JSON.parse(readFileSync(join(clone, "package.json"), "utf8")).optionalDependencies).toEqual(wanted);
		// In a clone npm would ask for packages that nobody has published, or that somebody else has.
		expect(manifest.optionalDependencies).toBeUndefined();
	});

	test("contains what its manifest names, and no sources", () => {
		const led = [
			manifest.main,
			manifest.types,
			...Object.values(manifest.bin),
			...manifest.pi.extensions,
			manifest.pi.image,
			"skills/session-search/SKILL.md",
			...Object.values(manifest.exports).flatMap((one) =>
				typeof one === "string" ? [one] : Object.values(one as object),
			),
		];
		for (const path of led) expect(main.files).toContain(path.replace(/^\.\//, ""));
		for (const path of main.files)
			expect(path).not.toMatch(/\.(node|rs|toml)$|^(src|__test__|bench|scripts|reference|npm)\//);
	});
});

describe("installed in an empty project, without Rust on the path,", () => {
	let dir: string;
	beforeAll(async () => {
		dir = await project("whole", main.tarball, platform.tarball, ...dependencies);
	});
	const node = (...args: string[]) => run("node", args, dir);

	test("nothing compiles it, other platforms and pi are skipped", async () => {
		for (const tool of ["cargo", "rustc", "cc"]) {
			expect((await run("sh", ["-c", `command -v ${tool}`], dir)).code, tool).not.toBe(0);
		}
		for (const name of platforms) if (name !== here) expect(asked).toContain(`pi-session-native-${name}`);
		const installed = readdirSync(join(dir, "node_modules")).filter((name) => name.startsWith("pi-session-native"));
		expect(installed.sort()).toEqual(["pi-session-native", `pi-session-native-${here}`]);
		expect(existsSync(join(dir, "node_modules/@earendil-works"))).toBe(false);
		expect(readdirSync(join(dir, "node_modules/pi-session-native")).some((name) => name.endsWith(".node"))).toBe(false);
	});

	test("it works, by require and by import", async () => {
		const use = `const m = SessionManager.create(process.cwd(), "sessions"); m.appendMessage({ role: "user", content: "x", timestamp: 1 }); SessionManager.listAll("sessions").then((list) => console.log(list.length));`;
		expect(await node("-e", `const { SessionManager } = require("pi-session-native"); ${use}`)).toEqual({
			code: 0,
			stdout: "1\n",
			stderr: "",
		});
		const imported = `import { SessionManager } from "pi-session-native"; import { SessionManager as forPi } from "pi-session-native/pi"; if (forPi !== SessionManager) throw 1; ${use}`;
		expect(await node("--input-type=module", "-e", imported)).toEqual({ code: 0, stdout: "2\n", stderr: "" });
		const smoke = await node(join(root, "scripts/smoke.mjs"), join(dir, "node_modules/pi-session-native"));
		expect(smoke).toMatchObject({ code: 0, stderr: "" });
	});

	// Regression: under a bundler's own conditions, and in Bun's bundler, the import was a module whose addon the bundler
	// could not see.
	test.each<[string, BuildOptions]>([
		["by default", {}],
		["with conditions of one's own", { conditions: ["own"] }],
		[
			"of modules",
			{
				conditions: ["own"],
				format: "esm",
				banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
			},
		],
	])("it works in a bundle that takes its JavaScript in and leaves the addon external, %s", async (_, options) => {
		const source = `import { SessionManager } from "pi-session-native";\nconsole.log(SessionManager.inMemory("/x").getEntryCount());\n`;
		writeFileSync(join(dir, "source.mjs"), source);
		const outfile = join(dir, options.format === "esm" ? "out/bundle.mjs" : "out/bundle.cjs");
		await build({
			entryPoints: [join(dir, "source.mjs")],
			outfile,
			bundle: true,
			platform: "node",
			external: ["*.node", "pi-session-native-*"],
			// napi's loader requires every platform's package, even those of other platforms.
			logLevel: "error",
			...options,
		});
		const text = readFileSync(outfile, "utf8");
		expect(text).not.toContain(`"pi-session-native"`);
		expect(text).not.toContain("./index.js");
		expect(await node(outfile)).toEqual({ code: 0, stdout: "0\n", stderr: "" });
	});

	test("its command is there, and says what it lacks", async () => {
		const { code, stderr } = await run("node_modules/.bin/pi-native", ["--version"], dir);
		expect(code).toBe(1);
		expect(stderr).toMatch(/^pi-session-native: (no pi is installed|Node \S+ cannot run a pi)/);
	});

	test("pi finds sessions with its extension", async () => {
		const at = await world();
		put(at, "0194-pie", [said("a", null, user("Quince pie"))]);
		const extension = join(dir, "node_modules/pi-session-native");
		expect((await print(at, "/find quince", { extension })).stdout).toContain("Quince pie");
	});
});

test("a dry run of a release packs packages that work", async () => {
	const [addons, folder] = [join(scratch, "built"), join(scratch, "dry-run")];
	// One runs on this machine; the other replaces an addon that was built for another platform.
	const built = [here, platforms.find((name) => name !== here) as string];
	for (const name of built)
		cpSync(
			join(scratch, "artifacts", `pi-session-native.${name}.node`),
			join(addons, `pi-session-native.${name}.node`),
		);
	const args = [join(root, "scripts/release.mjs"), "--dry-run", folder, addons];
	const said = checked(spawnSync(process.execPath, args, { encoding: "utf8" }));
	const others = platforms.filter((name) => !built.includes(name)).sort();
	expect(said).toContain(`Not in ${addons}: ${others.join(", ")}\n`);
	const tarball = (name: string) => `${name}-${manifest.version}.tgz`;
	const names = built.map((name) => `pi-session-native-${name}`);
	const syncTarball = `pi-session-sync-${syncManifest.version}.tgz`;
	expect(readdirSync(folder).sort()).toEqual([...["pi-session-native", ...names].map(tarball), syncTarball].sort());
	const packed = join(scratch, "of-another-platform");
	mkdirSync(packed);
	checked(spawnSync("tar", ["-xzf", join(folder, tarball(names[1] as string)), "-C", packed], { encoding: "utf8" }));
	expect(readFileSync(join(packed, "package", `pi-session-native.${built[1]}.node`), "utf8")).toBe(
		"the addon of another platform\n",
	);
	const mine = ["pi-session-native", `pi-session-native-${here}`].map((name) => join(folder, tarball(name)));
	const dir = await project("dry", ...mine, ...dependencies);
	const installed = JSON.parse(readFileSync(join(dir, "node_modules/pi-session-native/package.json"), "utf8"));
	expect(installed.optionalDependencies).toEqual(Object.fromEntries(names.map((name) => [name, manifest.version])));
	const smoke = await run("node", [join(root, "scripts/smoke.mjs"), join(dir, "node_modules/pi-session-native")], dir);
	expect(smoke).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(/^works on /) });
	expect(JSON.parse(readFileSync(join(root, "package.json"), "utf8"))).toEqual(manifest);
});

test("it installs beside any pi", async () => {
	// `pi.d.ts` imports types from pi, and package managers show pi only to a package that names it.
	const name = "@earendil-works/pi-coding-agent";
	expect(manifest.peerDependencies[name]).toBe("*");
	for (const peer of Object.keys(manifest.peerDependencies))
		expect(manifest.peerDependenciesMeta[peer], peer).toEqual({ optional: true });
	const [pi] = pack(fakePi(join(scratch, "pi")));
	const dir = await project("with-pi", pi?.tarball as string, main.tarball, platform.tarball, ...dependencies);
	expect(JSON.parse(readFileSync(join(moduleDir(dir), "package.json"), "utf8")).version).toBe("9.9.9");
	expect(await run("npm", ["ls", name], dir)).toMatchObject({
		code: 0,
		stdout: expect.stringContaining(`${name}@9.9.9`),
	});
});

describe("pi-session-sync, installed beside it,", () => {
	let dir: string;
	beforeAll(async () => {
		const packages = [main, platform, sync].map(({ tarball }) => tarball);
		dir = await project("with-sync", ...packages, ...dependencies, ...syncDependencies);
	});

	test("contains its license and what its manifest names", () => {
		for (const path of ["LICENSE", "README.md", "bin/pi-sync.mjs", "lib/index.d.ts", "lib/extension/index.mjs"])
			expect(sync.files).toContain(path);
		for (const path of sync.files) expect(path).not.toMatch(/__test__|\.spec\./);
		expect(syncManifest.dependencies[manifest.name]).toBe(`^${manifest.version}`);
	});

	test("its command pushes a session to a directory", async () => {
		const command = (...args: string[]) => run("node", [join(dir, "node_modules/.bin/pi-sync"), ...args], dir);
		expect(await command("--help")).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("pi-sync") });
		const begin = `const { SessionManager } = require("pi-session-native");
			SessionManager.create(process.cwd()).appendMessage({ role: "user", content: "x", timestamp: 1 });`;
		expect(await run("node", ["-e", begin], dir)).toEqual({ code: 0, stdout: "", stderr: "" });
		const store = join(scratch, "shared");
		mkdirSync(store);
		expect(await command("push", "--store", store)).toMatchObject({ code: 0, stdout: expect.stringMatching(/stored/) });
		const { sessions } = JSON.parse(
			(await command("status", "--all", "--sessions", "--json", "--store", store)).stdout,
		);
		expect(sessions).toHaveLength(1);
	});

	test("pi loads its extension", async () => {
		const at = await world();
		const extension = join(dir, "node_modules/pi-session-sync");
		expect(await print(at, "/private", { extension, args: ["--no-session"] })).toEqual({
			code: 0,
			stdout: "",
			stderr: "This session has no file, so it is never pushed to a store.\n",
		});
	});
});

test("without its platform's package it names what is missing", async () => {
	const dir = await project("alone", main.tarball, ...dependencies);
	expect(asked).toContain(`pi-session-native-${here}`);
	const { code, stderr } = await run("node", ["-e", `require("pi-session-native")`], dir);
	expect(code).not.toBe(0);
	expect(stderr).toContain(`pi-session-native-${here}`);
	const pi = fakePi(moduleDir(dir));
	const hooked = await run("node", ["--import", "pi-session-native/register", join(pi, "dist/cli.js")], dir);
	// pi runs on its own manager, and a line says why.
	expect(hooked).toMatchObject({ code: 0, stdout: expect.stringContaining("pi starts") as unknown });
	expect(hooked.stderr).toMatch(/^pi-session-native: .*no addon for \S+ was found\. /m);
});

describe("a clone packed for a program", () => {
	let dir: string;
	beforeAll(async () => {
		const packed = join(scratch, "packed");
		const names = [`pi-session-native-${manifest.version}.tgz`, `pi-session-sync-${syncManifest.version}.tgz`];
		const said = checked(spawnSync(process.execPath, [join(root, "scripts/pack.mjs"), packed], { encoding: "utf8" }));
		expect(said.trim().split("\n")).toEqual(names.map((name) => join(packed, name)));
		expect(readdirSync(packed).sort()).toEqual(names);
		const tarball = join(packed, names[0] as string);
		for (const page of ["README.md", "docs/moving-from-pi.md"]) {
			expect(readFileSync(join(root, page), "utf8")).toContain(`/pi-session-native-${manifest.version}.tgz\``);
		}
		dir = await project("program", tarball, ...dependencies);
		// pi as a dependency of the project.
		mkdirSync(join(dir, "node_modules/@earendil-works"), { recursive: true });
		symlinkSync(
			join(root, "scripts/reference/node_modules/@earendil-works/pi-coding-agent"),
			join(dir, "node_modules/@earendil-works/pi-coding-agent"),
		);
		symlinkSync(join(root, "node_modules/@types"), join(dir, "node_modules/@types"));
	});

	test("has the addon of this machine, and runs", async () => {
		const code = `const { SessionManager } = require("pi-session-native"); console.log(SessionManager.inMemory("/x").getCwd());`;
		expect(await run("node", ["-e", code], dir)).toEqual({ code: 0, stdout: "/x\n", stderr: "" });
	});

	// Regression: with a link in node_modules all types of `pi-session-native/pi` were `any`.
	test("both entries reject an unknown method by their types", () => {
		const program = (entry: string) =>
			[
				`import { SessionManager } from "${entry}";`,
				"const manager = SessionManager.inMemory();",
				...["manager.onAppend(() => {});", "manager.thisDoesNotExist(1);", "manager.appendMessage(1);"],
			].join("\n");
		writeFileSync(join(dir, "own.mts"), program("pi-session-native"));
		writeFileSync(join(dir, "for-pi.mts"), program("pi-session-native/pi"));
		const tsc = join(root, "node_modules/typescript-native/bin/tsc");
		const options = "--noEmit --strict --skipLibCheck --exactOptionalPropertyTypes --pretty false";
		const args = [...options.split(" "), "--target", "es2022", "--module", "nodenext", "--types", "node"];
		const run = spawnSync(process.execPath, [tsc, ...args, "own.mts", "for-pi.mts"], { cwd: dir, encoding: "utf8" });
		for (const file of ["own", "for-pi"]) {
			const said = run.stdout.split("\n").filter((line) => line.startsWith(`${file}.mts`));
			expect(said).toEqual([
				expect.stringMatching(/\(4,.*error TS2339: Property 'thisDoesNotExist' does not exist on type/),
				expect.stringMatching(/\(5,.*error TS/),
			]);
		}
	});
});
