// `list` and `listAll`.
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SessionInfo } from "../../../index.js";
import { gc } from "../../support/runtime.js";
import {
	anyManager,
	api,
	assistant,
	entry,
	header,
	message,
	ownAgent,
	rejection,
	scratch,
	shape,
	toolResult,
	user,
	writeSession,
} from "../../support/scratch.js";
import { testWith } from "../../support/windows.js";

const { SessionManager } = api;
const day = (n: number): number => Date.UTC(2025, 0, n);

/** A directory with this many sessions, the first the newest. */
function sessions(count: number, dir = scratch()): string {
	for (let n = 1; n <= count; n++) {
		const id = `s${String(n).padStart(3, "0")}`;
		writeSession(
			dir,
			[header({ id }), message("a", null, user(`text of ${id}`, { timestamp: day(400 - n) }))],
			`${id}.jsonl`,
		);
	}
	return dir;
}

test("a session is listed with all its fields", async () => {
	const dir = scratch();
	const file = writeSession(dir, [
		header({ parentSession: "/from/here.jsonl" }),
		message("a", null, user("first question", { timestamp: day(2) })),
		entry("session_info", "n", "a", { name: " my name " }),
		message("b", "a", assistant("the answer", { timestamp: day(4) })),
		message("c", "a", user([{ type: "text", text: "on a branch" }], { timestamp: day(3) })),
		message("d", "c", toolResult()),
		"torn {",
	]);
	const [info] = await SessionManager.list("/somewhere", dir);
	const want: SessionInfo = {
		path: file,
		id: "s-1",
		cwd: "/somewhere",
		name: "my name",
		parentSessionPath: "/from/here.jsonl",
		created: new Date("2025-01-01T00:00:00.000Z"),
		modified: new Date(day(4)),
		messageCount: 4,
		firstMessage: "first question",
		allMessagesText: "first question the answer on a branch",
	};
	expect(info).toEqual(want);
	expect(Object.keys(info as object)).toEqual(Object.keys(want));
	expect(info?.created).toBeInstanceOf(Date);
});

test("a missing field is an own undefined key", async () => {
	const dir = scratch();
	writeSession(dir, [header({ cwd: undefined })]);
	const [info] = await SessionManager.listAll(dir);
	expect(shape({ ...info, path: "", created: 0, modified: 0 })).toBe(
		'{"path":"","id":"s-1","cwd":"","name":undefined,"parentSessionPath":undefined,"created":0,"modified":0,"messageCount":0,"firstMessage":"(no messages)","allMessagesText":""}',
	);
});

test("branchedFrom is listed as the path of the parent", async () => {
	const dir = scratch();
	for (const version of [2, 3]) {
		const file = writeSession(
			dir,
			[header({ version, id: `v${version}`, branchedFrom: "/old/parent.jsonl" })],
			`${version}.jsonl`,
		);
		const [info] = (await SessionManager.list("/somewhere", dir)).filter((one) => one.id === `v${version}`);
		expect(info?.parentSessionPath).toBe("/old/parent.jsonl");
		const head = SessionManager.open(file).getHeader() as any;
		expect([head.branchedFrom, "parentSession" in head]).toEqual(["/old/parent.jsonl", false]);
	}
});

test("list filters a given directory by cwd, listAll does not", async () => {
	const dir = scratch();
	for (const [id, cwd] of [
		["mine", "/mine"],
		["theirs", "/theirs"],
		["none", undefined],
		["dots", "/xx/../mine/"],
	] as const) {
		writeSession(dir, [header({ id, cwd })], `${id}.jsonl`);
	}
	expect((await SessionManager.list("/mine", dir)).map((one) => one.id).sort()).toEqual(["dots", "mine"]);
	expect(await SessionManager.listAll(dir)).toHaveLength(4);
	ownAgent();
	const own = api.getDefaultSessionDir("/mine");
	writeSession(own, [header({ id: "theirs", cwd: "/theirs" })]);
	expect(await SessionManager.list("/mine")).toHaveLength(1);
	expect(await SessionManager.list("/mine", own)).toHaveLength(1);
});

