// pi's bundle with our session manager inside, on small fakes: what is replaced there, what is refused, what is
// remembered. A bundle that is refused is said so, and then pi runs unbundled or not at all.
import { spawnSync } from "node:child_process";
import {
	chmodSync,
	chownSync,
	existsSync,
	mkdirSync,
	readFileSync,
	readdirSync,
	renameSync,
	rmSync,
	statSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { createHash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import {
	type FakePi,
	type Outcome,
	bundledPi,
	chunkOf,
	moduleDir,
	node,
	own,
	piNative,
	register,
	scratch,
	write,
} from "./fake-pi.js";

const TITLE = "@earendil-works/pi-coding-agent 9.9.9";

const signed = (text: string) => `${createHash("sha256").update(text).digest("hex")}\n${text}\n`;
/** A change to what is remembered that shows if it is believed. */
const PLANTED = (plan: any) => {
	plan.refused = "planted";
};

/** A stored plan without what is stored about files, whose times may be stored later. */
function planOf(stored: string) {
	const { files, ...plan } = JSON.parse(stored.split("\n")[1]);
	return plan;
}

/** A fake pi with a bundle, in a folder of the test's own. */
class Fake {
	readonly cwd = scratch();
	readonly dir: string;

	constructor(fake: FakePi = {}) {
		this.dir = bundledPi(moduleDir(this.cwd), fake);
	}

	get chunk(): string {
		return chunkOf(this.dir);
	}

	get cache(): string {
		return join(this.cwd, "home/.cache/pi-session-native");
	}

	/** What is remembered about the bundle. */
	get plan(): string {
		const [name, ...more] = readdirSync(this.cache).filter((one) => one.startsWith("bundle-"));
		expect(more).toEqual([]);
		return join(this.cache, name);
	}

	/** Changes what is remembered about the bundle, with a checksum that is right. */
	plant(change: (plan: any) => void): void {
		const [, text] = readFileSync(this.plan, "utf8").split("\n");
		const plan = JSON.parse(text);
		change(plan);
		writeFileSync(this.plan, signed(JSON.stringify(plan)));
	}

	start(args: string[] = [], env: Record<string, string> = {}): Outcome {
		const script = join(this.dir, "dist/bundle/cli.js");
		return node(["--import", register, script, ...args], { cwd: this.cwd, env: { PI_SESSION_NATIVE_VERBOSE: "1", ...env } });
	}

	/** Its bundle ran on our manager. */
	runs(env: Record<string, string> = {}): void {
		const outcome = this.start(["one"], env);
		expect(outcome).toMatchObject({ code: 0, stderr: `${own}: the session manager of ${TITLE} (${this.dir}) is replaced\n` });
		this.#reports(outcome);
	}

	/** Its bundle was refused, and it ran on our manager unbundled. */
	runsUnbundled(why: string): void {
		const outcome = this.start(["one"]);
		const [refused, ...more] = outcome.stderr.split("\n");
		expect(refused).toContain(`${own}: the bundle of ${TITLE} (${this.dir}) is not used: `);
		expect(refused).toContain(why);
		expect(more).toEqual([`${own}: the session manager of ${TITLE} (${this.dir}) is replaced`, ""]);
		this.#reports(outcome);
	}

	#reports({ stdout }: Outcome): void {
		const agent = join(this.cwd, "home/.pi/agent");
		const dir = join(agent, "sessions/--x--");
		expect(JSON.parse(stdout)).toEqual({ args: ["one"], dir, agent, version: 3, native: true, captured: true });
	}

	edit(path: string, change: (text: string) => string): void {
		const before = readFileSync(path, "utf8");
		const after = change(before);
		expect(after).not.toBe(before);
		writeFileSync(path, after);
	}
}

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

	it("if a name has another value when the chunk has run, by a way that its syntax does not show", () => {
		for (const code of ['eval("getDefaultSessionDir=()=>1");', 'eval("SessionManager=class{}");']) {
			const fake = new Fake();
			fake.edit(fake.chunk, (text) => text.replace(/export\{/, `${code}export{`));
			const name = /eval\("(\w+)/.exec(code)?.[1];
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

	it("was ended by a module loaded later that is not on our manager: that import fails, and pi goes on", () => {
		const fake = new Fake({ files: { "dist/main.js": GOING_ON } });
		fake.start();
		const name = `dist/bundle/chunks/${basename(late(fake))}`;
		fake.plant((plan) => (plan.expectedBindings[name] = [["SessionManager", "late"]]));
		const { code, stdout } = fake.start();
		expect(stdout).toBe(`3 0 true\npi-session-native: SessionManager in ${name} of ${fake.dir} was not replaced\ngoes on\n`);
		expect(code).toBe(0);
	});

	it("said ENOENT or ENOTDIR of a module that an update of pi had removed, alone or with its folder", () => {
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

describe("what is remembered about a bundle", () => {
	it("is believed in a folder that only its user can write, which is how it is made", () => {
		const fake = new Fake();
		fake.runs();
		expect(statSync(fake.cache).mode & 0o777).toBe(0o700);
		expect(statSync(fake.plan).mode & 0o777).toBe(0o600);
		fake.plant(PLANTED);
		fake.runsUnbundled("planted");
	});

	/** Ways to put a foreign or doubtful file in the place of the one that is remembered. */
	const doubtful: Record<string, (fake: Fake) => void> = {
		"in a folder that others may write": ({ cache }) => chmodSync(cache, 0o770),
		"in a file that others may write": ({ plan }) => chmodSync(plan, 0o602),
		"behind a link in the place of the folder": ({ cache }) => {
			renameSync(cache, `${cache}-elsewhere`);
			symlinkSync(`${cache}-elsewhere`, cache);
		},
		"behind a link in the place of the file": ({ cwd, plan }) => {
			renameSync(plan, join(cwd, "elsewhere"));
			symlinkSync(join(cwd, "elsewhere"), plan);
		},
		"by another release": (fake) => fake.plant((plan) => Object.assign(plan, { refused: "planted", release: "another 0.0.1" })),
		"in another form": (fake) => fake.plant((plan) => Object.assign(plan, { refused: "planted", format: 0 })),
		"about another pi": (fake) => fake.plant((plan) => Object.assign(plan, { refused: "planted", dir: "/elsewhere" })),
		"about another content": (fake) => {
			fake.plant((plan) => {
				PLANTED(plan);
				for (const known of Object.values<any>(plan.files)) known[4] = "0".repeat(64);
			});
			utimesSync(fake.chunk, new Date(0), new Date(0));
		},
		"about fewer files": (fake) =>
			fake.plant((plan) => {
				PLANTED(plan);
				delete plan.files[`dist/bundle/chunks/${basename(fake.chunk)}`];
			}),
		"without its checksum": (fake) => {
			fake.plant(PLANTED);
			const [, text] = readFileSync(fake.plan, "utf8").split("\n");
			writeFileSync(fake.plan, `${"0".repeat(64)}\n${text}\n`);
		},
	};
	// Only root can make somebody else's.
	if (process.getuid?.() === 0) {
		doubtful["in somebody else's folder"] = ({ cache }) => chownSync(cache, 12_345, 12_345);
		doubtful["in somebody else's file"] = ({ plan }) => chownSync(plan, 12_345, 12_345);
	}

	it.each(Object.entries(doubtful))("is not believed %s", (_, change) => {
		const fake = new Fake();
		fake.runs();
		fake.plant(PLANTED);
		change(fake);
		fake.runs();
	});

	/** What a stranger's checkout, or a tool that may write the cache, could put into a plan to have it run or to be let through. */
	const CODE = "globalThis.process.exit(7)";
	const planted: Record<string, (plan: any, chunk: string) => void> = {
		"code in the place of a name": (plan) => plan.functions.push(`x=${CODE};CURRENT_SESSION_VERSION`),
		"code for a function's name": (plan) => (plan.functions[0] = `getDefaultSessionDir=${CODE};getDefaultSessionDir`),
		"code for a value's name": (plan) => (plan.values[1].name = `SessionManager=${CODE};x`),
		"code for a name to compare": (plan, chunk) => (plan.expectedBindings[chunk] = [["SessionManager", CODE]]),
		"a call to compare": (plan, chunk) => (plan.expectedBindings[chunk] = [["SessionManager", "process.exit()"]]),
		"a word of the language to compare": (plan, chunk) => (plan.expectedBindings[chunk] = [["SessionManager", "class"]]),
		"a name to compare that is none of the manager's": (plan, chunk) => (plan.expectedBindings[chunk] = [["other", "SessionManager"]]),
		"code for an offset": (plan) => (plan.values[0].start = CODE),
		"an offset that is no integer": (plan) => (plan.values[0].start += 0.5),
		"an offset below zero": (plan) => (plan.values[0].start = -1),
		"an offset behind the file's end": (plan) => (plan.values[1].end = 1e9),
		"an offset that cuts more than the value": (plan) => (plan.values[1].end += 1),
		"an offset that cuts less than the value": (plan) => (plan.values[1].end -= 1),
		"an offset at another value": (plan) => (plan.values[1].start += 1),
		"a constant's offset at its name": (plan) => (plan.values[0].start -= 1),
		"values that overlap": (plan) => (plan.values[1].start = plan.values[0].start),
		"values in another order": (plan) => plan.values.reverse(),
		"a value that is said to be a declaration": (plan) => (plan.values[1].declares = true),
		"a value that is missing": (plan) => plan.values.pop(),
		"a function that is missing": (plan) => plan.functions.pop(),
		"a name that is there twice": (plan) => plan.functions.push(plan.functions[0]),
		"the class among the functions": (plan) => plan.functions.push(plan.values.pop().name),
		"another chunk": (plan) => (plan.chunk = "dist/bundle/cli-runtime.js"),
		"a chunk outside of the bundle": (plan) => (plan.chunk = "dist/config.js"),
		"a chunk that is no file": (plan) => (plan.chunk = "dist/bundle/../../../../evil.js"),
		"names to compare in a file outside": (plan) => (plan.expectedBindings["dist/main.js"] = []),
		"a guard in a file outside": (plan) => plan.guarded.push("dist/main.js"),
		"no guard": (plan) => (plan.guarded = []),
		"an entry outside": (plan) => plan.entries.push("dist/main.js"),
		"no entry": (plan) => (plan.entries = []),
		"nothing": (plan) => ["chunk", "functions", "values", "expectedBindings", "guarded", "entries"].map((key) => delete plan[key]),
		"no values": (plan) => Object.assign(plan, { functions: [], values: [], expectedBindings: {} }),
		"a refusal that writes to the terminal": (plan) => (plan.refused = "\u001b]0;planted\u0007"),
		"a refusal that is no text": (plan) => (plan.refused = { toString: 1 }),
	};
	for (const key of ["chunk", "functions", "values", "expectedBindings", "guarded", "entries"]) {
		planted[`no ${key}, as a key`] = (plan) => delete plan[key];
		planted[`nothing but null as ${key}`] = (plan) => (plan[key] = null);
	}

	it("was run as code when it was planted: it is compared with pi's files, and the bundle is analysed again", () => {
		const fake = new Fake();
		fake.runs();
		const whole = readFileSync(fake.plan, "utf8");
		for (const [what, change] of Object.entries(planted)) {
			writeFileSync(fake.plan, whole);
			fake.plant((plan) => change(plan, plan.chunk));
			expect(planOf(readFileSync(fake.plan, "utf8")), what).not.toEqual(planOf(whole));
			fake.runs();
			expect(planOf(readFileSync(fake.plan, "utf8")), what).toEqual(planOf(whole));
		}
	});

	it("changes nothing when it is harmed: cut, empty, no JSON, too large, a folder, a pipe", () => {
		const fake = new Fake();
		fake.runs();
		const { plan } = fake;
		const whole = readFileSync(plan, "utf8");
		for (const text of ["", "\n", whole.slice(0, 100), whole.slice(0, -10), signed("{"), signed("null"), "x".repeat(2 << 20)]) {
			writeFileSync(plan, text);
			fake.runs();
			expect(readFileSync(plan, "utf8").length).toBeGreaterThan(500);
		}
		rmSync(plan);
		mkdirSync(plan);
		fake.runs();
		rmSync(plan, { recursive: true });
		expect(spawnSync("mkfifo", [plan]).status).toBe(0);
		fake.runs();
	});

	it("was code compiled by V8 from a folder that others may write: there is none then", () => {
		const fake = new Fake();
		const tmp = join(fake.cwd, "tmp");
		mkdirSync(tmp);
		fake.runs({ TMPDIR: tmp });
		expect(readdirSync(join(fake.cache, "compiled"))).toHaveLength(1);
		rmSync(join(fake.cache, "compiled"), { recursive: true });
		mkdirSync(join(fake.cache, "compiled"));
		for (const [path, mode] of [[join(fake.cache, "compiled"), 0o777], [fake.cache, 0o777]] as const) {
			chmodSync(path, mode);
			fake.runs({ TMPDIR: tmp });
			expect(readdirSync(join(fake.cache, "compiled"))).toEqual([]);
			expect(readdirSync(tmp)).toEqual([]);
			chmodSync(path, 0o700);
		}
		// What the user has set stays.
		fake.runs({ NODE_COMPILE_CACHE: join(fake.cwd, "set") });
		expect(readdirSync(join(fake.cache, "compiled"))).toEqual([]);
		expect(readdirSync(join(fake.cwd, "set"))).toHaveLength(1);
	});

	it("is not needed: a home that cannot hold it, or is not there, costs time alone", () => {
		const fake = new Fake();
		write(join(fake.cwd, "home/.cache"), "a file");
		fake.runs();
		fake.runs();
		// Node looped there for ever, asked to make the folders above as well.
		fake.runs({ XDG_CACHE_HOME: "/proc/nowhere" });
		expect(existsSync(fake.cache)).toBe(false);
		expect(readFileSync(join(fake.cwd, "home/.cache"), "utf8")).toBe("a file");
	});

	it.runIf(process.getuid?.() === 0)("is nowhere in another user's home: root left a folder there that its user could not write", () => {
		const fake = new Fake();
		const home = join(fake.cwd, "home");
		mkdirSync(home);
		chownSync(home, 12_345, 12_345);
		fake.runs();
		expect(readdirSync(home)).not.toContain(".cache");
		mkdirSync(join(home, ".cache"));
		chownSync(join(home, ".cache"), 12_345, 12_345);
		fake.runs();
		expect(readdirSync(join(home, ".cache"))).toEqual([]);
	});

	it("is not stored where the analysis does not load: pi runs unbundled", () => {
		const fake = new Fake();
		const without = `import module from "node:module";
			module.registerHooks({ resolve(specifier, context, next) {
				if (specifier === "acorn") throw new Error("Cannot find package 'acorn'");
				return next(specifier, context);
			} });`;
		const args = ["--import", write(join(fake.cwd, "without.mjs"), without), "--import", register];
		const env = { PI_SESSION_NATIVE_VERBOSE: "1" };
		const { code, stderr, stdout } = node([...args, join(fake.dir, "dist/bundle/cli.js"), "one"], { cwd: fake.cwd, env });
		expect(stderr).toMatch(/is not used: the analysis of bundles does not load: Cannot find package 'acorn'\n.* is replaced\n$/);
		expect(JSON.parse(stdout)).toMatchObject({ args: ["one"], native: true });
		expect(code).toBe(0);
		fake.runs();
	});

	it("is one file for each release of this package", () => {
		const fake = new Fake();
		fake.runs();
		const digest = createHash("sha256").update(`${own}\n${fake.dir}`).digest("hex");
		expect(basename(fake.plan)).toBe(`bundle-${digest.slice(0, 32)}`);
	});

	it("is where the user keeps caches, with the code that V8 compiled", () => {
		const fake = new Fake();
		fake.runs({ XDG_CACHE_HOME: join(fake.cwd, "caches") });
		const names = readdirSync(join(fake.cwd, "caches/pi-session-native"));
		expect(names.filter((name) => name.startsWith("bundle-"))).toHaveLength(1);
		expect(names.filter((name) => !name.startsWith("bundle-"))).toEqual(["compiled"]);
		expect(statSync(join(fake.cwd, "caches/pi-session-native/compiled")).mode & 0o777).toBe(0o700);
		fake.runs({ XDG_CACHE_HOME: "relative" });
		expect(existsSync(fake.plan)).toBe(true);
		expect(existsSync(join(fake.cwd, "relative"))).toBe(false);
	});
});
