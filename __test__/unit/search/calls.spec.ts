// A call of SessionManager.search: which state it sees, its files, its progress, signal and callbacks, and wrong
// arguments.
import { appendFileSync, existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SearchHit } from "../../../index.js";
import { api, header, message, ownAgent, rejection, user, writeSession } from "../../support/scratch.js";
import { settled, tick } from "../catalog/agent-dir.js";
import { saying, search } from "./saying.js";

const { SessionManager } = api;

test("new texts are found, and progress is reported", async () => {
	const { agent } = ownAgent();
	const dir = api.getDefaultSessionDir("/p");
	expect(dir.startsWith(agent)).toBe(true);
	const files = [1, 2, 3].map((n) =>
		writeSession(dir, [header({ id: `s-${n}` }), message("m", null, user(`pear ${n}`))], `${n}.jsonl`),
	);
	const told: number[][] = [];
	const onProgress = (searched: number, total: number) => told.push([searched, total]);
	const pears = async (query = "pear") =>
		(await SessionManager.search(query, { onProgress })).map((hit) => hit.entryId);
	expect(await pears()).toHaveLength(3);
	expect(told).toEqual([
		[0, 3],
		[1, 3],
		[2, 3],
		[3, 3],
	]);
	appendFileSync(files[0] as string, `${JSON.stringify(message("new", "m", user("pear again")))}\n`);
	expect((await pears("again")).concat(await pears())).toHaveLength(5);
	rmSync(files[1] as string);
	writeFileSync(files[2] as string, readOther(files[2] as string));
	expect((await pears()).sort()).toEqual(["m", "new"]);
});

test("a search writes no session and creates no catalog", async () => {
	const { agent } = ownAgent();
	writeSession(api.getDefaultSessionDir("/p"), [header(), message("m", null, user("pear"))]);
	expect(await SessionManager.search("pear")).toHaveLength(1);
	expect(readdirSync(agent)).toEqual(["sessions"]);
	await tick();
	await SessionManager.listAll();
	const catalog = join(agent, "session-catalog.sqlite");
	await settled({ agent, dir: agent, other: agent, catalog });
	for (const name of readdirSync(agent))
		if (name.startsWith("session-catalog")) writeFileSync(join(agent, name), "not a database");
	expect(await SessionManager.search("pear")).toHaveLength(1);
	expect(existsSync(catalog)).toBe(false);
	expect(await SessionManager.search("pear")).toHaveLength(1);
	expect(readdirSync(agent)).toEqual(["sessions"]);
});

const readOther = (_file: string): string =>
	`${[header({ id: "other" }), message("plum", null, user("plum"))].map((one) => JSON.stringify(one)).join("\n")}\n`;

describe("an aborted signal", () => {
	const reason = { why: "enough" };
	const dir = () => saying(...Array.from({ length: 40 }, (_, n) => `text ${n}`));

	test("rejects with its reason, whenever it was aborted", async () => {
		const at = dir();
		expect(await rejection(search(at, "text", { signal: AbortSignal.abort(reason) }))).toBe(reason);
		const early = new AbortController();
		const promise = search(at, "text", { signal: early.signal });
		early.abort(reason);
		expect(await rejection(promise)).toBe(reason);
		const during = new AbortController();
		const onProgress = () => during.abort(reason);
		expect(await rejection(search(at, "text", { signal: during.signal, onProgress }))).toBe(reason);
		expect(await search(at, "text")).toHaveLength(40);
	});

	test("at any point leaves the next search whole", async () => {
		ownAgent();
		const own = api.getDefaultSessionDir("/p");
		for (let n = 0; n < 30; n++) {
			writeSession(own, [header({ id: `s-${n}` }), message("m", null, user(`text ${n}`))], `${n}.jsonl`);
		}
		for (let after = 0; after < 12; after++) {
			const controller = new AbortController();
			let calls = 0;
			const onProgress = () => {
				if (++calls > after * 2) controller.abort(reason);
			};
			const outcome = await rejection(SessionManager.search("text", { signal: controller.signal, onProgress }));
			expect([reason, "resolved"]).toContain(outcome);
		}
		expect(await SessionManager.search("text", { limit: 100 })).toHaveLength(30);
	});
});

test("onHit receives each hit before the promise resolves", async () => {
	const dir = saying(...Array.from({ length: 40 }, (_, n) => `text ${n}`));
	const told: SearchHit[] = [];
	let isOver = false;
	const hits = await search(dir, "text", { onHit: (hit) => void (expect(isOver).toBe(false), told.push(hit)) });
	isOver = true;
	expect(told).toHaveLength(40);
	expect(told).toEqual(hits);
	const controller = new AbortController();
	let count = 0;
	const onHit = () => void (++count === 3 && controller.abort("enough"));
	await expect(search(dir, "text", { onHit, signal: controller.signal })).rejects.toBe("enough");
	expect(count).toBe(3);
	const why = new Error("from onHit");
	const thrower = () => {
		throw why;
	};
	await expect(search(dir, "text", { onHit: thrower })).rejects.toBe(why);
	// Regression: the promise was rejected.
	for (const none of [null, undefined])
		expect(await search(dir, "text", { onHit: none as unknown as undefined })).toHaveLength(40);
});

// Regression: the session was found only after a list.
test("a header after many damaged lines is found", async () => {
	ownAgent();
	const path = join(api.getDefaultSessionDir("/p"), "junk.jsonl");
	const lines = [header({ id: "late" }), message("m", null, user("needle"))].map((one) => `${JSON.stringify(one)}\n`);
	writeFileSync(path, `${"no JSON here\n".repeat(120_000)}${lines.join("")}`);
	expect((await SessionManager.search("needle")).map((hit) => hit.id)).toEqual(["late"]);
	expect((await SessionManager.listAll()).map((info) => info.id)).toEqual(["late"]);
});

test("a progress callback that throws rejects with what it threw", async () => {
	const why = new Error("progress");
	const promise = search(saying("text"), "text", {
		onProgress() {
			throw why;
		},
	});
	await expect(promise).rejects.toBe(why);
});
