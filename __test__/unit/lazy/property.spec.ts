// Large values in lines of all kinds, read in random order among random operations: they equal the results of
// JSON.parse, and pi's values.
import assert from "node:assert";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SessionManager } from "../../../index.js";
import { caseSeed, Random } from "../../stress/differential/random.js";
import { count } from "../../support/counts.mjs";
import { api, assistant, clockAt, header, scratch, shape, user } from "../../support/scratch.js";
import { type Allowed, line } from "./lines.js";
import { long, openLazy, openPlain, openReference, Reference, waiting } from "./support.js";

const SEED = 20250711;
const FILES = count("late_read_files");
const LINES = 40;
const CASES = count("late_read_histories");
const STEPS = 40;

/** A file of random lines in one path. */
function lines(r: Random, count: number, allowed: Allowed): Buffer[] {
	return Array.from({ length: count }, (_, at) => line(r, `x-${at}`, at === 0 ? null : `x-${at - 1}`, allowed));
}

function write(file: string, all: readonly Buffer[]): string {
	const end = Buffer.from("\n");
	writeFileSync(file, Buffer.concat([Buffer.from(JSON.stringify(header())), end, ...all.flatMap((one) => [one, end])]));
	return file;
}

test(`random lines read late agree with JSON.parse (seed ${SEED})`, () => {
	let waited = 0;
	for (let round = 0; round < FILES; round++) {
		const seed = caseSeed(SEED, round);
		const r = new Random(seed);
		const all = lines(r, LINES, { oddNumbers: true, oddBytes: true, oddMessages: true });
		const file = write(join(scratch(), "session.jsonl"), all);
		const [lazy, plain, reference] = [openLazy(file), openPlain(file), openReference(file)].map((one) =>
			one.getEntries(),
		) as any;
		expect(
			lazy.map((one: any) => one.id),
			`seed ${seed}`,
		).toEqual(all.map((one) => JSON.parse(one.toString("utf8")).id));
		waited += lazy.flatMap(waiting).length;
		const written = [lazy, plain, reference].map(() => [] as string[]);
		for (const at of r.shuffle([...all.keys()])) {
			const want = JSON.parse((all[at] as Buffer).toString("utf8"));
			const where = `seed ${seed}, line ${at}: ${(all[at] as Buffer).toString("utf8").slice(0, 300)}`;
			const holders = [lazy[at], lazy[at].message].filter((one) => typeof one === "object" && one !== null);
			// Reads one of the two or three values first, then writes the whole object as JSON.
			const [holder] = r.shuffle(holders);
			const key = r.pick(Object.keys(holder));
			const plainly = holder === lazy[at] ? want : want.message;
			expect(shape(holder[key]), where).toBe(shape(plainly[key]));
			if (r.chance(0.3)) expect(JSON.stringify(lazy[at]), where).toBe(JSON.stringify(want));
			expect(shape(lazy[at]), where).toBe(shape(want));
			expect(shape(plain[at]), where).toBe(shape(want));
			expect(shape(reference[at]), where).toBe(shape(want));
			// We do not use vitest's equality, because it reads the values' constructors.
			assert.deepStrictEqual(lazy[at], want, where);
			expect(waiting(lazy[at])).toEqual([]);
			for (const [side, entries] of [lazy, plain, reference].entries())
				written[side]?.push(JSON.stringify(entries[at]));
		}
		expect(written[0]).toEqual(written[2]);
		expect(written[1]).toEqual(written[2]);
	}
	expect(waited).toBeGreaterThan(FILES * LINES * 0.5);
});

/** One of the two managers, and its results so far. */
class Side {
	readonly ids = new Map<string, number>();
	readonly held: any[] = [];
	manager: SessionManager;

	constructor(
		readonly Manager: typeof api.SessionManager,
		readonly dir: string,
		readonly file: string,
	) {
		this.manager = Manager.open(file);
	}

