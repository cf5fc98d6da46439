// The lists that the extension puts in place of pi's, held against pi's own: on the class of the reference, in this process.
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { agentDir, plain, reference, session } from "../../unit/catalog/agent-dir.js";
import { type Json, api, header, lockedOut, message, root, scratch, text, user, writeSession } from "../../support/scratch.js";

const { replaceLists } = await import(pathToFileURL(join(root, "lib/extension/lists.mjs")).href);
const { SessionManager } = reference;
const own = { list: SessionManager.list, listAll: SessionManager.listAll };

afterEach(() => {
	// Whatever a test did, the next one begins with pi as it is.
	Object.assign(SessionManager, own);
	api.setAgentDir(undefined);
});

/** pi as an extension sees it, and a session of it in the directory's own project. */
function inPi(agent: string, more: Json = {}) {
	const pi = { SessionManager, VERSION: "1.5.2", CURRENT_SESSION_VERSION: 3, getAgentDir: () => agent, ...more } as any;
	const sessionManager = { usesDefaultSessionDir: () => true, getCwd: () => "/project", getSessionDir: () => join(agent, "sessions/--project--") };
	const warn = vi.fn();
	return { pi, ctx: { sessionManager } as any, warn };
}

function replaced(agent: string, more: Json = {}) {
	const { pi, ctx, warn } = inPi(agent, more);
	const restore = replaceLists(pi, ctx, warn);
	onTestFinished(restore);
	return { restore, warn };
}

/** Sessions as pi should not find them. */
function hostile(dir: string, other: string): void {
	writeFileSync(join(dir, "empty.jsonl"), "");
	writeFileSync(join(dir, "none.jsonl"), '{"type":"message"}\n');
	writeFileSync(join(dir, "no-json.jsonl"), "\u0000\u0001 what\n{}\n");
	writeSession(dir, [header({ id: "v1", version: undefined, cwd: "/project" }), { type: "message", timestamp: "2025-01-01T00:00:00.000Z", message: user("old") }], "v1.jsonl");
	writeSession(dir, [header({ id: "odd", cwd: 7, timestamp: "never" }), message("a", null, user([{ type: "text", text: "\u001b[31mred\u202e" }]))], "odd.jsonl");
	writeSession(dir, [header({ id: "named" }), { type: "session_info", id: "n", parentId: null, timestamp: "x", name: "\u001b]52;c;AAAA\u0007 name " }], "named.jsonl");
	writeSession(dir, [header({ id: "same-time", timestamp: "2025-01-01T00:00:00.000Z" })], "same.jsonl");
	writeFileSync(join(dir, "torn.jsonl"), `${text([header({ id: "torn" }), message("a", null, user("whole"))])}{"type":"message","id":"b","mess`);
	execFileSync("mkfifo", [join(other, "pipe.txt")]);
	mkdirSync(join(dir, "folder.jsonl"));
	symlinkSync(join(dir, "nowhere"), join(dir, "dangling.jsonl"));
	symlinkSync(other, join(dir, "..", "--linked--"));
	mkdirSync(join(dir, "0194-with-subagents", "abc", "run-0"), { recursive: true });
	writeSession(join(dir, "0194-with-subagents", "abc", "run-0"), [header({ id: "subagent" }), message("a", null, user("task"))]);
	truncateSync(session(dir, 40), 100);
}

/** Every way that pi lists sessions, and what its progress said in the end. */
async function everything(dir: string): Promise<unknown> {
	const calls: unknown[][] = [];
	const progress = (...args: unknown[]): void => void calls.push(args);
	const lists = [
		await SessionManager.list("/project"),
		await SessionManager.list("/project", dir, progress as any),
		await SessionManager.list("/other", dir),
		await SessionManager.listAll(progress as any),
		await SessionManager.listAll(dir),
		await SessionManager.listAll(join(dir, "nowhere")),
	];
	// In partial lists sessions of one time come as they were read.
	const ends = calls.filter(([loaded, total]) => loaded === total).map(([loaded, , partial]) => [loaded, (partial as any[] | undefined)?.map(({ id }) => id).sort()]);
	return { lists: lists.map(plain), ends };
}

