// The package by its name, as others load it: `require`, `import`, both, and through bundlers that leave it external.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { scriptCommand } from "../../support/runtime.js";
import { root, scratch } from "../../support/scratch.js";

/** A project that has this package among its own. */
function project(): string {
	const dir = scratch();
	mkdirSync(join(dir, "node_modules"));
	symlinkSync(root, join(dir, "node_modules/pi-session-native"));
	// Deno finds in `node_modules` what a manifest names.
	writeFileSync(join(dir, "package.json"), JSON.stringify({ dependencies: { "pi-session-native": "*" } }));
	return dir;
}

/** Runs a file of the project in this runtime; gives what it says. */
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
		const names = (all: string) => `console.log(Object.keys(${all}).filter((name) => name !== "default" && name !== "module.exports").sort().join());`;
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

	// Regression: napi's loader blamed a bug of npm, and told people to delete their lock file.
	test("without an addon the error says how to get one", () => {
		const dir = scratch();
		for (const name of ["index.js", "package.json"]) copyFileSync(join(root, name), join(dir, name));
		const said = run(dir, "a.cjs", `try { require("./index.js") } catch (error) { console.log(error.message) }`);
		const advice = "In a clone run `npm install && npm run build`; elsewhere install pi-session-native-(TARGET) in the same version.\n";
		const target = /no addon for (\S+) was found/.exec(said)?.[1] as string;
		expect(readdirSync(join(root, "npm"))).toContain(target);
		expect(said).toBe(`pi-session-native: no addon for ${target} was found. ${advice.replace("(TARGET)", target)}`);
	});

	test("with an addon that is none the error says what is wrong with it", () => {
		const dir = scratch();
		for (const name of ["index.js", "package.json"]) copyFileSync(join(root, name), join(dir, name));
		for (const target of readdirSync(join(root, "npm"))) writeFileSync(join(dir, `pi-session-native.${target}.node`), "no addon");
		const said = run(dir, "a.cjs", `try { require("./index.js") } catch (error) { console.log(error.message) }`);
		expect(said).toMatch(/^pi-session-native: the addon for \S+ does not load: /);
	});

	// Regression: it read as if the package were not installed.
	test("where the variable names no addon the error names the variable", () => {
		const path = join(scratch(), "nowhere.node");
		const code = `process.env.NAPI_RS_NATIVE_LIBRARY_PATH = ${JSON.stringify(path)};
			try { require("pi-session-native") } catch (error) { console.log(error.message) }`;
		expect(run(project(), "a.cjs", code)).toMatch(`pi-session-native: NAPI_RS_NATIVE_LIBRARY_PATH is ${path}, and there is no addon for `);
	});

	test("by both in one process as one class, and so by its entry for pi", () => {
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