	/** Reads the entries, and notes their ids. */
	entries(): any[] {
		const entries = this.manager.getEntries();
		for (const { id } of entries) if (!this.ids.has(id)) this.ids.set(id, this.ids.size);
		return entries;
	}

	/** The values that both have in common, with numbers for generated ids. */
	text(value: unknown): string {
		return shape(value).replace(/"([0-9a-f]{8})"/g, (whole, id: string) => {
			const number = this.ids.get(id);
			return number === undefined ? whole : `"#${number}"`;
		});
	}
}

/** Reports the position at which long texts differ. */
function same(ours: string, pis: string, where: string): void {
	if (ours === pis) return;
	let from = 0;
	while (ours[from] === pis[from]) from++;
	from = Math.max(0, from - 100);
	expect(ours.slice(from, from + 300), `${where}, at character ${from}`).toBe(pis.slice(from, from + 300));
	expect(ours.length, where).toBe(pis.length);
}

type Step = (r: Random) => (side: Side) => unknown;

const at = (side: Side, where: number): any => side.entries()[Math.floor(where * side.entries().length)];
const body = (r: Random): string => (r.chance(0.5) ? long(`new ${r.hex(3)}`) : "short");

const holderOf = (one: any): any => (typeof one?.message === "object" && one.message !== null ? one.message : one);

// A message that was read without content counts as one without, even if a caller changes its object.
const CHANGES: ((holder: any) => void)[] = [
	(holder) => {
		holder.content = "assigned";
	},
	(holder) => {
		holder.content = [{ type: "text", text: long("assigned") }];
	},
	(holder) => {
		if (Array.isArray(holder.content)) holder.content.push({ type: "text", text: "pushed" });
	},
	(holder) => {
		// Its value is read first. If it were deleted before, a hidden function would stay, which `shape` shows.
		if (holder.details !== undefined) delete holder.details;
	},
	(holder) => {
		if (holder.content !== undefined) delete holder.content;
		holder.content = "put last";
	},
	(holder) => {
		holder.extra = { more: 1 };
	},
];

const STEPS_BY_WEIGHT: readonly (readonly [number, Step])[] = [
	[
		10,
		(r) => {
			const [where, key, deep] = [r.uint32() / 2 ** 32, r.pick(["content", "details", "data"]), r.chance(0.6)];
			return (side) => {
				const one = at(side, where);
				return (deep ? holderOf(one) : one)?.[key];
			};
		},
	],
	[
		3,
		(r) => {
			const where = r.uint32() / 2 ** 32;
			return (side) => void side.held.push(at(side, where));
		},
	],
	[
		2,
		(r) => {
			const [where, change] = [r.uint32() / 2 ** 32, r.pick(CHANGES)];
			return (side) => {
				const one = at(side, where);
				if (holderOf(one)?.content) change(holderOf(one));
			};
		},
	],
	[
		4,
		(r) => {
			const [isUser, content] = [r.chance(0.5), body(r)];
			return (side) => void side.manager.appendMessage(isUser ? user(content) : assistant(content));
		},
	],
	[
		2,
		(r) => {
			const data = { text: body(r), content: [1] };
			return (side) => void side.manager.appendCustomEntry("state", structuredClone(data));
		},
	],
	[
		2,
		(r) => {
			const [where, label] = [r.uint32() / 2 ** 32, r.pick(["one", "two", ""])];
			return (side) => {
				const one = at(side, where);
				if (one) side.manager.appendLabelChange(one.id, label);
			};
		},
	],
	[
		1,
		(r) => {
			const [where, details] = [r.uint32() / 2 ** 32, { read: [body(r)] }];
			return (side) => {
				const one = at(side, where);
				if (one) side.manager.appendCompaction("a summary", one.id, 5, structuredClone(details));
			};
		},
	],
	[
		3,
		(r) => {
			const where = r.uint32() / 2 ** 32;
			return (side) => {
				const one = at(side, where);
				if (one) side.manager.branch(one.id);
			};
		},
	],
	[
		2,
		(r) => {
			const where = r.uint32() / 2 ** 32;
			return (side) => {
				const one = at(side, where);
				if (one) side.manager.createBranchedSession(one.id);
				return linesOf(side);
			};
		},
	],
	[
		1,
		() => (side) => {
			const file = side.manager.getSessionFile() as string;
			try {
				side.manager = side.Manager.forkFrom(file, side.dir, side.dir);
			} catch (error) {
				// A branch without conversation has no file yet.
				return (error as Error).message.replace(file, "");
			}
			return linesOf(side);
		},
	],
	[1, () => (side) => side.manager.setSessionFile(side.file)],
	[1, () => (side) => (side.manager = side.Manager.open(side.file)) && undefined],
	[3, () => (side) => side.manager.buildSessionContext()],
	[1, () => (side) => side.manager.getTree()],
	[1, () => (side) => side.manager.getBranch().map((one) => one.id.length)],
	[1, () => (side) => JSON.stringify(side.entries()).length],
];

