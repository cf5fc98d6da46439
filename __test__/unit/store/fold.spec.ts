// Processes of one host that fold the same segments, and a host that deletes their session: their calls in many orders.
import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { SESSION, entry, header, library } from "../../support/lines.js";

const require = createRequire(library);
const { SegmentFolding } = require("./segment-fold.js");
const { encodeBatch } = require("./segment.js");
const { coverOf, hostsIn, segmentPath } = require("./segment-names.js");

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Objects in memory, of which each actor makes a call when it is its turn. */
function world(count: number) {
	const objects = new Map<string, Buffer>();
	let modified = new Date(0);
	/** Stores so many batches of one entry each. */
	const fill = (letter: string) => {
		let prev = "";
		for (let at = 1; at <= count; at++) {
			const lines = [entry(`${letter}${at}`)];
			const { bytes, sum } = encodeBatch({ session: SESSION, host: "a", count: at, clock: at, prev, header: at === 1 ? header() : undefined, lines });
			objects.set(segmentPath(SESSION, "a", at), bytes);
			prev = sum;
		}
	};
	fill("n");
	/** The session is deleted and stored again, with other entries of the same length. */
	const replace = () => {
		objects.clear();
		modified = new Date(1000);
		fill("m");
	};
	const listed = () => [...objects].map(([path, { length: size }]) => ({ path, size, modified }));
	const segments = () => hostsIn(SESSION, listed()).get("a") ?? [];
	const turns = new Map<string, () => void>();
	const actor = (name: string) => {
		const turn = () => new Promise<void>((resolve) => turns.set(name, resolve));
		return {
			list: async () => (await turn(), listed()),
			get: async (path: string) => objects.get(path),
			create: async (path: string, bytes: Buffer) => {
				await turn();
				if (objects.has(path)) return false;
				objects.set(path, bytes);
				return true;
			},
			remove: async (paths: string[]) => {
				await turn();
				for (const path of paths) objects.delete(path);
			},
		};
	};
	const go = async (name: string) => {
		await settled();
		turns.get(name)?.();
		turns.delete(name);
		await settled();
	};
	const finish = async () => {
		for (await settled(); turns.size > 0; ) for (const name of turns.keys()) await go(name);
	};
	return { objects, segments, actor, go, finish, replace };
}

/** Every order of the letters, each as often as it is there. */
const orders = (letters: string): string[] =>
	letters === "" ? [""] : [...new Set(letters)].flatMap((first) => orders(letters.replace(first, "")).map((rest) => first + rest));

async function run(order: string, { lastOfB, deletes = false }: { lastOfB: number; deletes?: boolean }) {
	const at = world(65);
	const all = at.segments();
	const [a, b] = ["a", "b"].map((name) => new SegmentFolding(at.actor(name), "a"));
	const folds = [a.fold(SESSION, all.slice(0, 64)), b.fold(SESSION, all.slice(0, lastOfB))];
	const d = at.actor("d");
	const deleted = deletes
		? (async () => {
				for (let found = await d.list(); found.length > 0; found = await d.list()) await d.remove(found.map(({ path }) => path));
			})()
		: undefined;
	for (const name of order) await at.go(name);
	await at.finish();
	await Promise.all([...folds, deleted]);
	return at;
}

test.each([64, 65])("two processes that fold lose nothing (to batches 64 and %i)", async (lastOfB) => {
	for (const order of orders("aaabbb")) {
		const { segments } = await run(order, { lastOfB });
		const has = new Set<number>();
		for (const { from, to } of coverOf(segments())) for (let count = from; count <= to; count++) has.add(count);
		expect([order, has.size]).toEqual([order, 65]);
	}
});

test.each([64, 65])("a session that is deleted while two processes fold does not come back (to batches 64 and %i)", async (lastOfB) => {
	for (const order of orders("aabbddd")) {
		const { objects } = await run(order, { lastOfB, deletes: true });
		expect([order, [...objects.keys()]]).toEqual([order, []]);
	}
});

// Regression: the larger segment with the entries from before took their places.
test("segments of a session that was deleted and stored again while a process folded it stay", async () => {
	const at = world(64);
	const folding = new SegmentFolding(at.actor("a"), "a").fold(SESSION, at.segments());
	await settled();
	at.replace();
	const restored = new Map(at.objects);
	await at.finish();
	await folding;
	expect(at.objects).toEqual(restored);
});
