// When the lists of a pi that was taken over read the texts of their sessions.
import { appendFileSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
	api,
	assistant,
	header,
	lockedOut,
	message,
	scratch,
	text,
	user,
	writeSession,
} from "../../support/scratch.js";
import { agentDir } from "../../unit/catalog/agent-dir.js";
import { freshPi, taken } from "./pi.js";

describe("the texts of a list that is shown", () => {
	/**
	 * The test cannot count how often files are opened to read a text. So it changes the files, and checks which text is
	 * returned.
	 */
	async function listed(show: boolean, meanwhile = (_pi: any) => {}) {
		const { dir } = agentDir(0);
		const paths = Array.from({ length: 100 }, (_, n) =>
			writeSession(
				dir,
				[header({ id: `s-${n}`, cwd: "/project" }), message("a", null, user(`text ${n}`))],
				`${n}.jsonl`,
			),
		);
		const pi = await freshPi();
		taken(pi);
		const sessions = await pi.SessionManager.list("/project", undefined, show ? () => {} : undefined);
		meanwhile(pi);
		await new Promise((done) => setTimeout(done, 300));
		// A text that is read only now contains this line.
		for (const path of paths) appendFileSync(path, text([message("b", "a", assistant("later"))]));
		return sessions.map((session: any) => session.allMessagesText) as string[];
	}

	test("are read ahead where the list is shown", async () => {
		const read = vi.spyOn(api.SessionManager, "readTexts");
		onTestFinished(() => read.mockRestore());
		const texts = await listed(true);
		expect(texts).toHaveLength(100);
		expect(texts.filter((one) => one.startsWith("text"))).toHaveLength(100);
		expect(read.mock.calls.map(([sessions]) => sessions.length)).toEqual([32, 32, 32, 4]);
	});

	test("are not read ahead if hidden, or after an opening", async () => {
		const read = vi.spyOn(api.SessionManager, "readTexts");
		onTestFinished(() => read.mockRestore());
		await listed(false);
		expect(read).not.toHaveBeenCalled();
		const file = writeSession(scratch(), [header()]);
		await listed(true, (pi) => pi.SessionManager.open(file));
		expect(read.mock.calls.length).toBeLessThan(3);
	});

	// Regression: the list failed, although it had found all its sessions.
	test("cannot fail the list if their threads fail", async () => {
		const { dir } = agentDir(0);
		for (let n = 0; n < 100; n++) writeSession(dir, [header({ id: `s-${n}`, cwd: "/project" })], `${n}.jsonl`);
		const pi = await freshPi();
		taken(pi);
		const failed = vi.spyOn(api.SessionManager, "readTexts").mockRejectedValue(new Error("no thread"));
		onTestFinished(() => failed.mockRestore());
		let partial = 0;
		const sessions = await pi.SessionManager.list("/project", undefined, (_: number, __: number, some?: any[]) => {
			partial += some?.map((session) => session.allMessagesText).length ?? 0;
		});
		expect(partial).toBeGreaterThan(0);
		expect(failed).toHaveBeenCalled();
		expect(sessions).toHaveLength(100);
	});
});

