// Several managers on one file. Between any two calls others rewrite, truncate, rename, remove or create the file
// again. In any order:
// - At the end the file contains each entry that an append returned, with two exceptions, which the diagnostics report
//   as a cut: entries that others removed from the file in place, and entries that were missing in a file that replaced
//   another while the manager was closed.
// - A call that checks the file does not fail, unless the manager was closed when the file was removed.
// - No other session is changed.
// - After a reload, the entries in memory are those of a new open.
// Longer: PSN_ROUNDS=20000 PSN_SEED=1.
import {
	appendFileSync,
	existsSync,
	mkdtempSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { count } from "../support/counts.mjs";
import { api, header, ids, message, text, user } from "../support/scratch.js";

const { SessionManager } = api;
type Manager = ReturnType<typeof SessionManager.open>;

const SEED = Number(process.env.PSN_SEED ?? 20251121);
const ROUNDS = count("interleavings");
const STEPS = 30;
const OTHER = text([header({ id: "other" }), ...["o", "p", "q"].map((name) => message(name, null, user(name)))]);

const asleep = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** Numbers from 0 to `n` - 1, the same for the same seed. */
function numbers(seed: number): (n: number) => number {
	let state = seed >>> 0;
	return (n) => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return Math.floor((state / 2 ** 32) * n);
	};
}

interface Writer {
	manager: Manager;
	/** The entries that its appends returned. */
	acknowledged: string[];
	/** Those of them that were missing when the diagnostics reported a cut. */
	cutOff: Set<string>;
	/** The number of reported cuts. */
	cuts: number;
	/** Whether it was closed, and has not checked the file since. */
	closed: boolean;
	/** The error of its last check of the file. */
	error?: string;
}

class World {
	readonly dir: string;
	readonly file: string;
	readonly log: string[] = [];
	readonly writers: Writer[];
	/**
	 * Acknowledged entries that may be missing. `inPlace`: others removed or moved them in the file, and their manager
	 * has not read them there since. `closed`: they were not in a file that replaced another while their manager was
	 * closed.
	 */
	private readonly gone = { inPlace: new Set<string>(), closed: new Set<string>() };
	private names = 0;

	constructor(private readonly random: (n: number) => number) {
		// Usually in memory, where no call waits for a disk; sometimes on a disk, which reuses the inodes of removed files.
		const memory = this.random(8) > 0 && existsSync("/dev/shm");
		this.dir = mkdtempSync(join(memory ? "/dev/shm" : tmpdir(), "psn-interleaving-"));
		this.file = join(this.dir, "s.jsonl");
		writeFileSync(this.file, text([header(), message("a", null), message("b", "a")]));
		this.writers = [0, 1, 2].map(() => ({
			manager: SessionManager.open(this.file),
			acknowledged: [],
			cutOff: new Set(),
			cuts: 0,
			closed: false,
		}));
	}

	/** A call that checks the file. It may fail only if the file is gone and was not open. */
	private tried<T>(writer: Writer, work: () => T): T | undefined {
		try {
			const result = work();
			delete writer.error;
			writer.closed = false;
			return result;
		} catch (error) {
			writer.error = (error as Error).message;
			expect(writer.error).toMatch(/^ENOENT|can no longer be read/);
			expect(writer.closed, writer.error).toBe(true);
			return undefined;
		} finally {
			this.note(writer);
		}
	}

	/** Notes the entries that a newly reported cut removed. */
	private note(writer: Writer): void {
		const { foreignChanges } = writer.manager.getDiagnostics();
		const cuts = foreignChanges.find(({ kind }) => kind === "truncated")?.count ?? 0;
		if (cuts === writer.cuts) return;
		writer.cuts = cuts;
		for (const id of writer.acknowledged) if (!writer.manager.getEntry(id)) writer.cutOff.add(id);
	}

	private close(writer: Writer): void {
		this.tried(writer, () => writer.manager.close());
		writer.closed = true;
	}

	/** A call that only reads. If it would have to write first, it waits for the next append or reload. */
	private readBy<T>(writer: Writer, work: () => T): T | undefined {
		try {
			return work();
		} catch (error) {
			expect((error as Error).message).toMatch(/^Session file changed underneath|^ENOENT/);
			return undefined;
		} finally {
			this.note(writer);
		}
	}

