// Texts of a list, read in any order while files change: each is the text that was listed.
import { appendFileSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Random } from "../../stress/differential/random.js";
import { gc } from "../../support/runtime.js";
import { api, header, message, user, writeSession } from "../../support/scratch.js";
import { type AgentDir, agentDir, reference, session, tick } from "./agent-dir.js";

const { SessionManager } = api;
const seed = Number(process.env.PSN_SEED ?? 20251121);

const SAID = ["plain", "caf\u00e9 \u00ff", "wide \u4e2d\u6587 \u{1f600}", "half \ud800 of it", "", "x\u0000y"];

/** Sessions with texts of one byte and of two bytes a letter, with and without lone surrogates, short and long. */
async function mixed(): Promise<AgentDir> {
	const at = agentDir(0);
	for (let n = 0; n < 60; n++) {
		const said = `${SAID[n % SAID.length]} ${n} `.repeat(n % 7 === 0 ? 4_000 : 1);
		writeSession(at.dir, [header({ id: `s${n}`, cwd: "/project" }), message("a", null, user(said))], `${n}.jsonl`);
	}
	await tick();
	await SessionManager.search("nothing");
	return at;
}

/** The texts of pi's list, by session. */
const textsOfPi = async () =>
	new Map((await reference.SessionManager.listAll()).map((info) => [info.id, info.allMessagesText]));

test("all texts in any order are pi's", async () => {
	await mixed();
	const ours = await SessionManager.listAll();
	const want = await textsOfPi();
	expect(want.size).toBe(60);
	for (const order of [
		(list: typeof ours) => list,
		(list: typeof ours) => [...list].reverse(),
		(list: typeof ours) => list.filter((_, n) => n % 2 === 0),
	]) {
		for (const info of order(await SessionManager.listAll())) expect(info.allMessagesText).toBe(want.get(info.id));
	}
	// Two lists at once.
	const [one, other] = await Promise.all([SessionManager.listAll(), SessionManager.listAll()]);
	for (const [n, info] of one.entries()) {
		expect(info.allMessagesText).toBe(want.get(info.id));
		expect(other[n]?.allMessagesText).toBe(want.get(info.id));
	}
});

test(`each text is the listed one or none (seed ${seed})`, async () => {
	const random = new Random(seed);
	const at = await mixed();
	for (let round = 0; round < 30; round++) {
		const list = await SessionManager.listAll();
		const want = await textsOfPi();
		expect(list.length).toBe(want.size);
		const touched = new Set<string>();
		for (let n = 0; n < list.length; n++) {
			const info = list[n] as (typeof list)[number];
			if (random.chance(0.05)) continue;
			// A change of one of the next sessions.
			const next = list[n + random.int(3)];
			if (next && random.chance(0.1)) {
				touched.add(next.path);
				if (random.chance(0.3)) rmSync(next.path, { force: true });
				else if (random.chance(0.31)) rmSync(at.catalog, { force: true });
				else if (random.chance(0.5))
					writeFileSync(next.path, `${JSON.stringify(header({ id: next.id, cwd: "/project" }))}\n`);
				else if (existsSync(next.path))
					appendFileSync(next.path, `${JSON.stringify(message("z", "a", user("later")))}\n`);
			}
			if (touched.has(info.path)) expect([want.get(info.id), ""]).toContain(info.allMessagesText);
			else expect(info.allMessagesText).toBe(want.get(info.id));
		}
		for (let n = 0; n < 60; n++) if (!existsSync(join(at.dir, `${n}.jsonl`))) session(at.dir, n);
		await tick();
	}
});

// Regression: a list had a text of the list before it, although the file had changed.
test("the next list has no old text of changed files", async () => {
	const at = agentDir(0);
	const line = (word: string): string => JSON.stringify(message("b", "a", user(`the word is ${word}`)));
	const around = (n: number): string => JSON.stringify(message(`x${n}`, null, user("y".repeat(6_000))));
	const write = (n: number, word: string): void =>
		writeFileSync(
			join(at.dir, `${n}.jsonl`),
			`${[JSON.stringify(header({ id: `s${n}`, cwd: "/project" })), around(1), line(word), around(2)].join("\n")}\n`,
		);
	for (let n = 0; n < 4; n++) write(n, "old");
	await tick();
	await SessionManager.search("word");
	for (let round = 0; round < 5; round++) {
		const list = await SessionManager.listAll();
		for (const info of list.slice(0, 2)) expect(info.allMessagesText).toContain("the word is");
		const third = list[2] as (typeof list)[number];
		const word = `n${round}w`;
		// Overwrites as many bytes in the middle, so that only the file's times change.
		write(Number(third.id.slice(1)), word);
		await tick();
		const again = await SessionManager.listAll();
		const before = again.findIndex(({ id }) => id === third.id) - 1;
		for (const info of again.slice(Math.max(before, 0), before + 2)) {
			if (info.id === third.id) expect(info.allMessagesText).toContain(word);
			else expect(info.allMessagesText).toContain("the word is");
		}
	}
});

test("other threads read the same texts as the getter", async () => {
	const at = await mixed();
	const want = await textsOfPi();
	const list = await SessionManager.listAll();
	const [shown, given] = [list[3], list[4]] as [(typeof list)[number], (typeof list)[number]];
	expect(shown.allMessagesText).toBe(want.get(shown.id));
	given.allMessagesText = "given";
	// Values that are not listed sessions are ignored.
	const others = [undefined, null, 5, "text", {}, { ...shown }, Object.freeze({ path: shown.path })] as any[];
	expect(await SessionManager.readTexts([...list.slice(0, 30), ...others, ...list.slice(25)])).toBeUndefined();
	rmSync(at.dir, { recursive: true });
	for (const info of list) expect(info.allMessagesText).toBe(info === given ? "given" : want.get(info.id));
});

// Regression: each new list in /resume read all texts again.
test("a text is read once while its file is unchanged", async () => {
	const at = await mixed();
	const want = await textsOfPi();
	const first = await SessionManager.listAll();
	await SessionManager.readTexts(first.slice(0, 40));
	for (const info of first.slice(40)) expect(info.allMessagesText).toBe(want.get(info.id));
	const lists = [first, await SessionManager.listAll(), await SessionManager.list("/project")];
	rmSync(at.dir, { recursive: true });
	for (const list of lists) for (const info of list) expect(info.allMessagesText).toBe(want.get(info.id));
});

test("texts are released with the lists that contain them", async () => {
	const at = await mixed();
	const asked = async () => {
		const list = await SessionManager.listAll();
		await SessionManager.readTexts(list);
		expect(list.filter((info) => info.allMessagesText !== "")).toHaveLength(60);
	};
	await asked();
	for (let n = 0; n < 5; n++) {
		gc();
		await new Promise((resolve) => setImmediate(resolve));
	}
	const later = await SessionManager.listAll();
	rmSync(at.dir, { recursive: true });
	expect(later.filter((info) => info.allMessagesText !== "")).toEqual([]);
	expect(later).toHaveLength(60);
});

test("an aborted readTexts leaves the texts to be read later", async () => {
	await mixed();
	const list = await SessionManager.listAll();
	const want = await textsOfPi();
	const reason = new Error("closed");
	const controller = new AbortController();
	const reading = SessionManager.readTexts(list, controller.signal);
	controller.abort(reason);
	await expect(reading).rejects.toBe(reason);
	await expect(SessionManager.readTexts(list, AbortSignal.abort(reason))).rejects.toBe(reason);
	for (const info of list) expect(info.allMessagesText).toBe(want.get(info.id));
});
