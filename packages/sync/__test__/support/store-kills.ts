// Four machines and a store. Processes are killed and connections to the store are cut at random moments. At the end no
// acknowledged entry is lost or duplicated, and all files have the same lines in the same order.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished } from "vitest";
import { Random } from "../../../../__test__/stress/differential/random.js";
import { emptyDirectory } from "./lines.js";

const SESSION = "01972ab8-2280-7be3-8cc7-05ac027b6185";
const HEADER = `{"type":"session","version":3,"id":"${SESSION}","timestamp":"2025-06-01T09:00:00.000Z","cwd":"/x"}\n`;
const HOSTS = ["ann", "ben", "cyd", "dan"];
const HOUR = 3_600_000;
/** The beginning of an entry's line. No line contains it again. */
const BEGINNING = '{"type":"custom"';

/** The connection of one machine to the store, and its disturbances. */
export interface Way {
	/** For the machine's process: an address, or a function that creates its store. */
	address: string;
	server?: object;
	trouble(random: Random): void;
	heal(): void;
}

class Machine {
	readonly appended: string[] = [];
	readonly redacted: string[] = [];
	readonly failed: string[] = [];
	readonly file: string;
	private readonly dir: string;
	private child?: ChildProcess;
	private waiting = new Map<string, () => void>();
	/** The length of its output when it was started. */
	private before = 0;
	private kills = 0;
	/** A part of a line that a killed process wrote before the test. */
	private earlierCut?: string;

	constructor(
		readonly host: string,
		path: string,
		readonly way: Way,
		private readonly random: Random,
		private readonly skew: number,
	) {
		this.dir = join(path, host);
		this.file = join(this.dir, `2025-06-01T09-00-00-000Z_${SESSION}.jsonl`);
		mkdirSync(this.dir, { recursive: true });
	}

	start(): void {
		const { address, server } = this.way;
		const options = {
			address,
			server,
			host: this.host,
			dir: this.dir,
			notes: join(this.dir, "notes"),
			session: SESSION,
			file: this.file,
		};
		const argument = JSON.stringify({ ...options, seed: this.random.int(2 ** 31), skew: this.skew });
		const child = spawn(process.execPath, [resolve(__dirname, "store-host.mjs"), argument], {
			stdio: ["pipe", "pipe", "pipe"],
		});
		this.child = child;
		this.before = this.appended.length;
		child.stdin?.on("error", () => {});
		let said = "";
		child.stderr?.setEncoding("utf8").on("data", (text) => (said += text));
		createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
			// The last line of a killed process may be cut.
			if (!line.endsWith("}")) return;
			const told = JSON.parse(line);
			if (told.appended) this.appended.push(told.appended);
			if (told.redacted) this.redacted.push(told.redacted);
			if (told.failed) this.failed.push(told.failed);
			for (const what of ["pushed", "pulled"]) if (told[what]) this.waiting.get(what)?.();
		});
		child.on("close", (code) => code && this.failed.push(`${this.host} ended with ${code}: ${said.slice(-2000)}`));
	}

	/**
	 * Writes the file that the machine had before it used the store: other machines have entries with the same short ids,
	 * and one line is cut.
	 */
	writeEarlierFile(): void {
		const names = Array.from({ length: 20 }, (_, nth) => `${this.host}'s earlier entry ${nth}`);
		const lines = names.map((name, nth) => {
			const parentId = nth > 0 ? `c0ffee${nth + 9}` : null;
			return `${JSON.stringify({ type: "custom", customType: "n", data: { name }, id: `c0ffee${nth + 10}`, parentId, timestamp: "2025-06-01T09:00:01.000Z" })}\n`;
		});
		this.earlierCut = lines[10]?.slice(0, 60) ?? "";
		lines.splice(10, 0, `${this.earlierCut}\n`);
		writeFileSync(this.file, HEADER + lines.join(""));
		this.appended.push(...names);
	}

	/** Waits until it works. */
	async atWork(): Promise<void> {
		while (this.appended.length === this.before && this.failed.length === 0) {
			if (this.isOver()) throw new Error(`${this.host} has ended by itself with ${this.child?.exitCode}`);
			await pause(2);
		}
	}

	async kill(): Promise<void> {
		const child = this.child as ChildProcess;
		if (this.isOver()) return;
		const closed = new Promise((resolve) => child.on("close", resolve));
		child.kill("SIGKILL");
		this.kills++;
		await closed;
	}

	private isOver(): boolean {
		return this.child?.exitCode !== null || this.child.signalCode !== null;
	}

	/** Lets it continue with the next work, and waits until that is done. */
	async go(what: "pushed" | "pulled"): Promise<void> {
		const child = this.child as ChildProcess;
		// A process that failed has printed the reason.
		if (this.isOver()) return;
		await new Promise<void>((resolve) => {
			this.waiting.set(what, resolve);
			child.on("close", () => resolve());
			child.stdin?.write("go\n");
		});
	}

	/**
	 * The lines of its entries. A kill may cut the write of a line at the end of a page of the file. That entry was not
	 * acknowledged, so the part stays only in this machine's file.
	 */
	lines(): string[] {
		const lines = readFileSync(this.file, "utf8").trimEnd().split("\n").slice(1);
		const cut = lines.filter((line) => !isJson(line));
		expect(
			cut.filter((line) => !isBeginning(line)),
			`${this.host}: lines that are neither entries nor cut`,
		).toEqual([]);
		const earlier = this.earlierCut === undefined ? [] : [this.earlierCut];
		expect(cut, this.host).toEqual(expect.arrayContaining(earlier));
		expect(cut.length, `${this.host}: lines that are cut, one for each kill at most`).toBeLessThanOrEqual(
			this.kills + earlier.length,
		);
		return lines.filter(isJson);
	}
}