	private append(writer: Writer): void {
		const { manager } = writer;
		const kind = this.random(4);
		const leaf = manager.getLeafId();
		const id = this.tried(writer, () => {
			if (kind === 0) return manager.appendCustomEntry("x", { n: this.names++ });
			if (kind === 1 && leaf) return manager.appendLabelChange(leaf, `label ${this.names++}`);
			return manager.appendMessage(user(this.random(5) === 0 ? "long ".repeat(300) : `n${this.names++}`));
		});
		if (id !== undefined) writer.acknowledged.push(id);
	}

	private branch(writer: Writer): void {
		const path = this.readBy(writer, () => writer.manager.getBranch()) ?? [];
		const to = path[this.random(path.length)];
		if (to) writer.manager.branch(to.id);
		else writer.manager.resetLeaf();
	}

	private lines(): string[] {
		return readFileSync(this.file, "utf8").split(/(?<=\n)/);
	}

	/** Contents that another program may write: an earlier copy of the file, or the file without some lines. */
	private older(): string {
		const lines = this.lines();
		const from = 1 + this.random(lines.length);
		return this.random(2)
			? lines.slice(0, from).join("")
			: lines.filter((_, at) => at === 0 || this.random(4) > 0).join("");
	}

	private replace(content: string): void {
		writeFileSync(`${this.file}.new`, content);
		renameSync(`${this.file}.new`, this.file);
	}

	private foreign(): string {
		const ended = statSync(this.file).size === 0 || this.lines().at(-1)?.endsWith("\n");
		return `${ended ? "" : "\n"}${text([message(`f${this.names++}`, "a", user("theirs"))])}`;
	}

	/** Another session is at the path for a while. Each check reports it, and nothing is written to it. */
	private usurped(inPlace: boolean): void {
		const before = readFileSync(this.file);
		const other = OTHER + (inPlace ? text(Array.from({ length: 40 }, (_, n) => message(`o${n}`, "o"))) : "");
		if (inPlace) writeFileSync(this.file, other);
		else this.replace(other);
		for (const { manager } of this.writers) {
			expect(() => manager.reload()).toThrow(/another session|can no longer be read/);
			expect(() => manager.appendMessage(user("astray"))).toThrow(/another session|can no longer be read/);
		}
		expect(readFileSync(this.file, "utf8")).toBe(other);
		if (inPlace) writeFileSync(this.file, before);
		else this.replace(before.toString());
	}

	/** A repair removes torn lines and assigns parents to orphans. No acknowledged entry is lost. */
	private repair(): void {
		const before = readFileSync(this.file);
		const { backup } = SessionManager.repair(this.file);
		if (backup) expect(readFileSync(backup)).toEqual(before);
	}

