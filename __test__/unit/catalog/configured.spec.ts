// The directories that are searched: the directory that is configured for pi, all working directories for an id, and
// the agent's directory.
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import {
	api,
	assistant,
	enter,
	header,
	message,
	ownAgent,
	scratch,
	setEnv,
	user,
	writeSession,
} from "../../support/scratch.js";
import { dirName, testWith } from "../../support/windows.js";

const { SessionManager, getConfiguredSessionDir, getDefaultSessionDir, setAgentDir } = api;

/** Writes a session that contains a word, and creates its directory. */
function put(dir: string, id: string, cwd: string): string {
	mkdirSync(dir, { recursive: true });
	return writeSession(
		dir,
		[header({ id, cwd }), message("a", null, user("parser")), message("b", "a", assistant("done"))],
		`${id}.jsonl`,
	);
}

function settings(folder: string, value: unknown): void {
	mkdirSync(folder, { recursive: true });
	writeFileSync(join(folder, "settings.json"), typeof value === "string" ? value : JSON.stringify(value));
}

// The sessions contain equal entries, as forks do.
const found = async (options?: object) =>
	(await SessionManager.search("parser", { dedupe: false, ...options }))
		.map(({ id }) => id)
		.sort()
		.join();
const counted = async (options?: object) => (await SessionManager.usage(options)).sessions;
const prefixed = (options?: object) =>
	SessionManager.findByIdPrefix("", options)
		.map(({ id }) => id)
		.sort()
		.join();

describe("the configured session directory", () => {
	test("comes from the environment, the project or the agent", async () => {
		const { agent, home } = ownAgent();
		const project = scratch();
		enter(project);
		put(join(agent, "sessions", "--elsewhere--"), "default", "/elsewhere");
		put(getDefaultSessionDir(project), "own", project);
		for (const name of ["environment", "project", "agent"]) {
			put(join(home, name), `${name}-here`, project);
			put(join(home, name), `${name}-there`, "/there");
		}
		const all = async (options?: object) => {
			expect(await counted(options)).toBe((await found(options)).split(",").length);
			expect(prefixed(options)).toBe(await found(options));
			return await found(options);
		};
		expect([getConfiguredSessionDir(), await all(), await all({ cwd: project })]).toEqual([
			undefined,
			"default,own",
			"own",
		]);
		settings(agent, { sessionDir: "~/agent" });
		expect([getConfiguredSessionDir(), await all(), await all({ cwd: project })]).toEqual([
			join(home, "agent"),
			"agent-here,agent-there",
			"agent-here",
		]);
		settings(join(project, ".pi"), { sessionDir: join(home, "project") });
		expect([getConfiguredSessionDir(), await all(), await all({ cwd: "/there" })]).toEqual([
			join(home, "project"),
			"project-here,project-there",
			"agent-there",
		]);
		expect(getConfiguredSessionDir("/there")).toBe(join(home, "agent"));
		setEnv({ PI_CODING_AGENT_SESSION_DIR: "~/environment" });
		expect([getConfiguredSessionDir(), await all({ cwd: "/there" })]).toEqual([
			join(home, "environment"),
			"environment-there",
		]);
		// Arguments have priority, and pi's own calls look in their usual directories.
		expect(await all({ sessionDir: join(home, "project") })).toBe("project-here,project-there");
		expect((await SessionManager.list(project)).map(({ id }) => id)).toEqual(["own"]);
		expect((await SessionManager.listAll()).map(({ id }) => id).sort()).toEqual(["default", "own"]);
	});

	test("settings that cannot be read are ignored with a warning", () => {
		const { agent } = ownAgent();
		const warnings: string[] = [];
		const onWarning = (text: string) => warnings.push(text);
		settings(agent, "{ not JSON");
		expect([getConfiguredSessionDir("/x", { onWarning }), getConfiguredSessionDir("/x")]).toEqual([
			undefined,
			undefined,
		]);
		settings(agent, { sessionDir: 7 });
		getConfiguredSessionDir("/x", { onWarning });
		const file = join(agent, "settings.json");
		expect(warnings).toEqual([
			`Settings are ignored because they cannot be read: ${file}: it is not valid JSON`,
			`${file}: sessionDir is not a string and is ignored`,
		]);
		const why = new Error("stop");
		expect(() =>
			getConfiguredSessionDir("/x", {
				onWarning: () => {
					throw why;
				},
			}),
		).toThrow(why);
	});
});

