// Showing does not disturb others: no lock, no file that stays open, no file that is created again.
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import {
	bin,
	branched,
	good,
	goodJson,
	put,
	run,
	runInTerminal,
	runProgram,
	type World,
	world,
} from "../../support/cli.js";
import { api, assistant, message, root, snapshot, user } from "../../support/scratch.js";

/**
 * The environment in which the command first runs a script of the test. The script can use `SessionManager`.
 */
function guarded(at: World, script: string): NodeJS.ProcessEnv {
	const guard = join(at.cwd, "guard.mjs");
	writeFileSync(
		guard,
		`import { createRequire } from "node:module";\nconst { SessionManager } = createRequire(import.meta.url)(${JSON.stringify(join(root, "index.js"))});\n${script}\n`,
	);
	return { NODE_OPTIONS: `--import=${pathToFileURL(guard)}` };
}

describe("PI_SESSION_NATIVE_LOCK=exclusive", () => {
	const env = { PI_SESSION_NATIVE_LOCK: "exclusive" };
	const looks = [["show"], ["tree"], ["stats"], ["export"], ["export", "--format", "jsonl"]];

	// Regression: sessions that others had locked could not be shown.
	test("sessions that others hold can be looked at", async () => {
		const at = world();
		const path = put(at, "s-held", branched);
		const mine = api.SessionManager.open(path, { lock: "exclusive" });
		mine.appendCustomEntry("mine");
		expect(api.SessionManager.isLocked(path)).toBe(true);
		for (const [command = "", ...rest] of looks)
			expect((await good(at, [command, path, ...rest], env)).length).toBeGreaterThan(100);
		expect(await goodJson(at, ["stats", "--all", "--no-pager"], env)).toMatchObject({ sessions: 1, unreadable: [] });
		for (const args of [
			["fork", path],
			["fork", path, "--entry", "e4"],
		])
			expect((await goodJson(at, args, env)).parentSession).toBe(path);
		mine.close();
	});

	test("looking leaves no file of a lock beside a session", async () => {
		const at = world();
		const path = put(at, "s-looked", branched);
		const before = snapshot(dirname(path));
		for (const [command = "", ...rest] of looks) await good(at, [command, path, ...rest], env);
		await good(at, ["stats", "--all"], env);
		expect(snapshot(dirname(path))).toEqual(before);
		await good(at, ["fork", path, "--name", "another"], env);
		expect(readdirSync(dirname(path)).filter((name) => !name.endsWith(".jsonl"))).toEqual([]);
	});
});

// Regression: `stats --all` kept them open, and reached the limit of open files.
test("stats --all closes each session that it has looked at", async () => {
	const at = world();
	for (let index = 0; index < 200; index++)
		put(at, `s-${index}`, [message("a", null, user("hi")), message("b", "a", assistant("x".repeat(2000)))]);
	const line = `ulimit -n 100; '${process.execPath}' '${bin}' stats --all --json`;
	const { code, out, err } = await runProgram("bash", ["-c", line], at);
	expect({ code, err }).toEqual({ code: 0, err: "" });
	expect(JSON.parse(out)).toMatchObject({ sessions: 200, unreadable: [] });
});

test("stats does not recreate a session deleted meanwhile", async () => {
	const at = world();
	const path = put(at, "s-gone", branched);
	const env = guarded(
		at,
		`import { rmSync } from "node:fs";
		const { usage } = SessionManager;
		SessionManager.usage = async (options) => { const report = await usage(options); rmSync(${JSON.stringify(path)}); return report; };`,
	);
	const told = await goodJson(at, ["stats", path], env);
	expect(told.entries).toBe(branched.length);
	expect(told.largest[0]).toMatchObject({ session: "s-gone", text: "" });
	expect(existsSync(path)).toBe(false);
});

describe("a signal during a scan", () => {
	test.each([
		["SIGINT", 130],
		["SIGTERM", 143],
		["SIGHUP", 129],
	] as const)("%s ends a list", async (signal, code) => {
		const at = world();
		put(at, "s-1", branched);
		const env = guarded(
			at,
			`SessionManager.listAll = (dir, tell) => {
				tell(1, 2);
				process.kill(process.pid, ${JSON.stringify(signal)});
				setInterval(() => {}, 1000);
				return new Promise(() => {});
			};`,
		);
		const result = await runInTerminal(at, ["list", "--all", "--no-pager"], env);
		expect(result.out).toMatch(/Reading sessions .*1\/2/);
		expect(result.code).toBe(code);
	});

	test("stats --all ends", async () => {
		const at = world();
		put(at, "s-1", branched);
		const env = guarded(
			at,
			`SessionManager.usage = ({ onProgress }) => {
				onProgress(1, 3);
				process.kill(process.pid, "SIGTERM");
				setInterval(() => {}, 1000);
				return new Promise(() => {});
			};`,
		);
		const { out, code } = await runInTerminal(at, ["stats", "--all"], env);
		expect(code).toBe(143);
		expect(out).toMatch(/Adding up .*1\/3/);
	});

	test("verify --all ends between two files", async () => {
		const at = world();
		for (const name of ["s-1", "s-2", "s-3"]) put(at, name, branched);
		// Each reading of the clock advances it by a second. The progress begins with the first.
		const env = guarded(
			at,
			`let [time, looks] = [Date.now(), 0];
			Date.now = () => time;
			const look = SessionManager.verify;
			SessionManager.verify = (...args) => { time += 1000; if (++looks === 2) process.kill(process.pid, "SIGTERM"); return look.apply(SessionManager, args); };`,
		);
		const { out, code } = await runInTerminal(at, ["verify", "--all"], env);
		expect(code).toBe(143);
		expect(out).not.toMatch(/3 session/);
	});
});

test("after a scan the pager alone receives Ctrl-C", async () => {
	const at = world();
	put(at, "s-1", branched);
	const env = guarded(
		at,
		`process.on("exit", () => console.error("handlers " + ["SIGINT", "SIGTERM", "SIGHUP"].map((name) => process.listenerCount(name)).join(" ")));`,
	);
	expect((await runInTerminal(at, ["show", "s-1", "--no-pager"], env)).out).toContain("handlers 0 0 0");
	expect((await run(at, ["show", "s-1"], env)).err).toBe("handlers 0 0 0\n");
});
