// Sessions with objects for only a few entries. Branches and forks copy the other entries as bytes. The files must
// equal pi's.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SessionManager } from "../../../index.js";
import { caseSeed, Random } from "../../stress/differential/random.js";
import { count } from "../../support/counts.mjs";
import { api, assistant, clockAt, header, scratch, user } from "../../support/scratch.js";
import { line } from "./lines.js";
import { long, Reference } from "./support.js";

const SEED = 20261121;
const CASES = count("gc_histories");
const STEPS = 25;

/** One of the two managers, and the ids that both have, in the same order. */
class Side {
	readonly ids: string[] = [];
	manager: SessionManager;

	constructor(
		readonly Manager: typeof api.SessionManager,
		readonly dir: string,
		readonly file: string,
	) {
		this.manager = Manager.open(file, dir);
	}

	/** The file's lines as values, with numbers for generated ids. Only the manager's file name is read. */
	lines(): unknown {
		let text: string;
		try {
			text = readFileSync(this.manager.getSessionFile() as string, "utf8");
		} catch {
			return "no file";
		}
		const numbers = new Map(this.ids.map((id, at) => [id, at]));
		const known = (_: string, value: unknown): unknown =>
			typeof value === "string" && /^[0-9a-f]{8}$/.test(value) ? `#${numbers.get(value) ?? "label"}` : value;
		return text
			.trimEnd()
			.split("\n")
			.slice(1)
			.map((one) => JSON.stringify(JSON.parse(one, known)));
	}
}

type Step = (side: Side) => unknown;

/** A step, which is created once and run on both sides. `count` ids are known. */
function step(r: Random, count: number): Step {
	const [at, isUser] = [r.between(0, count - 1), r.chance(0.5)];
	const text = r.chance(0.5) ? long(`new ${r.hex(3)}`) : "short";
	const noted =
		(append: (manager: SessionManager, id: string) => string): Step =>
		(side) => {
			side.ids.push(append(side.manager, side.ids[at] as string));
		};
	return r.weighted<() => Step>([
		[4, () => noted((manager) => manager.appendMessage(isUser ? user(text) : assistant(text)))],
		[1, () => noted((manager, id) => manager.appendLabelChange(id, text))],
		[1, () => noted((manager, id) => manager.appendCompaction("a summary", id, 5, { read: [text] }))],
		[3, () => (side) => void side.manager.branch(side.ids[at] as string)],
		[3, () => (side) => void side.manager.getEntry(side.ids[at] as string)],
		[2, () => (side) => JSON.stringify((side.manager.getEntry(side.ids[at] as string) as any)?.message?.content)],
		[2, () => (side) => side.manager.buildSessionContext().messages.length],
		[
			4,
			() => (side) => {
				side.manager.createBranchedSession(side.ids[at] as string);
				return side.lines();
			},
		],
		[
			2,
			() => (side) => {
				side.manager = side.Manager.forkFrom(side.manager.getSessionFile() as string, side.dir, side.dir);
				return side.lines();
			},
		],
		[1, () => (side) => void (side.manager = side.Manager.open(side.file, side.dir))],
	])();
}

test(`random histories of unreferenced entries are pi's (seed ${SEED})`, () => {
	clockAt("2025-07-11T00:00:00.000Z");
	let copied = 0;
	for (let round = 0; round < CASES; round++) {
		const seed = caseSeed(SEED, round);
		const r = new Random(seed);
		const count = r.between(2, 30);
		const all = Array.from({ length: count }, (_, n) => {
			return line(r, `x-${n}`, n === 0 ? null : `x-${n - 1}`, {
				oddNumbers: false,
				oddBytes: true,
				oddMessages: false,
			});
		});
		const root = scratch();
		const sides = (["ours", "pi"] as const).map((name) => {
			const dir = join(root, name);
			mkdirSync(dir);
			const file = join(dir, "session.jsonl");
			const end = Buffer.from("\n");
			writeFileSync(
				file,
				Buffer.concat([Buffer.from(JSON.stringify(header())), end, ...all.flatMap((one) => [one, end])]),
			);
			const side = new Side(name === "ours" ? api.SessionManager : Reference, dir, file);
			side.ids.push(...all.map((_, n) => `x-${n}`));
			return side;
		}) as [Side, Side];
		for (let n = 0; n < STEPS; n++) {
			const where = `seed ${seed}, step ${n}`;
			const made = step(r, sides[0].ids.length);
			const [ours, pis] = sides.map((side) => {
				const before = side.ids.length;
				try {
					return made(side);
				} catch (error) {
					side.ids.length = before;
					return `thrown ${(error as Error).constructor.name}`;
				}
			});
			expect(ours, where).toEqual(pis);
			copied += Array.isArray(ours) ? ours.length : 0;
		}
		const [ours, pis] = sides.map((side) =>
			side.manager.getEntries().map((one: any) => JSON.stringify(one.message ?? one.data ?? null)),
		);
		expect(ours, `seed ${seed}, at the end`).toEqual(pis);
	}
	expect(copied).toBeGreaterThan(CASES * 10);
});
