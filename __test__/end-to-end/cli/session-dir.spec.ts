// The directories in which `pi-sessions` reads and writes: pi's settings, a deleted working directory, forks, names of
// files.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import {
	bin,
	branched,
	good,
	goodJson,
	put,
	type Result,
	run,
	runProgram,
	type World,
	world,
} from "../../support/cli.js";
import { api, message, user } from "../../support/scratch.js";

/** Moves a session to a folder that only settings name. */
function moveTo(folder: string, path: string): string {
	mkdirSync(folder, { recursive: true });
	const moved = join(folder, "moved.jsonl");
	renameSync(path, moved);
	return moved;
}

function settings(folder: string, value: unknown): void {
	mkdirSync(folder, { recursive: true });
	writeFileSync(join(folder, "settings.json"), typeof value === "string" ? value : JSON.stringify(value));
}

describe("sessionDir of pi's settings", () => {
	// Regression: the setting was not read.
	test("is read: sessions that pi lists are found", async () => {
		const at = world();
		const moved = moveTo(join(at.env.HOME as string, "kept"), put(at, "0194-kept", branched));
		settings(at.agent, `\ufeff${JSON.stringify({ sessionDir: "~/kept", theme: "dark" })}`);
		for (const args of [["list"], ["list", "--all"]])
			expect((await goodJson(at, args)).map(({ path }: any) => path)).toEqual([moved]);
		for (const args of [
			["show"],
			["show", "0194"],
			["tree"],
			["search", "parser"],
			["search", "--all", "parser"],
			["export"],
		])
			expect(await good(at, args), args.join(" ")).toContain("arser");
		expect(await goodJson(at, ["stats", "--all"])).toMatchObject({ sessions: 1 });
		expect((await goodJson(at, ["verify", "--all"])).map(({ path }: any) => path)).toEqual([moved]);
		expect(await good(at, ["complete", "pi-sessions", "show", ""])).toBe("0194-kept\tThe parser\n/file\n");
		expect(dirname((await goodJson(at, ["fork"])).path)).toBe(dirname(moved));
	});

	test("goes in pi's order: told, environment, project, agent", async () => {
		const at = world();
		const home = at.env.HOME as string;
		for (const name of ["told", "environment", "project", "agent"]) moveTo(join(home, name), put(at, name, branched));
		moveTo(join(at.cwd, "own"), put(at, "own", branched));
		put(at, "default", branched);
		const found = async (args: string[] = [], env: NodeJS.ProcessEnv = {}): Promise<string> =>
			(await goodJson(at, ["list", ...args], env)).map(({ id }: any) => id).join();
		expect(await found()).toBe("default");
		settings(at.agent, { sessionDir: join(home, "agent") });
		expect(await found()).toBe("agent");
		settings(join(at.cwd, ".pi"), { sessionDir: pathToFileURL(join(home, "project")).href });
		expect(await found()).toBe("project");
		expect(await found([], { PI_CODING_AGENT_SESSION_DIR: join(home, "environment") })).toBe("environment");
		expect(await found(["--dir", join(home, "told")], { PI_CODING_AGENT_SESSION_DIR: join(home, "environment") })).toBe(
			"told",
		);
		// A relative path is below the selected working directory. An empty one means the agent's directory again.
		settings(join(at.cwd, ".pi"), { sessionDir: "own" });
		expect(await found()).toBe("own");
		const elsewhere = await runProgram(process.execPath, [bin, "list", "--cwd", at.cwd, "--json"], {
			cwd: home,
			env: at.env,
		});
		expect(JSON.parse(elsewhere.out).map(({ id }: any) => id)).toEqual(["own"]);
		settings(join(at.cwd, ".pi"), { sessionDir: "" });
		expect(await found()).toBe("default");
	});

	test("an unreadable settings file causes one warning", async () => {
		const at = world();
		put(at, "s-1", branched);
		settings(at.agent, "{ not JSON");
		for (const args of [["list"], ["show", "s-1"], ["stats", "--all"], ["list", "--all"]]) {
			const { code, out, err } = await run(at, args);
			expect(code).toBe(0);
			expect(out).not.toBe("");
			expect(err).toMatch(/^Warning: Settings are ignored because they cannot be read: .*settings\.json: .*JSON.*\n$/);
		}
		const { out, err } = await run(at, ["list", "--json"]);
		expect(JSON.parse(out)).toHaveLength(1);
		expect(JSON.parse(err)).toEqual({ warning: { message: expect.stringContaining("settings.json") } });
		settings(at.agent, { sessionDir: 7 });
		expect(await run(at, ["list"])).toMatchObject({
			code: 0,
			out: expect.stringContaining("The parser"),
			err: expect.stringContaining("sessionDir is not a string"),
		});
		for (const value of ["", "null", "[]", "{}"]) {
			settings(at.agent, value);
			expect(await good(at, ["list"])).toContain("The parser");
		}
	});
});