// pi fails on some of these contents.
test("a content that is no text hides no session", async () => {
	for (const content of [null, undefined, 5, {}, true, [null], [5, "x", [], { type: "text" }]]) {
		const dir = scratch();
		const bodies = [user("before"), { role: "user", content, timestamp: 1 }, user("after")];
		writeSession(dir, [header(), ...bodies.map((body, at) => message(`m${at}`, null, body))]);
		const [info] = await SessionManager.list("/somewhere", dir);
		expect([info?.messageCount, info?.firstMessage]).toEqual([3, "before"]);
		expect(info?.allMessagesText).toMatch(/^before.*after$/);
	}
});

testWith("links")("listAll reads every directory below sessions, and no file", async () => {
	const { agent } = ownAgent();
	expect(await SessionManager.listAll()).toEqual([]);
	sessions(3, api.getDefaultSessionDir("/one"));
	sessions(2, api.getDefaultSessionDir("/two"));
	writeSession(join(agent, "sessions"), [header()], "stray.jsonl");
	writeFileSync(join(agent, "sessions", "file"), "x");
	symlinkSync("nowhere", join(agent, "sessions", "dangling"));
	symlinkSync(sessions(1), join(agent, "sessions", "linked"));
	expect(await SessionManager.listAll()).toHaveLength(6);
	expect(await anyManager.listAll?.(undefined)).toHaveLength(6);
	const seen: number[] = [];
	expect(await SessionManager.listAll((loaded) => seen.push(loaded))).toHaveLength(6);
	expect(seen).toEqual([1, 2, 3, 4, 5, 6]);
});

test("a missing directory has no sessions and is not made", async () => {
	const dir = join(scratch(), "missing");
	expect(await SessionManager.list("/x", dir)).toEqual([]);
	expect(await SessionManager.listAll(dir)).toEqual([]);
	expect(() => readdirSync(dir)).toThrow();
});

testWith("links")("a file that is no session counts only as progress", async () => {
	const dir = sessions(2);
	writeFileSync(join(dir, "junk.jsonl"), "junk\n");
	writeFileSync(join(dir, "empty.jsonl"), "");
	writeFileSync(join(dir, "other.txt"), JSON.stringify(header()));
	mkdirSync(join(dir, "folder.jsonl"));
	symlinkSync("nowhere", join(dir, "dangling.jsonl"));
	const seen: number[][] = [];
	expect(await SessionManager.list("/somewhere", dir, (loaded, total) => seen.push([loaded, total]))).toHaveLength(2);
	expect(seen).toEqual([1, 2, 3, 4, 5, 6].map((loaded) => [loaded, 6]));
});

describe("progress", () => {
	test("counts every file, and has partial lists at fixed counts", async () => {
		const dir = sessions(25);
		const seen: { loaded: number; total: number; partial?: readonly SessionInfo[] | undefined }[] = [];
		let isSettled = false;
		const promise = SessionManager.list("/somewhere", dir, (loaded, total, partial) => {
			expect(isSettled).toBe(false);
			seen.push({ loaded, total, partial });
		});
		const list = await promise;
		isSettled = true;
		expect(seen.map((one) => [one.loaded, one.total])).toEqual(Array.from({ length: 25 }, (_, at) => [at + 1, 25]));
		expect(seen.filter((one) => one.partial).map((one) => one.loaded)).toEqual([1, 10, 20, 25]);
		for (const { loaded, partial } of seen.filter((one) => one.partial)) {
			expect(partial).toHaveLength(loaded);
			const times = (partial as SessionInfo[]).map((one) => one.modified.getTime());
			expect(times).toEqual(times.slice().sort((a, b) => b - a));
		}
		expect(seen.at(-1)?.partial).toEqual(list);
		expect(seen.at(-1)?.partial).not.toBe(list);
	});

	test("of listAll publishes after the newest file, and last", async () => {
		ownAgent();
		sessions(12, api.getDefaultSessionDir("/one"));
		const published: number[] = [];
		await SessionManager.listAll((loaded, _total, partial) => {
			if (partial) published.push(loaded);
		});
		expect(published.at(-1)).toBe(12);
		expect(published.length).toBeLessThanOrEqual(2);
	});

	test("that throws ends the list, empty, as in the reference", async () => {
		const dir = sessions(5);
		let calls = 0;
		const list = await SessionManager.list("/somewhere", dir, () => {
			calls++;
			throw new Error("progress");
		});
		expect(list).toEqual([]);
		expect(calls).toBeLessThanOrEqual(5);
		expect(await SessionManager.list("/somewhere", dir)).toHaveLength(5);
	});

	test("may use the module itself", async () => {
		const dir = sessions(5);
		const inner: Promise<SessionInfo[]>[] = [];
		await SessionManager.list("/somewhere", dir, () => {
			inner.push(SessionManager.list("/somewhere", dir));
			SessionManager.open(join(dir, "s001.jsonl")).getEntries();
		});
		for (const list of await Promise.all(inner)) expect(list).toHaveLength(5);
	});
});

