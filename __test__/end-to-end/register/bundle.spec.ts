// pi's bundle with our session manager inside, on small fakes: what is replaced there, what is refused, what stops pi. A
// bundle that is refused is said so, and then pi runs unbundled or not at all.
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { Fake, TITLE } from "./fake-bundle.js";
import { node, own, piNative, register, write } from "./fake-pi.js";

describe("a bundle", () => {
	it("runs on our manager, and whatever kept its own when it was loaded kept ours", () => {
		const fake = new Fake();
		fake.runs();
		fake.runs();
	});

	it("is what pi-native starts", () => {
		const fake = new Fake();
		const env = { PI_SESSION_NATIVE_PACKAGE: fake.dir, PI_SESSION_NATIVE_VERBOSE: "1", PATH: fake.cwd };
		const outcome = node([piNative, "one"], { cwd: fake.cwd, env });
		expect(outcome).toMatchObject({ code: 0, stderr: `${own}: the session manager of ${TITLE} (${fake.dir}) is replaced\n` });
		expect(JSON.parse(outcome.stdout)).toMatchObject({ args: ["one"], native: true, captured: true });
	});

	it("gives a script that imports it our manager", () => {
		const fake = new Fake();
		const script = `import { SessionManager } from ${JSON.stringify(join(fake.dir, "dist/bundle/index.js"))};\nconsole.log(String(SessionManager).includes("[native code]"));`;
		const outcome = node(["--import", register, write(join(fake.cwd, "script.mjs"), script)], { cwd: fake.cwd });
		expect(outcome).toEqual({ code: 0, stdout: "true\n", stderr: "" });
	});

	it("runs with a function of the same name in another of its modules", () => {
		const other = 'import { getDefaultSessionDir as ours } from "./session-manager.js";\nexport function getDefaultSessionDir() { return "another one"; }\nexport const where = () => ours("/x");\nexport const captured = () => getDefaultSessionDir() === "another one";\n';
		const fake = new Fake({ files: { "dist/core/sdk.js": other } });
		expect(readFileSync(fake.chunk, "utf8")).toContain("function getDefaultSessionDir2(");
		fake.runs();
	});

	it("runs when it imports itself by way of another file, which runs first and keeps a function: it kept ours", () => {
		const fake = new Fake();
		const loop = `import{getDefaultSessionDir}from"./${basename(fake.chunk)}";export const kept=getDefaultSessionDir;`;
		write(join(dirname(fake.chunk), "loop.js"), loop);
		const check = 'if(kept!==getDefaultSessionDir)throw new Error("another one");export{getDefaultSessionDir};';
		fake.edit(fake.chunk, (text) => `import{kept}from"./loop.js";${text.replace(/(export\{.*?)getDefaultSessionDir,/s, "$1")}${check}`);
		fake.runs();
	});

	it("is run as it is when it has letters beyond ASCII in front of the session manager", () => {
		const fake = new Fake();
		fake.edit(fake.chunk, (text) => `var greeting="Zoë \u{1f44b} \u4f60";${text}`);
		fake.runs();
	});
});

/** Ways to write a second class: by esbuild for a declaration, minified, with a number, not minified. */
const SECOND = ["class SessionManager{", "var x=class r{", "var SessionManager2=class _SessionManager2{", "var SessionManager2 = class _SessionManager {"];
const METHODS = "appendThinkingLevelChange(a){return a}createBranchedSession(a,b=1) {return b}}";