describe("in a working directory that was deleted", () => {
	/** Runs the command in a deleted folder. */
	const gone = (at: World, args: string[]): Promise<Result> => {
		const words = [process.execPath, bin, ...args].map((word) => `'${word}'`).join(" ");
		return runProgram("bash", ["-c", `mkdir gone; cd gone; rmdir ../gone; exec ${words}`], at);
	};

	// Regression: they failed.
	test("commands that need no working directory work", async () => {
		const at = world();
		const path = put(at, "0194-here", branched);
		for (const args of [
			["list", "--all"],
			["show", "0194"],
			["show", path],
			["tree", "0194"],
			["stats", "--all"],
			["verify", "--all"],
			["export", "0194"],
			["list", "--cwd", at.cwd],
			["search", "--all", "parser"],
			["search", "--cwd", at.cwd, "parser"],
		]) {
			expect(await gone(at, args), args.join(" ")).toMatchObject({
				code: 0,
				err: "",
				out: expect.stringMatching(/arser|1 session/),
			});
		}
		expect((await gone(at, ["fork", "0194"])).code).toBe(0);
	});

	test("what needs one says so", async () => {
		const at = world();
		put(at, "0194-here", branched);
		for (const args of [["list"], ["show"], ["search", "parser"]])
			expect(await gone(at, args)).toMatchObject({
				code: args[0] === "search" ? 2 : 1,
				err: expect.stringMatching(/^Error: The working directory was deleted. .*\n$/),
			});
	});
});

describe("fork", () => {
	test("goes where the settings of the new session's directory say", async () => {
		const at = world();
		const [here, there] = [put(at, "s-here", branched), join(at.env.HOME as string, "there")];
		settings(join(there, ".pi"), { sessionDir: "own" });
		settings(join(at.cwd, ".pi"), { sessionDir: "mine" });
		expect(dirname((await goodJson(at, ["fork", here, "--into", there])).path)).toBe(join(there, "own"));
		expect(dirname((await goodJson(at, ["fork", here])).path)).toBe(join(at.cwd, "mine"));
		const elsewhere = put(at, "s-there", branched, { cwd: there });
		expect(dirname((await goodJson(at, ["fork", elsewhere, "--entry", "e4"])).path)).toBe(join(there, "own"));
	});

	// Regression: with --entry the new session was created beside its source.
	test("with --entry goes into the session directory, too", async () => {
		const at = world();
		const source = join(at.cwd, "apart.jsonl");
		const kept = put(at, "s-apart", branched);
		renameSync(kept, source);
		const [whole, part] = [await goodJson(at, ["fork", source]), await goodJson(at, ["fork", source, "--entry", "e4"])];
		expect(dirname(whole.path)).toBe(dirname(kept));
		expect(dirname(part.path)).toBe(dirname(kept));
		expect(part).toMatchObject({ cwd: at.cwd, parentSession: source, entries: 6 });
		expect(api.SessionManager.open(part.path).getHeader()?.parentSession).toBe(source);
		const dir = join(at.cwd, "told");
		for (const args of [
			["fork", source],
			["fork", source, "--entry", "e4"],
		])
			expect(dirname((await goodJson(at, [...args, "--dir", dir])).path)).toBe(dir);
	});
});

// Regression: the commands created directories of that name, or failed.
test("--output=~/x.md and addresses of files lead where they say", async () => {
	const at = world();
	const path = put(at, "s-1", [message("a", null, user("hello"))]);
	const home = at.env.HOME as string;
	await good(at, ["export", path, "--output=~/talk.md"]);
	expect(readFileSync(join(home, "talk.md"), "utf8")).toContain("hello");
	await good(at, ["export", path, `--output=${pathToFileURL(join(home, "talk.jsonl"))}`]);
	expect(api.SessionManager.open(join(home, "talk.jsonl")).getSessionId()).toBe("s-1");
	// Other paths are used as they were typed.
	await good(at, ["export", path, "-o", "here.md"]);
	expect(existsSync(join(at.cwd, "here.md"))).toBe(true);
	expect(existsSync(join(at.cwd, "~"))).toBe(false);
});
