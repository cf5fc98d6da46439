// Several managers in several threads: each on its own session, and all on one session to which they append.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { inThread } from "../../support/children.js";
import { api, header, jsonLines, message, scratch, user, writeSession } from "../../support/scratch.js";

const THREADS = 4;
const ROUNDS = 60;
const SAY = 'const say = (content) => ({ role: "user", content, timestamp: 1 });';

const each = <T>(work: (index: number) => Promise<T>) =>
	Promise.all(Array.from({ length: THREADS }, (_, index) => work(index)));

test.each(["text", "file"] as const)("threads made of %s keep several sessions each", async (how) => {
	const dir = scratch();
	const code = `${SAY}
		const managers = [0, 1, 2].map((n) => SessionManager.create("/x", workerData.dir, { id: "t" + workerData.index + "." + n }));
		for (let round = 0; round < ${ROUNDS}; round++) {
			for (const manager of managers) {
				manager.appendMessage(say(manager.getSessionId() + ":" + round));
				if (round % 20 === 9) manager.branch(manager.getEntries()[0].id);
			}
		}
		parentPort.postMessage(managers.map((manager) => ({
			file: manager.getSessionFile(), count: manager.getEntryCount(), branch: manager.getBranch().length,
			prompt: manager.buildSessionContext().messages.length,
		})));`;
	const said = (await each((index) => inThread(code, { workerData: { dir, index } }, how === "file"))).flat();
	expect(said).toHaveLength(THREADS * 3);
	for (const { file, count, branch, prompt } of said) {
		expect({ count, branch, prompt }).toEqual({ count: ROUNDS, branch: 11, prompt: 11 });
		const [head, ...entries] = jsonLines(file);
		expect(entries.map((entry) => entry.message.content)).toEqual(
			Array.from({ length: ROUNDS }, (_, round) => `${head.id}:${round}`),
		);
		const reopened = api.SessionManager.open(file);
		expect([reopened.getEntryCount(), reopened.getBranch().length]).toEqual([count, branch]);
	}
	expect(await api.SessionManager.listAll(dir)).toHaveLength(THREADS * 3);
});

test("threads that append to one session lose no line", async () => {
	const file = writeSession(scratch(), [header(), message("a", null, user("first"))]);
	const code = `${SAY}
		const manager = SessionManager.open(workerData.file);
		for (let round = 0; round < ${ROUNDS}; round++) manager.appendMessage(say(workerData.index + ":" + round + "x".repeat(500)));
		parentPort.postMessage(manager.getEntryCount());`;
	const counts = await each((index) => inThread(code, { workerData: { file, index } }));
	expect(readFileSync(file, "utf8").endsWith("\n")).toBe(true);
	const texts = jsonLines(file)
		.slice(2)
		.map((entry) => entry.message.content.replace(/x+$/, ""));
	const wanted = Array.from({ length: THREADS }, (_, index) =>
		Array.from({ length: ROUNDS }, (_, round) => `${index}:${round}`),
	);
	expect(texts.slice().sort()).toEqual(wanted.flat().sort());
	// The entries of each thread are in its order.
	for (let index = 0; index < THREADS; index++) {
		expect(texts.filter((text) => text.startsWith(`${index}:`))).toEqual(wanted[index]);
	}
	for (const count of counts) expect(count).toBeGreaterThan(ROUNDS);
	const manager = api.SessionManager.open(file);
	expect(manager.getEntryCount()).toBe(1 + THREADS * ROUNDS);
});

test("a thread's end takes nothing from the others", async () => {
	const dir = scratch();
	const manager = api.SessionManager.create("/x", dir);
	const id = manager.appendMessage(user("before"));
	const entry = manager.getEntry(id);
	const code = `
		const manager = SessionManager.open(workerData.file);
		manager.getEntries();
		SessionManager.listAll(workerData.dir).then((list) => parentPort.postMessage(list.length));`;
	for (let round = 0; round < 5; round++) {
		expect(await each(() => inThread(code, { workerData: { dir, file: manager.getSessionFile() } }))).toEqual([
			1, 1, 1, 1,
		]);
		manager.appendMessage(user(`after ${round}`));
		expect(manager.getEntry(id)).toBe(entry);
	}
	expect(manager.getEntryCount()).toBe(6);
});