describe("a bundle is refused, and pi runs unbundled,", () => {
	const cases: Record<string, [why: string, change: (fake: Fake) => void]> = {
		"if nothing of it has the class": [
			"nothing that dist/bundle/cli-runtime.js imports has the class SessionManager",
			(fake) => fake.edit(fake.chunk, (text) => text.replaceAll("SessionManager", "Manager")),
		],
		"if the class has its value later": [
			"does not declare SessionManager once",
			(fake) => fake.edit(fake.chunk, (text) => text.replace("var SessionManager=", "var SessionManager;SessionManager=")),
		],
		"if the class is there a second time, by the other name that esbuild gives to it": [
			"does not declare SessionManager once",
			(fake) => fake.edit(fake.chunk, (text) => text.replace(/var SessionManager=(class.*?\};)/s, "$&var SessionManager2=$1")),
		],
		"if a function has another name": [
			"does not declare getDefaultSessionDir once",
			(fake) => fake.edit(fake.chunk, (text) => text.replaceAll("getDefaultSessionDir", "getDefaultSessionFolder")),
		],
		"if a function got a number, and one of another module has its name": [
			"does not declare getDefaultSessionDir once",
			(fake) => fake.edit(fake.chunk, (text) => `function getDefaultSessionDir(){}${text.replaceAll("getDefaultSessionDir", "getDefaultSessionDir2")}`),
		],
		"if a function is declared elsewhere": [
			"does not declare getDefaultSessionDir once",
			(fake) => fake.edit(fake.chunk, (text) => text.replace(/function getDefaultSessionDir[^}]*\}/, "").replace("export{", "function getDefaultSessionDir(){}export{")),
		],
		"if the unbundled module exports what is neither a function nor a number": [
			"getDefaultSessionDir is neither a function nor a number",
			(fake) => fake.edit(join(fake.dir, "dist/core/session-manager.js"), (text) => text.replace(/export function getDefaultSessionDir\((\w+)\)/, "export const getDefaultSessionDir = ($1) =>")),
		],
		"if pi's settings are not within the chunk's reach": [
			"does not see getAgentDir",
			(fake) => fake.edit(fake.chunk, (text) => text.replaceAll("getAgentDir", "getAgentFolder")),
		],
		"if a file that its start imports is missing": [
			"ENOENT",
			(fake) => fake.edit(join(fake.dir, "dist/bundle/cli-runtime.js"), (text) => text.replace("import", 'import"./chunks/missing.js";import')),
		],
	};

	it.each(SECOND)("if the class is there a second time, as %s", (second) => {
		const fake = new Fake();
		fake.edit(fake.chunk, (text) => `{${second}${METHODS}}${text}`);
		fake.runsUnbundled("does not declare SessionManager once");
	});

	it.each(Object.entries(cases))("%s", (_, [why, change]) => {
		const fake = new Fake();
		change(fake);
		fake.runsUnbundled(why);
	});
});

