// pi's bundle with our session manager inside, on small fakes: what is replaced there, what is refused, what stops pi. A
// bundle that is refused is said so, and then pi runs unbundled or not at all.
import { readFileSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { Fake, PLANTED, TITLE, planOf } from "./fake-bundle.js";
import { node, own, piNative, register, write } from "./fake-pi.js";

/** A fake whose class is a declaration in the chunk. */
function declaredClass(): Fake {
	const fake = new Fake();
	fake.edit(fake.chunk, (text) => {
		const [, inner] = /var SessionManager=class (\w*)\s*\{/.exec(text) ?? [];
		const start = text.indexOf("var SessionManager=class");
		const end = text.indexOf("};", start) + 2;
		const body = text.slice(text.indexOf("{", start), end - 1).replaceAll(inner || "_SessionManager", "SessionManager");
		return `${text.slice(0, start)}class SessionManager${body}${text.slice(end)}`;
	});
	return fake;
}

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

	it("runs with a class and a function that the bundler left as declarations", () => {
		const fake = declaredClass();
		fake.runs();
		const whole = readFileSync(fake.plan, "utf8");
		const changes = [(value: any) => (value.end += 1), (value: any) => (value.end -= 1), (value: any) => (value.start -= 1), (value: any) => (value.declares = false)];
		for (const change of changes) {
			writeFileSync(fake.plan, whole);
			fake.plant((plan) => change(plan.values[1]));
			fake.runs();
			expect(planOf(readFileSync(fake.plan, "utf8"))).toEqual(planOf(whole));
		}
	});

	it("runs with names that are only read in ways that look like patterns, and with declarations among others", () => {
		const fake = new Fake();
		const reads = [
			"function reads(a,b){return[{a:SessionManager,b},[SessionManager,b],{SessionManager},(SessionManager),`${[SessionManager]}`,a==SessionManager]}",
			"function shows(b=[SessionManager],c={SessionManager,b}){return(SessionManager)==b||SessionManager===c?{a:SessionManager}:({SessionManager})=>b}",
		];
		fake.edit(fake.chunk, (text) => `${text};${reads.join("")}`.replace("var SessionManager=", "var first={a:function(){var x=1;return x}},SessionManager="));
		fake.runs();
	});

	it("runs with names that are exported where they are declared", () => {
		const fake = new Fake();
		fake.edit(fake.chunk, (text) => text.replace(/(export\{.*?)CURRENT_SESSION_VERSION,/s, "$1").replace("var CURRENT_SESSION_VERSION=", "export var CURRENT_SESSION_VERSION="));
		expect(readFileSync(fake.chunk, "utf8")).toMatch(/export var CURRENT_SESSION_VERSION=(?!.*export\{[^}]*CURRENT_SESSION_VERSION)/s);
		fake.runs();
	});

	it("tells a user who waits at a terminal for more than a second what for, and nobody else", () => {
		const start = (isTTY: boolean) => {
			const fake = new Fake();
			const clock = write(join(fake.cwd, "clock.mjs"), `let now = 0;\nperformance.now = () => (now += 600);\nprocess.stderr.isTTY = ${isTTY};\n`);
			const args = ["--import", clock, "--import", register, join(fake.dir, "dist/bundle/cli.js"), "one"];
			const first = node(args, { cwd: fake.cwd });
			expect(node(args, { cwd: fake.cwd })).toEqual({ ...first, stderr: "" });
			return first;
		};
		expect(start(true)).toMatchObject({ code: 0, stderr: `${own}: reading the bundle of ${TITLE}, once for each version of pi\n` });
		expect(start(false)).toMatchObject({ code: 0, stderr: "" });
	});

	it("is run as it is when it has letters beyond ASCII in front of the session manager", () => {
		const fake = new Fake();
		fake.edit(fake.chunk, (text) => `var greeting="Zoë \u{1f44b} \u4f60";${text}`);
		fake.runs();
	});
});

describe("a bundle is refused, and pi runs unbundled,", () => {
	const cases: Record<string, [why: string, change: (fake: Fake) => void]> = {
		"if two chunks have the same names": [
			"SessionManager is declared more than once",
			({ chunk }) => write(join(dirname(chunk), "other.js"), "var SessionManager=class{};export{SessionManager};"),
		],
		"if a name was changed": [
			"nothing in its bundle declares getDefaultSessionDir",
			(fake) => fake.edit(fake.chunk, (text) => text.replaceAll("getDefaultSessionDir", "getDefaultSessionDir2")),
		],
		"if a second copy of the class has another name, which bundlers give to what collides": [
			"has a second class with the methods of SessionManager",
			({ chunk }) => {
				const [copy] = /class \w*\s*\{.*?\};/s.exec(readFileSync(chunk, "utf8").split("var SessionManager=")[1]) ?? [];
				write(join(dirname(chunk), "copy.js"), `var kept=[${copy?.replace(/;$/, "")}];export{kept};`);
			},
		],
		"if a name is bound a second time by a pattern": [
			"SessionManager is declared more than once",
			({ chunk }) => write(join(dirname(chunk), "other.js"), "var{a:[SessionManager]}={a:[1]};export{SessionManager};"),
		],
		"if a name is bound a second time by a var in a block": [
			"SessionManager is declared more than once",
			({ chunk }) => write(join(dirname(chunk), "other.js"), "if(1){for(var SessionManager of[1]);}export{SessionManager};"),
		],
		"if the chunk is no valid UTF-8": [
			"is not valid UTF-8",
			({ chunk }) => writeFileSync(chunk, Buffer.concat([Buffer.from('var broken="'), Buffer.from([0xe9]), Buffer.from('";'), readFileSync(chunk)])),
		],
		"if the unbundled module has an export that is no declaration on a line of its own": [
			"does not write each export as a declaration",
			(fake) =>
				fake.edit(join(fake.dir, "dist/core/session-manager.js"), (text) =>
					text.replace("export function getDefault", "function getDefault").concat("export { getDefaultSessionDir };\n"),
				),
		],
		"if something assigns to a name": [
			"assigns to getDefaultSessionDir",
			(fake) => fake.edit(fake.chunk, (text) => `function later(){[{getDefaultSessionDir}]=[{}]}${text}`),
		],
		"if something assigns to a name behind others in a pattern": [
			"assigns to SessionManager",
			(fake) => fake.edit(fake.chunk, (text) => `${text}function later(a,b){({a:[b.c[0],SessionManager],...b}={a})}`),
		],
		"if something assigns to a name in the head of a loop": [
			"assigns to SessionManager",
			(fake) => fake.edit(fake.chunk, (text) => `${text}function later(){for(SessionManager of[1]);}`),
		],
		"if something assigns to a name with an operator, or in brackets": [
			"assigns to getDefaultSessionDir",
			(fake) => fake.edit(fake.chunk, (text) => `${text}function later(){getDefaultSessionDir||=1;(getDefaultSessionDir)=2}`),
		],
		"if the text of something that assigns to a name is in it": [
			"assigns to SessionManager",
			(fake) => fake.edit(fake.chunk, (text) => text.replace("export{", 'eval("SessionManager=class{}");export{')),
		],
		"if a name is declared in a function": [
			"is not declared by itself",
			(fake) => fake.edit(fake.chunk, (text) => text.replace(/^([^]*)(export\{[^]*)$/, "(()=>{$1})();$2")),
		],
		"if a name is the name of a function's value": [
			"getDefaultSessionDir is not declared by itself",
			(fake) => fake.edit(fake.chunk, (text) => text.replace(/function getDefaultSessionDir[^}]*\}/, "var other=$&;")),
		],
		"if a function of that name is another one": [
			"getDefaultSessionDir in dist/bundle/chunks/",
			(fake) => fake.edit(fake.chunk, (text) => text.replace("cwd.length", "cwd.size")),
		],
		"if the class is another one": [
			"SessionManager in dist/bundle/chunks/",
			(fake) => fake.edit(fake.chunk, (text) => text.replace("getEntryCount(){", "getEntries(){")),
		],
		"if a constant has another value": [
			"differs from the unbundled module's",
			(fake) => fake.edit(fake.chunk, (text) => text.replace("CURRENT_SESSION_VERSION=3", "CURRENT_SESSION_VERSION=4")),
		],
		"if a name has its value later": [
			"SessionManager has no value where",
			(fake) => fake.edit(fake.chunk, (text) => text.replace("var SessionManager=", "var SessionManager;SessionManager=")),
		],
		"if the names are in another order": [
			"in another order",
			(fake) =>
				fake.edit(fake.chunk, (text) => text.replace(/var CURRENT_SESSION_VERSION=3;/, "").concat("var CURRENT_SESSION_VERSION=3;")),
		],
		"if the chunk does not parse": [
			"is not understood: Unexpected token",
			(fake) => fake.edit(fake.chunk, (text) => `${text}]`),
		],
		"if the chunk imports itself by way of another": [
			"imports itself by way of others",
			(fake) => {
				write(join(dirname(fake.chunk), "loop.js"), `import"./${basename(fake.chunk)}";`);
				fake.edit(fake.chunk, (text) => `import"./loop.js";${text}`);
			},
		],
		"if a file of it is missing": [
			"which is not there",
			(fake) => fake.edit(fake.chunk, (text) => `import"./missing.js";${text}`),
		],
		"if another file passes the names on": [
			"dist/bundle/chunks/passing.js passes exports of dist/bundle/chunks/",
			({ chunk }) =>
				write(join(dirname(chunk), "passing.js"), `export{SessionManager as another}from"./${basename(chunk)}";`),
		],
		"if the names leave the chunk under others": [
			"exports SessionManager as Other",
			(fake) => fake.edit(fake.chunk, (text) => text.replace(/export\{.*SessionManager/, "$& as Other")),
		],
		"if its command starts something else": [
			"dist/bundle/cli.js starts something else than",
			({ dir }) => write(join(dir, "dist/bundle/cli.js"), 'import{createRequire}from"node:module";for(const one of["../elsewhere.js","./cli-runtime.js"])createRequire(import.meta.url)(one);'),
		],
		"if pi's settings are not within the chunk's reach": [
			"getAgentDir is declared more than once",
			({ chunk }) => write(join(dirname(chunk), "config.js"), "function getAgentDir(){}export{getAgentDir};"),
		],
	};

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
		// What is remembered is what it needs, not what we have.
		stopped(fake, "these members of its SessionManager do not exist here: teleport");
	});

	it("if a name has another value when the chunk has run, by a way that its text does not show", () => {
		for (const [name, value] of [["getDefaultSessionDir", "()=>1"], ["SessionManager", "class{}"]]) {
			const fake = new Fake();
			fake.edit(fake.chunk, (text) => text.replace(/export\{/, `eval("${name}"+"=${value}");export{`));
			stopped(fake, `${name} in dist/bundle/chunks/${basename(fake.chunk)} of ${fake.dir} was not replaced. pi was not started`);
		}
	});

	it("if it uses a name that ours has not", () => {
		const fake = new Fake();
		const files = {
			"dist/core/session-manager.js": `${readFileSync(join(fake.dir, "dist/core/session-manager.js"), "utf8")}export function futureThing(a) { return a.future; }\n`,
			"dist/core/later.js": `import { futureThing } from "./session-manager.js";\nexport const later = futureThing;\n`,
			"dist/index.js": `${readFileSync(join(fake.dir, "dist/index.js"), "utf8")}export { later } from "./core/later.js";\n`,
		};
		stopped(new Fake({ files }), "these names that it imports do not exist here: futureThing");
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
		fake.edit(fake.chunk, (text) => text.replace("cwd.length", "cwd.size"));
		fake.runsUnbundled("differs from the unbundled module's");
		fake.edit(fake.chunk, (text) => text.replace("cwd.size", "cwd.length"));
		fake.runs();
	});

	it("in its times alone is not analysed again", () => {
		const fake = new Fake();
		fake.runs();
		fake.plant(PLANTED);
		utimesSync(fake.chunk, new Date(0), new Date(0));
		fake.runsUnbundled("planted");
	});

	it("cannot be loaded a second time by a query", () => {
		const fake = new Fake({ files: { "dist/main.js": BUNDLED_AGAIN } });
		const { code, stdout } = fake.start([`./${basename(fake.chunk)}?again`]);
		expect({ code, stdout }).toEqual({ code: 0, stdout: "true\n" });
	});

	const LATE = `import { writeFileSync } from "node:fs";
import { CURRENT_SESSION_VERSION, SessionManager } from "./core/session-manager.js";
import { where } from "./core/sdk.js";
export async function main([, path, specifier]) {
	console.log("started", CURRENT_SESSION_VERSION, SessionManager.inMemory().getEntryCount(), where() !== "nowhere");
	writeFileSync(path, 'console.log("the new one runs");export const late = 1;');
	if (specifier) await import(specifier);
	else await import("./late.js");
}
`;

	it("while pi runs is not loaded: a file of it that was replaced, and one that is new", () => {
		const fake = new Fake({ files: { "dist/main.js": LATE } });
		const chunks = dirname(fake.chunk);
		const late = readdirSync(chunks).find((one) => readFileSync(join(chunks, one), "utf8").includes("late module"));
		const paths = [
			[join(chunks, late as string)],
			[join(chunks, "chunk-NEW.js"), "./chunk-NEW.js"],
			[join(fake.dir, "dist/bundle/new.mjs"), "../new.mjs"],
		];
		for (const [path, ...specifier] of paths) {
			const { code, stdout, stderr } = fake.start(["update", path, ...specifier]);
			expect(stdout, path).toBe("started 3 0 true\n");
			expect(stderr).toContain(`${path} is not what it was when pi was started: was pi updated? Start it again`);
			expect(code).toBe(1);
		}
	});
});

