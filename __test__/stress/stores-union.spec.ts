// Files of several hosts that push to one store and pull from it, in random histories.
import { createRequire } from "node:module";
import { describe, expect, test } from "vitest";
import { DirectoryStore, type LineStore, type StoredLine, loadAll } from "../../lib/store/index.js";
import { count } from "../support/counts.mjs";
import { SESSION, append, emptyDirectory, entry, header, library } from "../support/lines.js";
import { Random, caseSeed } from "./differential/random.js";

const { unionLines } = createRequire(library)("./union.js");
const seed = Number(process.env.PSN_SEED ?? 20251121);

const text = (lines: readonly Uint8Array[]): string[] => lines.map((line) => Buffer.from(line).toString());
const stored = (host: string, clock: number, ...lines: Buffer[]): StoredLine[] => lines.map((line, index) => ({ line, host, clock, index }));
const damaged = (name: string): Buffer => Buffer.from(`{"type":"message", damaged ${name}`);
const [a, b, c, d] = ["a", "b", "c", "d"].map(entry) as [Buffer, Buffer, Buffer, Buffer];

describe("a file and what is stored", () => {
	const head = header();
	test("stored lines come in their order, those that are not stored yet behind them", () => {
		const { lines, kept } = unionLines([head, a, c, d], [...stored("x", 1, a), ...stored("y", 2, b), ...stored("x", 3, c)]);
		expect([text(lines), kept]).toEqual([text([head, a, b, c, d]), 2]);
	});

	test("where only the end is new, all lines stay", () => {
		expect(unionLines([head, a], [...stored("x", 1, a, b)])).toMatchObject({ kept: 2, lines: { length: 3 } });
		expect(unionLines([head, a, b], [...stored("x", 1, a, b)])).toMatchObject({ kept: 3, lines: { length: 3 } });
		expect(unionLines([head, a, b], [])).toMatchObject({ kept: 3, lines: { length: 3 } });
	});

	test("what is no entry stays behind the line it stood behind, also the header and what is before it", () => {
		const [one, two, three] = ["1", "2", "3"].map(damaged) as [Buffer, Buffer, Buffer];
		const second = Buffer.from('{"type":"session","id":"another"}');
		const { lines } = unionLines([one, head, two, second, b, three, Buffer.alloc(0), a], [...stored("x", 1, a, b)]);
		expect(text(lines)).toEqual(text([one, head, two, second, a, b, three, Buffer.alloc(0)]));
	});

	test("an entry that stands twice in the file is one", () => {
		expect(text(unionLines([head, a, b, a], stored("x", 1, a)).lines)).toEqual(text([head, a, b]));
	});

	test("ids that two hosts gave to different lines are named", () => {
		const other = Buffer.from('{"type":"other","id":"a"}');
		expect(unionLines([head], [...stored("y", 1, a, b), ...stored("x", 1, other)]).collisions).toEqual([{ id: "a", hosts: ["x", "y"] }]);
		// One host may have done so before: an id means its last entry then.
		expect(unionLines([head], stored("y", 1, a, other)).collisions).toEqual([]);
	});
});

class Host {
	file: Uint8Array[] = [header()];
	private cursor?: string;
	private pushed = 1;

	constructor(
		readonly name: string,
		private store: LineStore,
		private readonly random: Random,
		private readonly made: Map<string, string[]>,
	) {}

	write(id: string): void {
		this.file.push(entry(id));
		this.made.set(this.name, [...(this.made.get(this.name) ?? []), id]);
		if (this.random.chance(0.1)) this.file.push(damaged(id));
	}

	async push(): Promise<void> {
		const lines = this.file.slice(this.pushed).filter((line) => !String(line).includes("damaged"));
		// Sometimes the answer is lost, and the notes with it.
		const { cursor } = await append(this.store, lines as Buffer[], this.cursor);
		if (this.random.chance(0.2)) {
			this.pushed = 1;
			this.cursor = undefined;
		} else {
			this.pushed = this.file.length;
			this.cursor = cursor;
		}
	}

	async pull(): Promise<void> {
		const page = await loadAll(this.store, SESSION);
		expect(page.problems).toEqual([]);
		this.file = unionLines(this.file, page.lines).lines;
		this.cursor = page.cursor;
		const known = new Set(page.lines.map(({ line }) => line.toString()));
		const first = this.file.findIndex((line, at) => at > 0 && !known.has(String(line)) && !String(line).includes("damaged"));
		this.pushed = first < 0 ? this.file.length : first;
	}

	entries(): string[] {
		return text(this.file).filter((line) => !line.includes("damaged"));
	}
}

test(`hosts that go on at the same time end with the same lines in the same order (seed ${seed})`, async () => {
	for (let index = 0; index < count("store_histories"); index++) {
		const random = new Random(caseSeed(seed, index));
		const path = emptyDirectory();
		const made = new Map<string, string[]>();
		const hosts = ["b", "a", "c"].map((name) => new Host(name, new DirectoryStore({ path, host: name }), random, made));
		for (let step = 0; step < 40; step++) {
			const host = random.pick(hosts);
			const work = random.weighted<() => void | Promise<void>>([
				[5, () => host.write(`${host.name}${step}`)],
				[3, () => host.push()],
				[2, () => host.pull()],
			]);
			await work();
		}
		for (const host of hosts) await host.push();
		for (const host of hosts) await host.pull();
		const [first, ...others] = hosts.map((host) => host.entries());
		for (const other of others) expect(other, `seed ${seed}, history ${index}`).toEqual(first);
		const ids = (first ?? []).slice(1).map((line) => JSON.parse(line).id);
		expect(ids.slice().sort(), `seed ${seed}, history ${index}`).toEqual([...made.values()].flat().sort());
		for (const [name, own] of made) expect(ids.filter((id) => id.startsWith(name)), `seed ${seed}, history ${index}`).toEqual(own);
		// What is damaged stays with its host, each behind its line.
		for (const host of hosts) {
			const lines = text(host.file);
			for (const [at, line] of lines.entries())
				if (line.includes("damaged")) expect(lines[at - 1], `seed ${seed}, history ${index}`).toContain(`"id":"${line.split("damaged ")[1]}"`);
		}
	}
});
