// Tests the package on other platforms under emulators on Linux x64: the smoke test, the packages of a release, an
// addon of another platform, the core's tests and a part of the unit tests; on Windows all unit tests and the tests of
// the commands.
//   npm run platforms                   linux-arm64, linux-musl, windows, and the tests of loading on linux-arm64-musl
//   npm run platforms -- windows        only this one
//   npm run platforms -- windows --specs __test__/unit/contract/tree.spec.ts       only these files
//   npm run platforms -- windows -t "a title"                                      only this test
// The tools are installed once, outside of the repository (scripts/platforms/setup.mjs), as root or by sudo. The addon
// is built without optimisation. scripts/platforms/known.json lists the tests that cannot pass because of an emulator,
// with the reasons. They do not count. If one of them passes, that is an error, unless it fails only now and then
// (`isOccasional`). The last line is the sum: `N passed, N failed`.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
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
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runBounded } from "./bounded.mjs";
import { build, compilerOf } from "./cross.mjs";
import { optionsOf } from "./options.mjs";
import { cache, PLATFORMS } from "./platforms/setup.mjs";
import { earlierDir, referenceDir, setup as setUpReference, typesDir } from "./reference/setup.mjs";
import { dryRun } from "./release.mjs";
import { compared, reported, reportedByCargo } from "./report.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const VITEST = "node_modules/vitest/vitest.mjs";
/** The time limit of one command on two processors. No run that ended needed half of it. */
const MINUTES = 40;
const LOADING = "runtimes/loading.spec.ts";
/** On Windows all unit tests and the tests of the commands, because no other run has them on Windows. */
function specsOf(name) {
	if (name === "windows") return ["__test__/unit/", "__test__/integration/cli/"];
	const specs = PLATFORMS[name].isAddonOnly ? [LOADING] : ["contract/", "faults/", "lazy/", "catalog/", LOADING];
	return specs.map((path) => `__test__/unit/${path}`);
}

const run = (scratch, command, args, cwd, env) =>
	runBounded(join(scratch, "output"), command, args, { cwd, env: { ...process.env, ...env }, minutes: MINUTES });

/** npm's packages for Windows, because some contain a program. */
function modulesForWindows() {
	const files = ["package.json", "package-lock.json", "packages/sync/package.json"];
	const hash = createHash("sha256");
	for (const file of files) hash.update(readFileSync(join(root, file)));
	const dir = join(cache, `windows-modules-${hash.digest("hex").slice(0, 16)}`);
	if (!existsSync(join(dir, "done"))) {
		mkdirSync(dir, { recursive: true });
		for (const file of files) cpSync(join(root, file), join(dir, file));
		const args = ["install", "--os=win32", "--cpu=x64", "--ignore-scripts", "--no-save", "--no-audit", "--no-fund"];
		if (spawnSync("npm", args, { cwd: dir, stdio: "inherit" }).status !== 0)
			throw new Error("npm does not install the packages for Windows");
		writeFileSync(join(dir, "done"), "");
	}
	return join(dir, "node_modules");
}

/** A copy of the files that git knows or does not ignore, with packages beside them and no addon. */
function makeClone(dir, modules) {
	const { stdout } = spawnSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
		cwd: root,
		encoding: "utf8",
	});
	for (const file of stdout.split("\0").filter((name) => name !== "" && existsSync(join(root, name))))
		cpSync(join(root, file), join(dir, file));
	symlinkSync(modules, join(dir, "node_modules"));
	// The package of stores loads this clone, not the checkout that npm has linked into the packages. A link would be
	// another path under wine, which does not resolve it, and the addon would be loaded twice.
	const own = join(dir, "packages/sync/node_modules/pi-session-native");
	mkdirSync(own, { recursive: true });
	const [main, module] = ["index.js", "index.mjs"].map((file) => JSON.stringify(`../../../../${file}`));
	writeFileSync(join(own, "index.js"), `module.exports = require(${main});\n`);
	writeFileSync(join(own, "index.mjs"), `export * from ${module};\nexport { default } from ${module};\n`);
	const exports = { ".": { import: "./index.mjs", default: "./index.js" }, "./package.json": "./package.json" };
	writeFileSync(join(own, "package.json"), JSON.stringify({ name: "pi-session-native", exports }));
	for (const path of [join(root, "scripts/reference/node_modules"), referenceDir, earlierDir, typesDir])
		symlinkSync(path, join(dir, "scripts/reference", basename(path)));
}

const checked = (name, isGood) => ({
	passed: isGood ? 1 : 0,
	failed: isGood ? 0 : 1,
	notRun: 0,
	names: isGood ? [] : [name],
	passes: isGood ? [name] : [],
});

function smoke(scratch, clone, node) {
	const { code, output } = run(scratch, node, ["scripts/smoke.mjs"], clone, {});
	return checked("scripts/smoke.mjs", code === 0 && output.includes("works on "));
}

/**
 * Packs the main package, pi-session-sync and the platform's package as for a release, installs them in an empty
 * project, and tries them there.
 */
function packages(scratch, clone, node, addon) {
	const [folder, project] = [join(scratch, "packages"), join(scratch, "project")];
	dryRun(clone, folder);
	mkdirSync(project);
	writeFileSync(join(project, "package.json"), JSON.stringify({ private: true }));
	const [os, cpu, abi] = addon.split("-");
	const here = [`--os=${os}`, `--cpu=${cpu}`, ...(os === "linux" ? [`--libc=${abi === "gnu" ? "glibc" : abi}`] : [])];
	const tarballs = readdirSync(folder).map((name) => join(folder, name));
	// With --force, because npm refuses a named package for another system.
	const installed = run(
		scratch,
		"npm",
		["install", "--force", ...here, "--no-audit", "--no-fund", ...tarballs],
		project,
		{},
	);
	const { code, output } = run(
		scratch,
		node,
		[join(clone, "scripts/smoke.mjs"), "node_modules/pi-session-native"],
		project,
		{},
	);
	return checked(
		"packages of a release",
		installed.code === 0 && tarballs.length === 3 && code === 0 && output.includes("works on "),
	);
}

