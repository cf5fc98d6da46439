// A fake pi with a bundle, how it is started, and what must come of that.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type FakePi, type Outcome, bundledPi, chunkOf, moduleDir, node, own, register, scratch } from "./fake-pi.js";

/** The fake as messages name it. */
export const TITLE = "@earendil-works/pi-coding-agent 9.9.9";

/** A fake pi with a bundle, in a folder of the test's own. */
export class Fake {
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
