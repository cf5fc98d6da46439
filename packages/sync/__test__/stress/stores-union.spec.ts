// Files of several hosts that push to one store and pull from it, in random histories.
import { appendFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { expect, test } from "vitest";
import { caseSeed, Random } from "../../../../__test__/stress/differential/random.js";
import { count } from "../../../../__test__/support/counts.mjs";
import { header } from "../support/lines.js";
import { linesIn, type Machine, world } from "../support/machines.js";

const seed = Number(process.env.PSN_SEED ?? 20251121);

/** A machine with a file of the session. Some begin with the file, others get it from the store. */
class Host {
	readonly made: string[] = [];

	constructor(
		readonly name: string,
		private readonly machine: Machine,
		private readonly random: Random,
	) {
		mkdirSync(machine.dir, { recursive: true });
	}

	write(id: string): void {
		const { file } = this.machine;
		if (!existsSync(file)) appendFileSync(file, `${header()}\n`);
		// Often the same short id as on other hosts, because the ids were assigned before the hosts met.
		const known = this.entries();
		const collides =
			this.random.chance(0.1) && !this.made.includes("c0ffee00") && !known.some((one) => one.id === "c0ffee00");
		const own = collides ? "c0ffee00" : id;
		const mine = known.filter(({ by }) => by === this.name).map((one) => one.id);
		const parentId = this.random.chance(0.3) && mine.length > 0 ? this.random.pick(mine) : null;
		appendFileSync(
			file,
			`${JSON.stringify({ type: "message", id: own, parentId, by: this.name, nth: this.made.length })}\n`,
		);
		this.made.push(own);
		if (this.random.chance(0.1)) appendFileSync(file, `{"type":"message", damaged after ${id}\n`);
	}

	async push(): Promise<void> {
		for (const { error } of await this.machine.sync.push()) expect(error).toBeUndefined();
		// Sometimes the notes are lost.
		if (this.random.chance(0.2)) rmSync(this.machine.notes, { recursive: true, force: true });
	}

	async pull(): Promise<void> {
		for (const result of await this.machine.sync.pull())
			expect([result.error, result.problems]).toEqual([undefined, []]);
	}

	entries(): any[] {
		return linesIn(this.machine.file)
			.filter((line) => !line.includes("damaged"))
			.map((line) => JSON.parse(line));
	}

	damaged(): string[] {
		return linesIn(this.machine.file).filter((line) => line.includes("damaged"));
	}
}

test(`all hosts end with the same lines (seed ${seed})`, async () => {
	for (let index = 0; index < count("store_histories"); index++) {
		const what = `seed ${seed}, history ${index}`;
		const random = new Random(caseSeed(seed, index));
		const { machine } = world();
		const hosts = ["b", "a", "c"].map((name) => new Host(name, machine(name), random));
		let damaged = 0;
		hosts[0]?.write("first");
		for (let step = 0; step < 40; step++) {
			const host = random.pick(hosts);
			const work = random.weighted<() => void | Promise<void>>([
				[5, () => host.write(`${host.name}${step}`)],
				[3, () => host.push()],
				[2, () => host.pull()],
			]);
			await work();
		}
		for (const host of hosts) damaged += host.made.length > 0 ? host.damaged().length : 0;
		for (const host of hosts) await host.push();
		for (const host of hosts) await host.pull();
		const [first, ...others] = hosts.map((host) => host.entries());
		for (const other of others) expect(other, what).toEqual(first);
		const all = first ?? [];
		expect(new Set(all.map((one) => JSON.stringify(one))).size, what).toBe(all.length);
		for (const { name, made } of hosts) {
			const own = all.filter(({ by }) => by === name);
			expect(
				own.map(({ nth }) => nth),
				what,
			).toEqual(made.map((_, nth) => nth));
			expect(
				own.map(({ id }) => id),
				what,
			).toEqual(made);
			for (const { parentId } of own)
				if (parentId !== null)
					expect(
						own.some(({ id }) => id === parentId),
						what,
					).toBe(true);
		}
		// Damaged lines stay on their host.
		expect(
			hosts.reduce((sum, host) => sum + host.damaged().length, 0),
			what,
		).toBe(damaged);
	}
});