describe("findByIdPrefix", () => {
	test("finds sessions of every working directory, by exact id first", () => {
		const { agent } = ownAgent();
		const at = (name: string) => join(agent, "sessions", name);
		const [one, two] = [put(at(dirName("/a")), "0193a2b4-1", "/a"), put(at(dirName("/b")), "0193a2b4-12", "/b")];
		writeFileSync(join(at(dirName("/a")), "damaged.jsonl"), "not a session\n");
		expect(SessionManager.findByIdPrefix("0193a2b4-12")).toEqual([{ path: two, id: "0193a2b4-12", cwd: "/b" }]);
		expect(SessionManager.findByIdPrefix("0193a2b4-1").map(({ path }) => path)).toEqual([one]);
		expect(SessionManager.findByIdPrefix("0193").map(({ path }) => path)).toEqual([one, two]);
		expect(SessionManager.findByIdPrefix("0193", { cwd: "/b" }).map(({ path }) => path)).toEqual([two]);
		expect(SessionManager.findByIdPrefix("0194")).toEqual([]);
	});
});

// Regression: they were not found.
test("findByIdPrefix finds sessions of subagents beside their session", () => {
	const { agent } = ownAgent();
	const dir = join(agent, "sessions", dirName("/a"));
	const main = put(dir, "0193-main", "/a");
	const below = join(dir, basename(main, ".jsonl"), "r1/run-0");
	const deep = put(below, "0194-deep", "/elsewhere");
	expect(SessionManager.findByIdPrefix("0194")).toEqual([{ path: deep, id: "0194-deep", cwd: "/elsewhere" }]);
	expect(SessionManager.findByIdPrefix("019").map(({ path }) => path)).toEqual([main, deep]);
	expect(SessionManager.findByIdPrefix("019", { subagents: false }).map(({ path }) => path)).toEqual([main]);
	expect(SessionManager.findByIdPrefix("0194", { sessionDir: dir, cwd: "/a" }).map(({ path }) => path)).toEqual([deep]);
	expect(SessionManager.findByIdPrefix("0194", { sessionDir: dir, cwd: "/elsewhere" })).toEqual([]);
});

describe("setAgentDir", () => {
	test("names the agent's directory instead of the environment", async () => {
		const { agent } = ownAgent();
		const acme = scratch();
		const name = join("sessions", dirName("/x"));
		put(join(acme, name), "acme", "/x");
		const named = () => getDefaultSessionDir("/x", undefined, { create: false });
		try {
			setAgentDir(acme);
			expect([named(), await found(), prefixed()]).toEqual([join(acme, name), "acme", "acme"]);
			expect(() => (api as any).setAgentDir(5)).toThrow("agentDir must be a string");
			expect(named()).toBe(join(acme, name));
		} finally {
			setAgentDir(undefined);
		}
		expect([named(), await found()]).toEqual([join(agent, name), ""]);
	});
});

// Regression: if a checkout's settings were a link to an endless or sparse file, reading them used all memory.
for (const [what, make] of [
	[
		"a sparse file",
		(file: string) => {
			writeFileSync(file, "");
			truncateSync(file, 2 ** 40);
		},
	],
	["a file of the system's without an end", (file: string) => symlinkSync("/proc/self/pagemap", file)],
	["a device", (file: string) => symlinkSync("/dev/zero", file)],
] as const)
	testWith("pipes")(`settings that are ${what} are ignored`, async () => {
		ownAgent();
		const project = scratch();
		enter(project);
		mkdirSync(join(project, ".pi"));
		make(join(project, ".pi", "settings.json"));
		put(getDefaultSessionDir(project), "own", project);
		expect([getConfiguredSessionDir(), await found(), await counted(), prefixed()]).toEqual([
			undefined,
			"own",
			1,
			"own",
		]);
	});