	private readonly steps: [string, (writer: Writer) => void][] = [
		["append", (writer) => this.append(writer)],
		["append", (writer) => this.append(writer)],
		["append", (writer) => this.append(writer)],
		["append", (writer) => this.append(writer)],
		["read", (writer) => void this.readBy(writer, () => writer.manager.buildSessionContext())],
		["branch", (writer) => this.branch(writer)],
		["reload", (writer) => this.reload(writer)],
		["flush", (writer) => this.tried(writer, () => writer.manager.flush())],
		["close", (writer) => this.close(writer)],
		["foreign line", () => appendFileSync(this.file, this.foreign())],
		["half a line", () => appendFileSync(this.file, '{"type":"cus')],
		["removed", () => rmSync(this.file)],
		["copied over itself", () => this.replace(readFileSync(this.file, "utf8"))],
		["replaced by less", () => this.replace(this.older())],
		["written anew with less", () => writeFileSync(this.file, this.older())],
		[
			"written anew with more",
			() =>
				writeFileSync(this.file, this.lines()[0] + this.foreign() + this.lines().slice(1).join("") + this.foreign()),
		],
		[
			"replaced with other parents",
			() => this.replace(this.older().replaceAll(/"parentId":"[^"]*"/g, '"parentId":null')),
		],
		[
			"cut",
			() => truncateSync(this.file, Math.max(this.lines()[0]?.length ?? 0, this.random(statSync(this.file).size + 1))),
		],
		[
			"moved away and made again",
			() => {
				renameSync(this.file, `${this.file}~`);
				writeFileSync(this.file, readFileSync(`${this.file}~`));
			},
		],
		["repair", () => this.repair()],
		["another session in its place", () => this.usurped(false)],
		["another session written into it", () => this.usurped(true)],
		["a pause", () => asleep(12)],
	];

	step(): void {
		const who = this.random(3);
		const [name, work] = this.steps[this.random(this.steps.length)] as (typeof this.steps)[number];
		// The actions of others need a file that begins with a header.
		const foreign = !/^(append|read|branch|reload|flush|close|a pause)$/.test(name);
		if (foreign && !(existsSync(this.file) && this.lines()[0]?.endsWith("\n"))) return;
		this.log.push(`${who} ${name}`);
		const before = this.state();
		work(this.writers[who] as Writer);
		if (foreign) this.noteGone(before, this.state());
	}

	/** The present file, and the positions of its entries, by id. */
	private state(): { inode?: number; entries: Map<string, number> } {
		const entries = new Map<string, number>();
		if (!existsSync(this.file)) return { entries };
		let offset = 0;
		for (const line of this.lines()) {
			try {
				entries.set(JSON.parse(line).id, offset);
			} catch {
				// Half a line.
			}
			offset += Buffer.byteLength(line);
		}
		return { inode: statSync(this.file).ino, entries };
	}

	private noteGone(before: ReturnType<World["state"]>, now: ReturnType<World["state"]>): void {
		const isInPlace = before.inode === now.inode;
		for (const { acknowledged, closed } of this.writers)
			for (const id of acknowledged.filter((id) => before.entries.has(id))) {
				if (isInPlace && now.entries.get(id) !== before.entries.get(id)) this.gone.inPlace.add(id);
				if (!isInPlace && closed && !now.entries.has(id)) this.gone.closed.add(id);
			}
	}

	private reload(writer: Writer): void {
		this.tried(writer, () => {
			writer.manager.reload();
			const { entries } = this.state();
			for (const id of writer.acknowledged.filter((id) => entries.has(id)))
				for (const ids of Object.values(this.gone)) ids.delete(id);
		});
	}

	/**
	 * All managers check the file until none has anything to add. Returns the number of entries in it, and the number of
	 * entries that were reported missing.
	 */
	check(): { kept: number; inPlace: number; closed: number; open: number } {
		for (let round = 0; round < 4; round++) {
			for (const writer of this.writers) this.tried(writer, () => writer.manager.reload());
		}
		const sum = { kept: 0, inPlace: 0, closed: 0, open: 0 };
		if (!existsSync(this.file)) {
			for (const { error, closed, acknowledged } of this.writers) {
				expect(error).toBeDefined();
				expect(closed).toBe(true);
				sum.closed += acknowledged.length;
			}
			return sum;
		}
		const fresh = SessionManager.open(this.file);
		const there = new Set(ids(fresh.getEntries()));
		for (const { manager, acknowledged, cutOff, error } of this.writers) {
			const lost = acknowledged.filter((id) => !there.has(id));
			sum.kept += acknowledged.length - lost.length;
			for (const id of lost)
				sum[this.gone.inPlace.has(id) ? "inPlace" : this.gone.closed.has(id) ? "closed" : "open"]++;
			expect(sum.open, "entries of a manager that had the file open when it was replaced").toBe(0);
			if (error !== undefined) continue;
			expect(lost.filter((id) => !cutOff.has(id))).toEqual([]);
			expect(JSON.stringify(manager.getEntries())).toBe(JSON.stringify(fresh.getEntries()));
		}
		expect(fresh.getDiagnostics().duplicateIds).toEqual([]);
		expect(fresh.getSessionId()).toBe("s-1");
		return sum;
	}
}

test("no acknowledged entry is lost silently, whatever others write", () => {
	const sum = { kept: 0, inPlace: 0, closed: 0, open: 0 };
	for (let round = 0; round < ROUNDS; round++) {
		const seed = SEED + round * 7919;
		const world = new World(numbers(seed));
		try {
			for (let step = 0; step < STEPS; step++) world.step();
			for (const [kind, count] of Object.entries(world.check())) sum[kind as keyof typeof sum] += count;
		} catch (error) {
			throw new Error(`PSN_ROUNDS=1 PSN_SEED=${seed}: ${world.log.join("; ")}: ${(error as Error).message}`, {
				cause: error,
			});
		} finally {
			rmSync(world.dir, { recursive: true, force: true });
		}
	}
	console.log(`interleaving: seed ${SEED}, ${JSON.stringify(sum)}`);
	expect(sum.kept).toBeGreaterThan(ROUNDS);
	expect(sum.kept).toBeGreaterThan(sum.inPlace + sum.closed);
});