/**
 * Replaces the platform's addon by one for Linux x64 with glibc. Checks that the error says what was found, what is
 * needed and what to install.
 */
function wrongAddon(scratch, clone, node, addon) {
	const dir = join(scratch, "wrong");
	const file = join(dir, `pi-session-native.${addon}.node`);
	for (const part of ["index.js", "package.json", "lib/load-error.js"]) cpSync(join(clone, part), join(dir, part));
	const own = join(root, "pi-session-native.linux-x64-gnu.node");
	if (existsSync(own)) cpSync(own, file);
	else build("x86_64-unknown-linux-gnu", "dev", file);
	const { code, output } = run(scratch, node, ["-e", 'require("./index.js")'], dir, {});
	const said = [
		`pi-session-native: the addon for ${addon} does not load: `,
		`elsewhere install pi-session-native-${addon} in the same version.`,
	];
	return checked("an addon of another platform", code !== 0 && said.every((text) => output.includes(text)));
}

/** Runs the core's tests, by `runner` if there is one. */
function rust(scratch, triple, runner) {
	const { cargo, env } = compilerOf(triple);
	const [command, ...args] = cargo("test", "-p", "pi-session-core", "--lib", "--no-fail-fast");
	const variable = `CARGO_TARGET_${triple.toUpperCase().replaceAll("-", "_")}_RUNNER`;
	const { code, output } = run(scratch, command, args, root, runner ? { ...env, [variable]: runner } : env);
	return reportedByCargo(code, output);
}

function vitest(scratch, name, clone, node, { specs = specsOf(name), test }) {
	// On Windows Node runs vitest itself; elsewhere vitest runs on this machine, because its packages contain programs
	// for this machine.
	const isWindows = name === "windows";
	const env = {
		PSN_COUNTS: "taste",
		...(isWindows
			? {}
			: { PSN_PLATFORM_NODE: node, NODE_OPTIONS: `--require=${join(clone, "scripts/platforms/exec-path.cjs")}` }),
	};
	const args = [VITEST, "run", "--silent=passed-only", ...specs, ...(test ? ["-t", test] : [])];
	return reported(
		async (reporters) => run(scratch, isWindows ? node : process.execPath, [...args, ...reporters], clone, env).code,
		{
			again: (file) => `npm run platforms -- ${name} --specs ${file}`,
			isFiltered: test !== undefined,
		},
	);
}

/** Returns the sum of one platform, and its failures by name. */
async function tryOn(name, options) {
	const { triple, addon, setup, isAddonOnly } = PLATFORMS[name];
	const { runner, node } = setup();
	const scratch = mkdtempSync(join(tmpdir(), "pi-session-native-platform-"));
	try {
		const clone = join(scratch, "clone");
		makeClone(clone, name === "windows" ? modulesForWindows() : join(root, "node_modules"));
		build(triple, "dev", join(clone, `pi-session-native.${addon}.node`));
		const isWhole = options.specs === undefined && options.test === undefined;
		const results = isWhole
			? [smoke(scratch, clone, node), packages(scratch, clone, node, addon), wrongAddon(scratch, clone, node, addon)]
			: [];
		if (isWhole && !isAddonOnly) results.push(rust(scratch, triple, runner));
		results.push(await vitest(scratch, name, clone, node, options));
		const known = JSON.parse(readFileSync(join(root, "scripts/platforms/known.json"), "utf8"))[name] ?? [];
		const testsOf = (groups) => groups.flatMap(({ tests }) => tests);
		const occasional = testsOf(known.filter(({ isOccasional }) => isOccasional));
		return { name, ...compared(results, testsOf(known), isWhole, occasional) };
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
}

const { values, positionals } = optionsOf(import.meta.url, {
	options: { specs: { type: "string", multiple: true }, test: { type: "string", short: "t" } },
	allowPositionals: true,
});
const unknown = positionals.filter((name) => !PLATFORMS[name]);
if (unknown.length > 0)
	throw new Error(`Not a platform: ${unknown.join(", ")}; there are ${Object.keys(PLATFORMS).join(", ")}`);
setUpReference();
const rows = [];
// A failed installation or build counts as a failure, so that the last line is always the sum.
const broken = (name, { message }) => ({
	name,
	passed: 0,
	failed: 1,
	known: 0,
	notRun: 0,
	names: [`before its tests\n      ${message}`],
});
for (const name of positionals.length > 0 ? positionals : Object.keys(PLATFORMS))
	rows.push(await tryOn(name, values).catch((error) => broken(name, error)));
for (const { name, names } of rows) for (const failure of names) console.log(`\n  FAILED on ${name}: ${failure}`);
console.log("");
for (const { name, passed, failed, known, notRun } of rows)
	console.log(name.padEnd(12), `${passed} passed, ${failed} failed, ${known} known to fail, ${notRun} not run`);
const sum = (key) => rows.reduce((whole, row) => whole + row[key], 0);
console.log(`\n${sum("passed")} passed, ${sum("failed")} failed`);
process.exitCode = sum("failed") > 0 ? 1 : 0;