// Regression: with a query in the field, each new list read all texts on pi's thread, for 1.5 to 2.3 seconds.
describe.runIf(process.platform === "linux")("with a query in the field, pi's thread reads", () => {
	const SIZE = 20_000;
	/** The number of bytes that this thread has read from files. */
	const bytesRead = () => Number(/rchar: (\d+)/.exec(readFileSync("/proc/thread-self/io", "utf8"))?.[1]);

	/** A screen that shows lists as pi's `/resume` does, over sessions of two directories. */
	async function screen(count: number) {
		const { dir, other } = agentDir(0);
		const at = (n: number) => (n % 4 === 3 ? { dir: other, cwd: "/other" } : { dir, cwd: "/project" });
		const said = (n: number) => `text ${n} ${"x".repeat(SIZE)}`;
		const paths = Array.from({ length: count }, (_, n) =>
			writeSession(
				at(n).dir,
				[header({ id: `s-${n}`, cwd: at(n).cwd }), message("a", null, user(said(n)))],
				`${n}.jsonl`,
			),
		);
		const pi = await freshPi();
		taken(pi);
		/** The shown sessions, how many texts were read on this thread, and the length of the first partial list. */
		const state = { shown: [] as any[], texts: 0, first: 0, query: "" };
		const filter = (sessions: any[]) => {
			state.shown = sessions;
			if (state.query === "") return;
			for (const one of sessions) {
				const before = bytesRead();
				expect(one.allMessagesText).toBe(said(Number(one.id.slice(2))));
				if (bytesRead() - before >= SIZE) state.texts++;
			}
		};
		const list = async (isAll: boolean) => {
			[state.texts, state.first] = [0, 0];
			const onProgress = (_loaded: number, _total: number, sessions?: any[]) => {
				if (!sessions) return;
				state.first ||= sessions.length;
				filter([...sessions]);
			};
			const { SessionManager } = pi;
			filter(
				await (isAll ? SessionManager.listAll(onProgress) : SessionManager.list("/project", undefined, onProgress)),
			);
		};
		return { pi, paths, state, list, filter };
	}

	test("no text again after a deletion", async () => {
		const { paths, state, list, filter } = await screen(120);
		await list(true);
		state.query = "e";
		filter(state.shown);
		rmSync(paths[7] as string);
		await list(true);
		expect(state).toMatchObject({ texts: 0 });
		expect(state.shown).toHaveLength(119);
	});

	test("one text after a session was renamed", async () => {
		const { pi, paths, state, list, filter } = await screen(120);
		await list(true);
		state.query = "e";
		filter(state.shown);
		pi.SessionManager.open(paths[7]).appendSessionInfo("Quince");
		await list(true);
		expect(state.texts).toBeLessThanOrEqual(1);
		expect(state.shown.filter(({ name }) => name === "Quince")).toHaveLength(1);
	});

	test("the texts of the first partial list after Tab", async () => {
		const { state, list, filter } = await screen(240);
		await list(false);
		state.query = "e";
		filter(state.shown);
		await list(true);
		expect(state.texts).toBeLessThanOrEqual(state.first);
		expect(state.shown).toHaveLength(240);
	});
});

test("opening, not renaming, a session ends the reading of texts", async () => {
	const { dir } = agentDir(0);
	const file = writeSession(dir, [header({ cwd: "/project" }), message("a", null, user())]);
	const pi = await freshPi();
	taken(pi);
	const read = vi.spyOn(api.SessionManager, "readTexts");
	onTestFinished(() => read.mockRestore());
	const turn = () => new Promise((resolve) => setImmediate(resolve));
	const show = () => pi.SessionManager.list("/project", undefined, () => {});
	await show();
	const [, signal] = read.mock.calls[0] as any;
	let finish = (_sessions: any[]) => {};
	const list = vi.spyOn(api.SessionManager, "list").mockReturnValueOnce(new Promise((resolve) => (finish = resolve)));
	onTestFinished(() => list.mockRestore());
	pi.SessionManager.open(file).appendSessionInfo("Quince");
	const listing = show();
	await turn();
	expect(signal.aborted).toBe(false);
	finish([]);
	await listing;
	await show();
	const [, later] = read.mock.calls.at(-1) as any;
	pi.SessionManager.open(file);
	await turn();
	expect(later.aborted).toBe(true);
});

test("lists of unreadable directories are empty, and abort as pi's", async () => {
	const { agent } = agentDir(2);
	const pi = await freshPi();
	const sessions = join(agent, "sessions");
	const reason = new Error("enough");
	const own = await lockedOut(sessions, () => pi.SessionManager.listAll());
	taken(pi);
	expect(await lockedOut(sessions, () => pi.SessionManager.listAll())).toEqual(own);
	await expect(pi.SessionManager.listAll(undefined, AbortSignal.abort(reason))).rejects.toBe(reason);
	const controller = new AbortController();
	await expect(pi.SessionManager.listAll(() => controller.abort(reason), controller.signal)).rejects.toBe(reason);
	expect(await pi.SessionManager.listAll()).toHaveLength(2);
});