describe("an aborted signal", () => {
	const reason = { why: "changed my mind" };

	test("from before the list rejects with its reason", async () => {
		const dir = sessions(3);
		const signal = AbortSignal.abort(reason);
		ownAgent();
		for (const promise of [
			SessionManager.list("/somewhere", dir, undefined, signal),
			SessionManager.list("/somewhere", join(dir, "missing"), undefined, signal),
			SessionManager.listAll(dir, undefined, signal),
			SessionManager.listAll(undefined, signal),
			SessionManager.listAll(() => {}, signal),
		]) {
			expect(await rejection(promise)).toBe(reason);
		}
		expect(await rejection(SessionManager.list("/x", dir, undefined, AbortSignal.abort()))).toMatchObject({
			name: "AbortError",
		});
	});

	test("during the list rejects, and progress is not called again", async () => {
		const dir = sessions(30);
		const controller = new AbortController();
		const seen: number[] = [];
		const promise = SessionManager.list(
			"/somewhere",
			dir,
			(loaded) => {
				seen.push(loaded);
				if (loaded === 3) controller.abort(reason);
			},
			controller.signal,
		);
		expect(await rejection(promise)).toBe(reason);
		// Another list ends on the same thread. If the first had more events, they would have come before.
		await SessionManager.list("/somewhere", dir);
		expect(seen).toEqual([1, 2, 3]);
	});

	test("right after the call rejects, in the last progress not", async () => {
		const dir = sessions(3);
		const early = new AbortController();
		const promise = SessionManager.listAll(dir, undefined, early.signal);
		early.abort(reason);
		expect(await rejection(promise)).toBe(reason);
		const late = new AbortController();
		const last = SessionManager.list(
			"/somewhere",
			dir,
			(loaded, total) => loaded === total && late.abort(reason),
			late.signal,
		);
		expect(await rejection(last)).toBe("resolved");
	});

	test("comes before a progress callback that throws", async () => {
		const dir = sessions(3);
		const controller = new AbortController();
		const promise = SessionManager.list(
			"/somewhere",
			dir,
			() => {
				controller.abort(reason);
				throw new Error("progress");
			},
			controller.signal,
		);
		expect(await rejection(promise)).toBe(reason);
	});

	/** A signal that the caller wrote, which may break the rules of signals. */
	const ownSignal = (more: object) => {
		const listeners: (() => void)[] = [];
		const signal = {
			aborted: false,
			reason: undefined,
			addEventListener: (_: string, listener: () => void) => listeners.push(listener),
			removeEventListener: () => {},
		};
		// A spread would call getters, and keep their results.
		Object.defineProperties(signal, Object.getOwnPropertyDescriptors(more));
		return {
			signal: signal as unknown as AbortSignal,
			fire: () => {
				for (const listener of listeners) listener();
			},
		};
	};

	// Regression: they were empty.
	test.each([
		[
			"throws",
			{
				removeEventListener: () => {
					throw new Error("removed");
				},
			},
		],
		["is missing", { removeEventListener: undefined }],
	])("whose removeEventListener %s changes no result", async (_what, more) => {
		const dir = sessions(3);
		for (let round = 0; round < 2; round++) {
			expect(await SessionManager.list("/somewhere", dir, undefined, ownSignal(more).signal)).toHaveLength(3);
			expect(
				await SessionManager.search("nothing like it", { sessionDir: dir, signal: ownSignal(more).signal }),
			).toEqual([]);
			const { signal, fire } = ownSignal(more);
			const promise = SessionManager.list("/somewhere", dir, undefined, signal);
			Object.assign(signal, { aborted: true, reason });
			fire();
			expect(await rejection(promise)).toBe(reason);
		}
	});

	// Regression: they were kept forever.
	test("that cannot be listened to is released with the callback", async () => {
		const dir = sessions(1);
		const starts = [
			(signal: AbortSignal, onProgress: () => void) => SessionManager.list("/somewhere", dir, onProgress, signal),
			(signal: AbortSignal, onProgress: () => void) =>
				SessionManager.search("x", { sessionDir: dir, onProgress, signal }),
		];
		const given = await Promise.all(
			starts.map(async (start) => {
				const { signal } = ownSignal({
					addEventListener: () => {
						throw reason;
					},
				});
				const onProgress = () => expect.unreachable("nothing was listed");
				expect(await rejection(start(signal, onProgress))).toBe(reason);
				return [new WeakRef(signal), new WeakRef(onProgress)];
			}),
		);
		const left = () => given.flat().filter((one) => one.deref() !== undefined).length;
		for (let turn = 0; turn < 200 && left() > 0; turn++) {
			await new Promise((done) => setImmediate(done));
			gc();
		}
		expect(left()).toBe(0);
	});

	// Regression: the list never settled.
	test("whose getter throws after progress threw lets lists settle", async () => {
		const dir = sessions(3);
		let armed = false;
		const { signal } = ownSignal({
			get aborted() {
				if (armed) throw new Error("the signal's own");
				return false;
			},
		});
		const onProgress = () => {
			armed = true;
			throw new Error("the callback's");
		};
		expect(await SessionManager.list("/somewhere", dir, onProgress, signal)).toEqual([]);
	});

	// Regression: they never settled.
	test("that fires but denies it lets lists and searches settle", async () => {
		const dir = sessions(3);
		for (const why of [reason, undefined]) {
			const promises = [
				(signal: AbortSignal) => SessionManager.list("/somewhere", dir, undefined, signal),
				(signal: AbortSignal) => SessionManager.search("x", { sessionDir: dir, signal }),
			].map((start) => {
				const { signal, fire } = ownSignal({ reason: why });
				const promise = start(signal);
				fire();
				return promise;
			});
			for (const promise of promises) {
				const rejected = await rejection(promise);
				if (why) expect(rejected).toBe(why);
				else expect(rejected).toMatchObject({ message: "This operation was aborted" });
			}
		}
	});

	// Regression: the list resolved.
	test("that fires right before the list's end rejects it", async () => {
		let asked = 0;
		const { signal, fire } = ownSignal({
			reason,
			// It is read at the start, and again before the only event of an empty folder is handled.
			get aborted() {
				if (++asked === 2) fire();
				return false;
			},
		});
		expect(await rejection(SessionManager.list("/somewhere", sessions(0), undefined, signal))).toBe(reason);
		expect(asked).toBe(2);
	});

	test("after the list is no matter", async () => {
		const controller = new AbortController();
		const list = await SessionManager.list("/somewhere", sessions(3), undefined, controller.signal);
		controller.abort(reason);
		expect(list).toHaveLength(3);
	});
});

test("many lists at once all end", async () => {
	const dir = sessions(20);
	const lists = await Promise.all(Array.from({ length: 40 }, () => SessionManager.list("/somewhere", dir)));
	for (const list of lists) expect(list).toHaveLength(20);
});
