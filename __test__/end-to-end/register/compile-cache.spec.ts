// The code that V8 compiled: in a directory of the user's own, or not kept.
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Fake } from "./fake-bundle.js";
import { write } from "./fake-pi.js";

describe("the code that V8 compiled", () => {
	// Regression: code compiled by V8 was taken from a directory that others may write.
	it("is not kept where others may write its directory", () => {
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

	it("is where the user keeps caches", () => {
		const fake = new Fake();
		fake.runs({ XDG_CACHE_HOME: join(fake.cwd, "caches") });
		expect(readdirSync(join(fake.cwd, "caches/pi-session-native"))).toEqual(["compiled"]);
		expect(statSync(join(fake.cwd, "caches/pi-session-native")).mode & 0o777).toBe(0o700);
		expect(statSync(join(fake.cwd, "caches/pi-session-native/compiled")).mode & 0o777).toBe(0o700);
		fake.runs({ XDG_CACHE_HOME: "relative" });
		expect(readdirSync(fake.cache)).toEqual(["compiled"]);
		expect(existsSync(join(fake.cwd, "relative"))).toBe(false);
	});
});
