// Machines, two of them checkouts of one project on one host, that push and pull at the same time. Meanwhile others
// delete the session, restore an older state of the store, or lose their notes. In any order: at the end no machine
// lacks a line. If the session was deleted, each file keeps the lines that were appended to it, and the store contains
// nothing.
import fs, { appendFileSync, cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { caseSeed, Random } from "../../../../__test__/stress/differential/random.js";
import { count } from "../../../../__test__/support/counts.mjs";
import { loadAll } from "../../lib/index.js";
import { entry, filesOf, ids, SESSION } from "../support/lines.js";
import { idsIn, text, world } from "../support/machines.js";

const seed = Number(process.env.PSN_SEED ?? 20251122);
const CALLS = ["link", "rename", "rm", "readdir", "readFile", "open", "mkdir", "stat"] as const;

afterEach(() => vi.restoreAllMocks());

/** Lets others run before and after file calls. */
function delayCalls(random: Random): void {
	const pause = async () => {
		for (let turns = random.chance(0.5) ? random.int(4) : 0; turns > 0; turns--)
			await new Promise((resolve) => setImmediate(resolve));
	};
	for (const name of CALLS) {
		const call = fs.promises[name] as (...args: unknown[]) => Promise<unknown>;
		vi.spyOn(fs.promises, name).mockImplementation((async (...args: unknown[]) => {
			await pause();
			const result = await call(...args);
			await pause();
			return result;
		}) as never);
	}
}

async function runHistory(index: number): Promise<void> {
	const what = `seed ${seed}, history ${index}`;
	const random = new Random(caseSeed(seed, index));
	const { path, machine, begin } = world();
	const machines = [
		machine("a"),
		machine("b"),
		machine("c"),
		...(random.chance(0.5) ? [machine("b2", { host: "b" })] : []),
	];
	const [first] = machines as [(typeof machines)[0]];
	const all = new Set(["root"]);
	const appended = new Map(machines.map(({ file }) => [file, [] as string[]]));
	begin(first, entry("root"));
	await first.sync.push();
	for (const { sync } of machines.slice(1)) await sync.pull();
	delayCalls(random);
	const backup = join(path, "backup");
	/** The files of a store. The machines' own files are beside them. */
	const copyStore = (from: string, to: string) => {
		for (const name of ["sessions", "headers", "lines"]) {
			rmSync(join(to, name), { recursive: true, force: true });
			if (existsSync(join(from, name))) cpSync(join(from, name), join(to, name), { recursive: true });
		}
	};
	const running = new Set<Promise<unknown>>();
	const start = (work: Promise<unknown>) => {
		// The caller gets the errors, and repeats the call later.
		const run = work.catch(() => {}).finally(() => running.delete(run));
		running.add(run);
	};
	const still = () => Promise.all(running);
	for (let step = 0; step < 60; step++) {
		const one = random.pick(machines);
		const sync = () => (random.chance(0.5) ? one.sync : one.again());
		const act = random.weighted<() => void | Promise<void>>([
			[
				16,
				() => {
					if (!existsSync(one.file)) return;
					all.add(`${step}`);
					appended.get(one.file)?.push(`${step}`);
					appendFileSync(one.file, text(entry(`${step}`)));
				},
			],
			[10, () => start(sync().push())],
			[9, () => start(sync().pull())],
			[index % 4 === 3 ? 1 : 0, () => start(one.store.delete(SESSION))],
			[1, () => rmSync(one.notes, { recursive: true, force: true })],
			[
				1,
				async () => {
					await still();
					copyStore(path, backup);
				},
			],
			[
				1,
				async () => {
					await still();
					if (existsSync(backup)) copyStore(backup, path);
				},
			],
		]);
		await act();
		if (random.chance(0.3)) await still();
	}
	await still();
	if ((await first.store.list()).deleted.length > 0) {
		for (const { sync, store, file } of machines) {
			expect(await sync.push({ session: SESSION }), what).toMatchObject([{ error: { code: "deleted" } }]);
			expect(idsIn(file), what).toEqual(expect.arrayContaining(appended.get(file) ?? []));
			await store.delete(SESSION);
		}
		expect(
			filesOf(path).filter((name) => /^(headers|lines)\//.test(name)),
			what,
		).toEqual([expect.stringMatching(/\.deleted$/)]);
		return;
	}
	for (let round = 0; round < 4; round++)
		for (const { sync } of machines) {
			const done = [...(await sync.push({ session: SESSION })), ...(await sync.pull({ session: SESSION }))];
			if (round === 3)
				expect(
					done.flatMap((result) => [result.error ?? [], "added" in result ? result.problems : []].flat()),
					what,
				).toEqual([]);
		}
	const order = idsIn(first.file);
	for (const { file } of machines) expect(idsIn(file), what).toEqual(order);
	expect(ids(await loadAll(first.store, SESSION)), what).toEqual(order);
	expect([...order].sort(), what).toEqual([...all].sort());
}

test(`deletions, restores and lost notes lose no line (seed ${seed})`, async () => {
	for (let index = 0; index < count("store_resets"); index++) {
		await runHistory(index);
		vi.restoreAllMocks();
	}
});
