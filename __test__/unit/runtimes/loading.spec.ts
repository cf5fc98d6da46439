// Loads the package by its name, as other packages do: by `require`, by `import`, by both, and through bundlers that
// leave it external.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { scriptCommand } from "../../support/runtime.js";
import { root, scratch } from "../../support/scratch.js";
import { testIf } from "../../support/windows.js";

/** A project with this package in its `node_modules`. */
function project(): string {
	const dir = scratch();
	mkdirSync(join(dir, "node_modules"));
	// A junction is a link that every user of Windows may create.
	symlinkSync(root, join(dir, "node_modules/pi-session-native"), "junction");
	// Deno finds a package in `node_modules` only if a manifest names it.
	writeFileSync(join(dir, "package.json"), JSON.stringify({ dependencies: { "pi-session-native": "*" } }));
	return dir;
}

/** Runs a file of the project in this runtime. Returns its output. */
function run(dir: string, name: string, code?: string): string {
	const file = join(dir, name);
	if (code !== undefined) writeFileSync(file, code);
	const [command, ...args] = scriptCommand(file);
	return execFileSync(command as string, args, { cwd: dir, encoding: "utf8" });
}

const USE = `
	const manager = SessionManager.inMemory("/x");
	manager.appendMessage({ role: "user", content: "hello", timestamp: 1 });
	console.log(manager.getEntryCount(), buildSessionContext(manager.getEntries()).messages[0].content, CURRENT_SESSION_VERSION);`;
const NAMES = "{ SessionManager, buildSessionContext, CURRENT_SESSION_VERSION }";

