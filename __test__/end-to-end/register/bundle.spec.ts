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
		const [name, ...more] = readdirSync(this.cache);
		expect(more).toEqual([]);
		return join(this.cache, name);
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
		const script = `import { SessionManager } from ${JSON.stringify(join(fake.dir, "dist/bundle/index.js"))};\nconsole.log(String(SessionManager.create).includes("[native code]"));`;
		const outcome = node(["--import", register, write(join(fake.cwd, "script.mjs"), script)], { cwd: fake.cwd });
		expect(outcome).toEqual({ code: 0, stdout: "true\n", stderr: "" });
	});

	it("runs with a class and a function that the bundler left as declarations", () => {
		const fake = new Fake();
		fake.edit(fake.chunk, (text) => {
			const [, inner] = /var SessionManager=class (\w*)\s*\{/.exec(text) ?? [];
			const start = text.indexOf("var SessionManager=class");
			const end = text.indexOf("};", start) + 2;
			const body = text.slice(text.indexOf("{", start), end - 1).replaceAll(inner || "_SessionManager", "SessionManager");
			return `${text.slice(0, start)}class SessionManager${body}${text.slice(end)}`;
		});
		fake.runs();
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
			"is another than the one of its unbundled module",
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
