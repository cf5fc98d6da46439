// What is remembered about pi's bundle between two starts: where it is stored, when it is believed, and what it must not do
// when it was planted or harmed.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
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
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { Fake, PLANTED, planOf, signed } from "./fake-bundle.js";
import { node, own, register, write } from "./fake-pi.js";

describe("what is remembered about a bundle", () => {
	it("is believed in a directory that only its user can write, which is how it is made", () => {
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
		"an offset after the file's end": (plan) => (plan.values[1].end = 1e9),
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

	// Regression: a planted plan was run as code.
	it("is not run as code when it is planted: it is compared with pi's files, and the bundle is analysed again", () => {
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

	it("changes nothing when it is harmed: cut, empty, no JSON, too large, a directory, a pipe", () => {
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

	// Regression: code compiled by V8 was taken from a directory that others may write.
	it("is without code compiled by V8 where others may write its directory", () => {
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
		// Node looped there forever, asked to make the folders above as well.
		fake.runs({ XDG_CACHE_HOME: "/proc/nowhere" });
		expect(existsSync(fake.cache)).toBe(false);
		expect(readFileSync(join(fake.cwd, "home/.cache"), "utf8")).toBe("a file");
	});

	// Regression: root left a directory there that its user could not write.
	it.runIf(process.getuid?.() === 0)("is nowhere in another user's home", () => {
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