describe("a bundle that cannot run, nor pi unbundled, is stopped with one reason,", () => {
	const stopped = (fake: Fake, why: string) => {
		const outcome = fake.start();
		expect(outcome).toMatchObject({ code: 1, stdout: "" });
		expect(outcome.stderr).toMatch(/^pi-session-native: .*\n$/);
		expect(outcome.stderr).toContain(why);
	};

	it("if its SessionManager has a member that ours has not", () => {
		const declared = "export declare class SessionManager {\n    static teleport(to: string): SessionManager;\n}\n";
		const fake = new Fake({ files: { "dist/core/session-manager.d.ts": declared } });
		stopped(fake, "these members of its SessionManager do not exist here: teleport");
	});

	it("if a name has another value when the chunk has run, by a way that its text does not show", () => {
		for (const [name, value] of [["getDefaultSessionDir", "()=>1"], ["SessionManager", "class{}"]]) {
			const fake = new Fake();
			fake.edit(fake.chunk, (text) => text.replace(/export\{/, `eval("${name}"+"=${value}");export{`));
			stopped(fake, `${name} in the bundle of ${fake.dir} was not replaced. pi was not started`);
		}
	});

	// Regression: a stack of Node's.
	it("if a name is nothing but text in it", () => {
		for (const [name, text] of [["getDefaultSessionDir", "function getDefaultSessionDir("], ["getAgentDir", " getAgentDir,"]]) {
			const fake = new Fake();
			fake.edit(fake.chunk, (chunk) => chunk.replaceAll(name, "another").replace("var SessionManager=", `"${text}";$&`));
			stopped(fake, `the bundle of ${fake.dir} is not as expected: ${name} is not defined. pi was not started`);
		}
	});

	it("if another of its files is missing", () => {
		const fake = new Fake();
		const missing = join(dirname(fake.chunk), "missing.js");
		fake.edit(fake.chunk, (text) => `import"./missing.js";${text}`);
		stopped(fake, `${missing} is not there: was pi updated? Start it again`);
	});

	it.each(SECOND)("if another of its files has a second class, as %s", (second) => {
		const fake = new Fake();
		const copy = join(dirname(fake.chunk), "copy.js");
		write(copy, second + METHODS);
		fake.edit(join(fake.dir, "dist/bundle/cli-runtime.js"), (text) => `${text};import"./chunks/copy.js";`);
		stopped(fake, `${copy} has a session manager of its own`);
	});

	it("if its session manager exports a name that ours has not", () => {
		const fake = new Fake();
		const manager = `${readFileSync(join(fake.dir, "dist/core/session-manager.js"), "utf8")}export function futureThing(a) { return a.future; }\n`;
		stopped(new Fake({ files: { "dist/core/session-manager.js": manager } }), "these names of its session manager do not exist here: futureThing");
	});

	it("if its session manager has another version of sessions", () => {
		const fake = new Fake();
		const manager = readFileSync(join(fake.dir, "dist/core/session-manager.js"), "utf8").replace("VERSION = 3", "VERSION = 4");
		stopped(new Fake({ files: { "dist/core/session-manager.js": manager } }), "these numbers are others here: CURRENT_SESSION_VERSION");
	});
});

const BUNDLED_AGAIN = `import { SessionManager } from "./core/session-manager.js";
import { where } from "./core/sdk.js";
export async function main([specifier]) {
	const again = await import(specifier);
	console.log(Object.values(again).includes(SessionManager) && where().length > 0 && SessionManager.inMemory().getEntryCount() === 0);
}
`;

describe("a bundle that changes", () => {
	it("by hand is looked at again, and run or refused for what it is now", () => {
		const fake = new Fake();
		fake.runs();
		fake.edit(fake.chunk, (text) => `var more=1;${text}`);
		fake.runs();
		fake.edit(fake.chunk, (text) => text.replaceAll("getAgentDir", "getAgentFolder"));
		fake.runsUnbundled("does not see getAgentDir");
		fake.edit(fake.chunk, (text) => text.replaceAll("getAgentFolder", "getAgentDir"));
		fake.runs();
	});

	it("cannot be loaded a second time by a query", () => {
		const fake = new Fake({ files: { "dist/main.js": BUNDLED_AGAIN } });
		const { code, stdout } = fake.start([`./${basename(fake.chunk)}?again`]);
		expect({ code, stdout }).toEqual({ code: 0, stdout: "true\n" });
	});

	const LATE = `import { readFileSync, writeFileSync } from "node:fs";
import { CURRENT_SESSION_VERSION, SessionManager } from "./core/session-manager.js";
import { where } from "./core/sdk.js";
export async function main([chunk]) {
	console.log(CURRENT_SESSION_VERSION, SessionManager.inMemory().getEntryCount(), where() !== "nowhere");
	const updated = chunk.replace(/[^/]*$/, "updated.js");
	writeFileSync(updated, readFileSync(chunk));
	await import(updated).catch((error) => console.log(error.message));
	await import("./chunks/missing.js").catch((error) => console.log(error.code));
	await import("./late.js").then(({ late }) => console.log(late));
}
`;

	// Regression: pi was ended by such a module.
	it("while pi runs, by an update with a second session manager: that import fails, and pi goes on", () => {
		const fake = new Fake({ files: { "dist/main.js": LATE } });
		const { code, stdout } = fake.start([fake.chunk]);
		const updated = join(dirname(fake.chunk), "updated.js");
		expect(stdout).toBe(`3 0 true\npi-session-native: ${updated} has a session manager of its own: was pi updated? Start it again\nERR_MODULE_NOT_FOUND\nthe late module runs\n`);
		expect(code).toBe(0);
	});
});
