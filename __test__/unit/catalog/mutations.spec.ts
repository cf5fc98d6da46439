// Random changes of session files that the catalog contains: every list equals pi's.
import {
	appendFileSync,
	existsSync,
	linkSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	truncateSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SessionInfo } from "../../../index.js";
import { Random } from "../../stress/differential/random.js";
import { count } from "../../support/counts.mjs";
import { api, header as head, message } from "../../support/scratch.js";
import { expectSameList } from "../../support/times.js";
import { agentDir, plain, reference } from "./agent-dir.js";

const { SessionManager } = api;
const seed = Number(process.env.PSN_SEED ?? 20251121);
const rounds = count("catalog_mutations");

/** Session files that change at random. */
class Changing {
	private ids = 0;
	/** Inodes of files that were changed in place, or have grown, since the last list. */
	private readonly touched = { rewritten: new Set<number>(), grown: new Set<number>() };

	constructor(
		private readonly random: Random,
		private readonly dirs: string[],
	) {
		for (let n = 0; n < 40; n++) this.change();
	}

	private text(): string {
		return this.random.pick([
			"hi",
			"",
			" ",
			"ünï \ud83d",
			"line\nbreak",
			"x".repeat(this.random.int(9_000)),
			"日本語",
			'"quote\\',
			"a\tb",
		]);
	}

	private content(): unknown {
		const block = () => ({ type: "text", text: this.text() });
		return this.random.pick<unknown>([
			this.text(),
			this.text(),
			[block()],
			[block(), { type: "image", data: "x" }, block()],
			[],
			[{ type: "thinking", thinking: this.text() }],
		]);
	}

	private time(): unknown {
		return this.random.pick<unknown>([
			"2025-01-01T00:00:00.000Z",
			"2024-02-03",
			"Jan 5 2031",
			"bogus",
			"",
			undefined,
			12_345,
			null,
			"2025-06-01T10:00:00+02:00",
		]);
	}

	private line(): string {
		const { random } = this;
		const id = `e${this.ids++}`;
		const roles = ["user", "assistant", "toolResult", "system", "bashExecution", "custom", "hookMessage"];
		const times = [1, 0, -5, 1_735_689_600_000 + random.int(1e6), 1_735_689_600_000.5, 1e12, undefined, null, "2025"];
		const body = { content: this.content(), role: random.pick(roles), timestamp: random.pick<unknown>(times) };
		const { content, role, timestamp } = body;
		return random.weighted<() => string>([
			[12, () => JSON.stringify(message(id, null, { role, content, timestamp }, { timestamp: this.time() }))],
			// Keys in another order.
			[2, () => JSON.stringify({ message: body, id, timestamp: this.time(), type: "message" })],
			[
				3,
				() =>
					JSON.stringify({
						type: "session_info",
						id,
						name: random.pick(["name", " pad ", "", undefined, "\ufeffbom", "a\nb"]),
					}),
			],
			[1, () => "{torn"],
			[1, () => ""],
			[1, () => JSON.stringify({ type: "compaction", id, summary: "sum", firstKeptEntryId: "e1" })],
			[1, () => `  ${JSON.stringify({ type: "custom", id, data: { type: "message" } })} `],
		])();
	}

	private file(): string {
		const { random } = this;
		const version = random.pick([3, 3, 2, undefined, 4]);
		const header = head({
			version,
			id: `s${this.ids++}`,
			timestamp: this.time(),
			cwd: random.pick(["/project", "/other", undefined, 5]),
		});
		const junk = random.chance(0.2) ? ["{bad"] : [];
		const lines = Array.from({ length: random.int(12) }, () => this.line());
		return [...junk, JSON.stringify(header), ...lines].join("\n") + (random.chance(0.75) ? "\n" : "");
	}

	private name(): string {
		const { random } = this;
		return join(
			random.pick(this.dirs),
			`${random.pick(["a", "B", "ä", "Z", "10", "9", "_", "-", "é", "z.z"])}${random.int(6)}.jsonl`,
		);
	}

	change(): void {
		const { random } = this;
		const files = this.dirs.flatMap((dir) => readdirSync(dir).map((name) => join(dir, name)));
		const file = files.length > 0 ? random.pick(files) : this.name();
		if (!existsSync(file)) {
			writeFileSync(file, this.file());
			return;
		}
		const time = random.pick([1_700_000_000, 1_700_000_000.5, 0, 4e9]);
		random.weighted<() => void>([
			[3, () => writeFileSync(this.name(), this.file())],
			[4, () => this.append(file)],
			[1, () => renameSync(file, this.name())],
			[1, () => rmSync(file)],
			[1, () => truncateSync(file, random.int(statSync(file).size + 1))],
			[1, () => utimesSync(file, time, time)],
			[1, () => this.replace(file)],
			[1, () => this.link(file)],
			[1, () => this.rewrite(file)],
		])();
	}

	/**
	 * If a file also grows, a change in place is not noticed after the first and before the last 4 KB of the former
	 * content (docs/catalog-and-search.md). So a file gets only one of the two.
	 */
	private append(file: string): void {
		const line = this.line() + this.random.pick(["\n", "\n", "\n", ""]);
		const { ino } = statSync(file);
		if (this.touched.rewritten.has(ino)) return;
		appendFileSync(file, line);
		this.touched.grown.add(ino);
	}

	/** All earlier changes are in the list. */
	listed(): void {
		this.touched.rewritten.clear();
		this.touched.grown.clear();
	}

	private replace(file: string): void {
		writeFileSync(`${file}.new`, this.file());
		renameSync(`${file}.new`, file);
	}

	private link(file: string): void {
		const name = this.name();
		if (!existsSync(name)) linkSync(file, name);
	}

	/** Changes one byte of a text in place, and sets the time back. */
	private rewrite(file: string): void {
		const { atime, mtime, ino } = statSync(file);
		if (this.touched.grown.has(ino)) return;
		const bytes = readFileSync(file);
		const at = bytes.indexOf("xx", this.random.int(bytes.length + 1));
		if (at < 0) return;
		bytes[at] = 0x79;
		this.touched.rewritten.add(ino);
		writeFileSync(file, bytes);
		utimesSync(file, atime, mtime);
	}
}

test(`every list is pi's, whatever happens to files (seed ${seed})`, async () => {
	const random = new Random(seed);
	const { agent, dir, other } = agentDir(0);
	const third = join(agent, "sessions", "--Ä--");
	mkdirSync(third);
	const changing = new Changing(random, [dir, other, third]);
	for (let round = 0; round < rounds; round++) {
		for (let count = random.int(8); count >= 0; count--) changing.change();
		if (random.chance(0.3)) await new Promise((resolve) => setTimeout(resolve, random.int(50)));
		const lists = async ({ SessionManager: from }: typeof reference, progress: [number, number][]) => [
			plain(await from.listAll()),
			plain(await from.listAll(dir)),
			plain(await from.list("/project", third)),
			plain(await from.listAll((loaded, total) => progress.push([loaded, total]))),
		];
		const [ours, theirs]: [number, number][][] = [[], []];
		const got = await lists({ SessionManager }, ours as [number, number][]);
		changing.listed();
		const want = await lists(reference, theirs as [number, number][]);
		expect(got).toHaveLength(want.length);
		for (const [at, list] of want.entries())
			expectSameList(got[at] as SessionInfo[], list, `round ${round}, list ${at}`);
		expect(ours).toEqual(theirs);
	}
});