export async function killMachines(options: {
	kills: number;
	seed: number;
	wayOf: (host: string) => Way | Promise<Way>;
}): Promise<void> {
	const what = `seed ${options.seed}`;
	const random = new Random(options.seed);
	const path = emptyDirectory();
	const machines: Machine[] = [];
	for (const [at, host] of HOSTS.entries())
		machines.push(new Machine(host, path, await options.wayOf(host), random, (at - 1) * HOUR));
	onTestFinished(async () => {
		for (const machine of machines) await machine.kill();
	});
	for (const [at, machine] of machines.entries()) if (at === 0 || random.chance(0.5)) machine.writeEarlierFile();
	for (const machine of machines) machine.start();
	// Each machine gets its file.
	for (const machine of machines) await machine.atWork();
	for (let kill = 0; kill < options.kills; kill++) {
		const [troubled, killed] = [random.pick(machines), random.pick(machines)];
		await killed.atWork();
		troubled.way.trouble(random);
		await pause(random.int(60));
		await killed.kill();
		killed.start();
		if (random.chance(0.7)) troubled.way.heal();
	}
	for (const machine of machines) machine.way.heal();
	await Promise.all(machines.map((machine) => machine.go("pushed")));
	await Promise.all(machines.map((machine) => machine.go("pulled")));
	for (const machine of machines) expect(machine.failed, `${machine.host}, ${what}`).toEqual([]);
	const [first = [], ...others] = machines.map((machine) => machine.lines());
	for (const [nth, other] of others.entries()) {
		// Lines are long, so we show the place where they differ, and the entries that one of the two files lacks.
		const at = other.findIndex((line, at) => line !== first[at]);
		const lacking = (from: string[], lines: string[]) => {
			const there = new Set(from);
			return lines.filter((line) => !there.has(line)).map((line) => line.replace(/"text":"x*"/, ""));
		};
		const host = HOSTS[nth + 1];
		const difference = { host, at, lines: other.length, lacks: lacking(other, first), hasAlone: lacking(first, other) };
		expect(difference, what).toEqual({ host, at: -1, lines: first.length, lacks: [], hasAlone: [] });
	}
	const entries = first.map((line) => JSON.parse(line));
	const names = entries.map(({ data }) => data.name);
	// Machines may assign one id to two entries, so the names show whether an entry occurs twice.
	expect(
		names.filter((one, at) => names.indexOf(one) !== at),
		what,
	).toEqual([]);
	const there = new Set(names);
	const said = machines.flatMap(({ appended }) => appended);
	expect(
		said.filter((name) => !there.has(name)),
		what,
	).toEqual([]);
	const redacted = new Set(machines.flatMap(({ redacted }) => redacted));
	expect(
		entries.filter(({ data }) => redacted.has(data.secret)),
		what,
	).toEqual([]);
	console.log(
		`${options.kills} kills and as many partitions, ${what}: ${said.length} acknowledged entries on four machines, all found once, in one order, and ${redacted.size} redactions`,
	);
}

function isJson(line: string): boolean {
	try {
		JSON.parse(line);
		return true;
	} catch {
		return false;
	}
}

const isBeginning = (line: string): boolean =>
	BEGINNING.startsWith(line) || (line.startsWith(BEGINNING) && !line.includes(BEGINNING, 1));

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