/**
 * The lines of entries in a side's file, as values, because pi rewrites a line that it moved, and ours may keep its
 * bytes.
 */
function linesOf(side: Side): string[] | undefined {
	side.entries();
	let all: string[];
	try {
		all = readFileSync(side.manager.getSessionFile() as string, "utf8")
			.trimEnd()
			.split("\n");
	} catch {
		return undefined;
	}
	return all.slice(1).map((one) => side.text(JSON.parse(one)));
}

test(`random operations on entries read late are pi's (seed ${SEED})`, () => {
	clockAt("2025-07-11T00:00:00.000Z");
	let [waited, looked] = [0, 0];
	for (let round = 0; round < CASES; round++) {
		const seed = caseSeed(SEED + 1, round);
		const r = new Random(seed);
		const all = lines(r, r.between(1, 30), { oddNumbers: false, oddBytes: true, oddMessages: false });
		const root = scratch();
		const [ours, reference] = (["ours", "pi"] as const).map((name) => {
			const dir = join(root, name);
			mkdirSync(dir);
			const file = write(join(dir, "session.jsonl"), all);
			return new Side(name === "ours" ? api.SessionManager : Reference, dir, file);
		}) as [Side, Side];
		for (let n = 0; n < STEPS; n++) {
			const step = r.weighted(STEPS_BY_WEIGHT)(r);
			const where = `seed ${seed}, step ${n}: ${step}`;
			const outcome = (side: Side): string => {
				side.entries();
				try {
					const value = step(side);
					side.entries();
					return side.text(value);
				} catch (error) {
					return `thrown ${(error as Error).constructor.name}`;
				}
			};
			const [one, other] = [outcome(ours), outcome(reference)];
			same(one, other, where);
			expect(ours.text(ours.manager.getLeafId()), where).toBe(reference.text(reference.manager.getLeafId()));
			waited += ours.entries().flatMap(waiting).length;
			if (r.chance(0.05)) {
				looked++;
				expect(
					ours.entries().map((item) => ours.text(item)),
					where,
				).toEqual(reference.entries().map((item) => reference.text(item)));
			}
		}
		const where = `seed ${seed}, at the end`;
		expect(
			ours.held.map((item) => ours.text(item)),
			where,
		).toEqual(reference.held.map((item) => reference.text(item)));
		expect(
			ours.entries().map((item) => ours.text(item)),
			where,
		).toEqual(reference.entries().map((item) => reference.text(item)));
		expect(JSON.stringify(ours.entries()).length, where).toBe(JSON.stringify(reference.entries()).length);
		expect(linesOf(ours), where).toEqual(linesOf(reference));
	}
	expect(waited).toBeGreaterThan(CASES * STEPS);
	expect(looked).toBeGreaterThan(10);
});