describe("in pi, the replaced lists", () => {
	test("show a list that is not complete only now and then, and every step of the progress", async () => {
		const { agent, dir } = agentDir(35);
		replaced(agent);
		const partials = async (stepMs: number): Promise<number[]> => {
			let now = 0;
			const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += stepMs));
			onTestFinished(() => clock.mockRestore());
			const steps: number[] = [];
			const shown: number[] = [];
			const list = await SessionManager.list("/project", dir, ((loaded: number, _total: number, partial?: unknown[]) => {
				steps.push(loaded);
				if (partial) shown.push(loaded);
			}) as any);
			expect(steps).toEqual(Array.from({ length: steps.length }, (_, n) => n + 1));
			expect(steps.length).toBeGreaterThanOrEqual(list.length);
			expect(shown.at(-1)).toBe(steps.length);
			return shown;
		};
		expect(await partials(0)).toHaveLength(1);
		expect((await partials(300)).length).toBeGreaterThan(2);
	});

	test("give what pi's own give, on hostile directories, too: sessions, order, names, counts, texts, progress", async () => {
		const { agent, dir, other } = agentDir();
		hostile(dir, other);
		const expected = await everything(dir);
		const { warn, restore } = replaced(agent);
		expect(SessionManager.list).not.toBe(own.list);
		expect(await everything(dir)).toEqual(expected);
		expect(await everything(dir), "from the catalog").toEqual(expected);
		expect(warn).not.toHaveBeenCalled();
		restore();
		expect(SessionManager.list).toBe(own.list);
		expect(SessionManager.listAll).toBe(own.listAll);
	});

	test("look where this pi has its sessions, whatever the environment says", async () => {
		const { agent } = agentDir();
		const expected = plain(await SessionManager.listAll());
		vi.stubEnv("PI_CODING_AGENT_DIR", scratch());
		onTestFinished(() => void vi.unstubAllEnvs());
		replaced(agent);
		expect(plain(await SessionManager.listAll())).toEqual(expected);
	});

	test("are aborted as pi's are", async () => {
		const { agent } = agentDir();
		const { warn } = replaced(agent);
		const reason = new Error("enough");
		await expect(SessionManager.listAll(undefined, AbortSignal.abort(reason))).rejects.toBe(reason);
		const controller = new AbortController();
		const running = SessionManager.listAll(() => controller.abort(reason), controller.signal);
		await expect(running).rejects.toBe(reason);
		expect(warn).not.toHaveBeenCalled();
		expect(await SessionManager.listAll()).toHaveLength(12);
	});

	test("leave a session out that another process deletes meanwhile", async () => {
		const { agent, dir } = agentDir();
		replaced(agent);
		const before = await SessionManager.list("/project");
		rmSync(join(dir, "0.jsonl"));
		const gone = before.find(({ id }) => id === "s-0");
		expect(gone?.allMessagesText).toBe("");
		expect((await SessionManager.list("/project")).map(({ id }) => id)).toEqual(before.map(({ id }) => id).filter((id) => id !== "s-0"));
	});

	test("are empty where the directory cannot be read, as in pi", async () => {
		const { agent } = agentDir();
		const sessions = join(agent, "sessions");
		const expected = await lockedOut(sessions, () => SessionManager.listAll());
		replaced(agent);
		expect(await lockedOut(sessions, () => SessionManager.listAll())).toEqual(expected);
	});

	test("leave a subclass its own", async () => {
		const { agent } = agentDir();
		class Other extends (SessionManager as any) {
			static list = async () => ["mine"];
		}
		class Plain extends (SessionManager as any) {}
		const { warn } = replaced(agent);
		expect(await (Other as any).list("/project")).toEqual(["mine"]);
		// With pi's own function: its infos have texts as plain properties.
		const [info] = await (Plain as any).listAll();
		expect(Object.getOwnPropertyDescriptor(info, "allMessagesText")).toHaveProperty("value");
		const [ours] = await SessionManager.listAll();
		expect(Object.getOwnPropertyDescriptor(ours, "allMessagesText")).toHaveProperty("get");
		expect(warn).not.toHaveBeenCalled();
	});
});

describe("pi's own lists answer", () => {
	const isOwn = async (): Promise<boolean> => Object.hasOwn(Object.getOwnPropertyDescriptor((await SessionManager.listAll())[0], "allMessagesText") ?? {}, "value");

	test("where they are not as expected", async () => {
		const { agent } = agentDir();
		(SessionManager as any).list = async (_cwd: string) => [];
		const { warn } = replaced(agent);
		expect(SessionManager.listAll).toBe(own.listAll);
		expect(warn.mock.calls).toEqual([["pi-session-native: /resume is pi's own, because SessionManager.list of pi 1.5.2 is not as expected"]]);
	});

	test("where sessions have another version", async () => {
		const { agent } = agentDir();
		const { warn } = replaced(agent, { CURRENT_SESSION_VERSION: 4 });
		expect(await isOwn()).toBe(true);
		expect(await isOwn()).toBe(true);
		expect(warn.mock.calls).toEqual([["pi-session-native: /resume is pi's own, because sessions of pi 1.5.2 have version 4"]]);
	});

	test("where the agent's directory has another layout", async () => {
		const { agent } = agentDir();
		const { pi, ctx, warn } = inPi(agent);
		ctx.sessionManager.getSessionDir = () => join(agent, "elsewhere");
		onTestFinished(replaceLists(pi, ctx, warn));
		expect(await isOwn()).toBe(true);
		expect(warn.mock.calls[0]?.[0]).toBe(`pi-session-native: /resume is pi's own, because pi 1.5.2 keeps sessions in ${join(agent, "elsewhere")}, not in ${join(agent, "sessions/--project--")}`);
	});

	test("where ours fail", async () => {
		const { agent } = agentDir();
		const failing = vi.spyOn(api.SessionManager, "listAll").mockRejectedValue(new Error("no descriptor is left"));
		onTestFinished(() => failing.mockRestore());
		const { warn } = replaced(agent);
		expect(await isOwn()).toBe(true);
		expect(warn.mock.calls).toEqual([["pi-session-native: /resume is pi's own, because no descriptor is left"]]);
	});

	test("once they were put back, though another extension has wrapped ours", async () => {
		const { agent } = agentDir();
		const { restore } = replaced(agent);
		const wrapped = SessionManager.listAll;
		(SessionManager as any).listAll = async (...args: any[]) => (wrapped as any).apply(SessionManager, args);
		restore();
		expect(await isOwn()).toBe(true);
	});
});