describe("the package is loaded", () => {
	test("by require", () => {
		expect(run(project(), "a.cjs", `const ${NAMES} = require("pi-session-native");${USE}`)).toBe("1 hello 3\n");
	});

	test("by import, with the names that require gives", () => {
		const names = (all: string) =>
			`console.log(Object.keys(${all}).filter((name) => name !== "default" && name !== "module.exports").sort().join());`;
		const required = run(project(), "a.cjs", `const all = require("pi-session-native");${names("all")}`);
		expect(required).toContain("SessionManager");
		expect(required).toContain("__napiBindingTarget");
		expect(run(project(), "a.mjs", `import * as all from "pi-session-native";${names("all")}`)).toBe(required);
		const same = `import { createRequire } from "node:module"; import all, { SessionManager } from "pi-session-native";
			const required = createRequire(import.meta.url)("pi-session-native");
			console.log(all === required, SessionManager === required.SessionManager);`;
		expect(run(project(), "b.mjs", same)).toBe("true true\n");
	});

	test("by import, by name and whole", () => {
		expect(run(project(), "a.mjs", `import ${NAMES} from "pi-session-native";${USE}`)).toBe("1 hello 3\n");
		const whole = `import * as all from "pi-session-native";\nconst ${NAMES} = all;${USE}`;
		expect(run(project(), "b.mjs", whole)).toBe("1 hello 3\n");
		const late = `const ${NAMES} = await import("pi-session-native");${USE}`;
		expect(run(project(), "c.mjs", late)).toBe("1 hello 3\n");
	});

	describe("if no addon loads, the error names the remedy:", () => {
		/** The package without an addon, and this platform's name. */
		function bare(): { dir: string; target: string; said(): string } {
			const dir = join(scratch(), "pi-session-native");
			mkdirSync(join(dir, "lib"), { recursive: true });
			for (const name of ["index.js", "package.json", "lib/load-error.js"])
				copyFileSync(join(root, name), join(dir, name));
			const said = () =>
				run(dir, "a.cjs", `try { require("./index.js") } catch (error) { console.log(error.message) }`)
					.replace("pi-session-native: ", "")
					.trim();
			return { dir, target: /no addon for (\S+) was found/.exec(said())?.[1] as string, said };
		}
		const remedy = (target: string) =>
			`In a clone run \`npm install && npm run build\`; elsewhere install pi-session-native-${target} in the same version.`;
		const platforms = readdirSync(join(root, "npm")).sort();

		// Regression: napi's loader blamed npm, and told people to delete their lock file.
		test("none is there", () => {
			const { target, said } = bare();
			expect(platforms).toContain(target);
			expect(said()).toBe(`no addon for ${target} was found. ${remedy(target)}`);
		});

		test("it is an addon for another system, or no addon", () => {
			const { dir, target, said } = bare();
			writeFileSync(join(dir, `pi-session-native.${target}.node`), "no addon");
			expect(said()).toContain(`the addon for ${target} does not load: `);
			expect(said()).toContain(`. ${remedy(target)}`);
		});

		test("the system's glibc is too old", () => {
			const { dir, target } = bare();
			const reason =
				"/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.99' not found (required by /x/pi-session-native.linux-x64-gnu.node)";
			const code = `const { loadErrorMessage } = require("./lib/load-error.js");
				const failed = Object.assign(new Error(${JSON.stringify(reason)}), { code: "ERR_DLOPEN_FAILED" });
				console.log(loadErrorMessage([failed], ${target.endsWith("-musl")}));`;
			expect(run(dir, "b.cjs", code)).toMatch(
				/^pi-session-native: the addon for \S+ does not load: .*version `GLIBC_2\.99' not found .*\. In a clone run /,
			);
		});

		test("there is no package for the system", () => {
			const { dir } = bare();
			const code = `Object.defineProperty(process, "arch", { value: "riscv32" });
				try { require("./index.js") } catch (error) { console.log(error.message) }`;
			expect(run(dir, "b.cjs", code)).toMatch(
				/^pi-session-native: there is no package for \w+-riscv32\S*\. You can build it in a clone: `npm install && npm run build`\.$/m,
			);
		});
	});

	// Regression: if the system's `ldd` belonged to another C library than Node, the loader looked for the wrong addon.
	testIf(process.platform === "linux", "programs of other systems name no C library")(
		"for the C library that Node's program names",
		() => {
			const dir = scratch();
			mkdirSync(join(dir, "lib"));
			for (const name of ["index.js", "package.json", "lib/load-error.js"])
				copyFileSync(join(root, name), join(dir, name));
			for (const [linker, libc] of [
				["ld-musl-x86_64.so.1", "musl"],
				["ld-linux-x86-64.so.2", "gnu"],
			]) {
				writeFileSync(join(dir, "node"), `\x7fELF/lib/${linker}`);
				const code = `process.execPath = ${JSON.stringify(join(dir, "node"))};
				try { require("./index.js") } catch (error) { console.log(error.message) }`;
				expect(run(dir, `${libc}.cjs`, code)).toMatch(new RegExp(`no addon for linux-\\w+-${libc} was found`));
			}
		},
	);

	// Regression: the message said that the package was not installed.
	test("if the variable names no addon, the error names it", () => {
		const path = join(scratch(), "nowhere.node");
		const code = `process.env.NAPI_RS_NATIVE_LIBRARY_PATH = ${JSON.stringify(path)};
			try { require("pi-session-native") } catch (error) { console.log(error.message) }`;
		expect(run(project(), "a.cjs", code)).toMatch(
			`pi-session-native: NAPI_RS_NATIVE_LIBRARY_PATH is ${path}, which is no addon for `,
		);
	});

	test("by require, import and its entry for pi alike", () => {
		const code = `
			import { createRequire } from "node:module";
			import { SessionManager } from "pi-session-native";
			import { SessionManager as forPi } from "pi-session-native/pi";
			const required = createRequire(import.meta.url)("pi-session-native").SessionManager;
			console.log(SessionManager === required, SessionManager === forPi);
			console.log(required.inMemory("/x") instanceof SessionManager);`;
		expect(run(project(), "a.mjs", code)).toBe("true true\ntrue\n");
	});
});

describe("a bundle that leaves the package external works:", () => {
	for (const format of ["esm", "cjs"] as const) {
		test(format, async () => {
			const dir = project();
			writeFileSync(join(dir, "helper.mjs"), `export const cwd = "/x".concat("");`);
			writeFileSync(
				join(dir, "source.mjs"),
				`import ${NAMES} from "pi-session-native";\nimport { cwd } from "./helper.mjs";\nif (cwd !== "/x") throw new Error(cwd);${USE}`,
			);
			const outfile = join(dir, format === "esm" ? "out.mjs" : "out.cjs");
			const { warnings } = await build({
				entryPoints: [join(dir, "source.mjs")],
				outfile,
				bundle: true,
				platform: "node",
				format,
				external: ["pi-session-native"],
				minify: true,
			});
			expect(warnings).toEqual([]);
			expect(run(dir, format === "esm" ? "out.mjs" : "out.cjs")).toBe("1 hello 3\n");
		});
	}
});