// Regression: a bundle that changed between its check and its start showed a stack.
it("a bundle that changes between its check and its start is refused in a line", () => {
	const fake = new Fake();
	fake.runs();
	const { chunk } = fake;
	const change = write(join(fake.cwd, "change.mjs"), `import { writeFileSync } from "node:fs";
writeFileSync(${JSON.stringify(chunk)}, 'console.log("the new one runs");');`);
	const script = join(fake.dir, "dist/bundle/cli.js");
	expect(node(["--import", register, "--import", change, script], { cwd: fake.cwd })).toEqual({
		code: 1,
		stdout: "",
		stderr: `pi-session-native: ${chunk} is not what it was when pi was started: was pi updated? Start it again\n`,
	});
});

describe("a bundle that runs", () => {
	const GOING_ON = `import { rmSync, writeFileSync } from "node:fs";
import { CURRENT_SESSION_VERSION, SessionManager } from "./core/session-manager.js";
import { where } from "./core/sdk.js";
export async function main([what, path]) {
	if (what) rmSync(path, { recursive: true });
	if (what === "cover") writeFileSync(path, "");
	console.log(CURRENT_SESSION_VERSION, SessionManager.inMemory().getEntryCount(), where() !== "nowhere");
	await import("./late.js").catch((error) => console.log(error.message));
	console.log("goes on");
}
`;
	const late = (fake: Fake) => {
		const chunks = dirname(fake.chunk);
		const name = readdirSync(chunks).find((one) => readFileSync(join(chunks, one), "utf8").includes("late module"));
		return join(chunks, name as string);
	};

	// Regression: pi was ended by such a module.
	it("goes on where a module loaded later is not on our manager: that import fails", () => {
		const fake = new Fake({ files: { "dist/main.js": GOING_ON } });
		fake.start();
		const name = `dist/bundle/chunks/${basename(late(fake))}`;
		fake.plant((plan) => (plan.expectedBindings[name] = [["SessionManager", "late"]]));
		const { code, stdout } = fake.start();
		expect(stdout).toBe(`3 0 true\npi-session-native: SessionManager in ${name} of ${fake.dir} was not replaced\ngoes on\n`);
		expect(code).toBe(0);
	});

	// Regression: the error was ENOENT or ENOTDIR.
	it("says that pi was updated where an update removed a module, alone or with its directory", () => {
		for (const what of ["remove", "cover"]) {
			const fake = new Fake({ files: { "dist/main.js": GOING_ON } });
			const path = late(fake);
			const { code, stdout } = fake.start([what, what === "remove" ? path : dirname(path)]);
			expect(stdout).toBe(
				`3 0 true\npi-session-native: ${path} is not what it was when pi was started: was pi updated? Start it again\ngoes on\n`,
			);
			expect(code).toBe(0);
		}
	});
});
