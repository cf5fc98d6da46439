// Processes that write to one session of a store at the same time, some of which are killed.
import { spawn } from "node:child_process";
import { expect } from "vitest";
import { type LineStore, loadAll } from "../../lib/index.js";
import { append, entry, header, ids, library, SESSION } from "./lines.js";

const SCRIPT = `
	const { openStore } = require(${JSON.stringify(library)});
	const [address, host, name, count] = process.argv.slice(1);
	const header = Buffer.from(${JSON.stringify(String(header()))});
	(async () => {
		const store = await openStore(address, { host });
		for (let at = 0, after; at < count; at++) {
			const id = name + "-" + at;
			const lines = [Buffer.from(JSON.stringify({ type: "message", id, parentId: null }))];
			for (let stored = false; !stored; )
				try {
					({ cursor: after } = await store.append(${JSON.stringify(SESSION)}, { header, after, lines }));
					stored = true;
				} catch (error) {
					// Retryable calls are repeated.
					if (!error.retryable) throw error;
				}
			console.log(id);
		}
		await store.close();
	})();`;

/**
 * All lines that were acknowledged to a process are stored once, in the order in which they were written, and no other
 * lines.
 */
export async function crowd(address: string, reader: LineStore, env: NodeJS.ProcessEnv = process.env): Promise<void> {
	await append(reader, [entry("start")]);
	const acknowledged: string[] = [];
	const write = (host: string, name: string, count: number, dieAfter = Infinity) =>
		new Promise<number | null>((resolve) => {
			const child = spawn(process.execPath, ["-e", SCRIPT, address, host, name, String(count)], {
				stdio: ["ignore", "pipe", "inherit"],
				env,
			});
			let [rest, told] = ["", 0];
			child.stdout.setEncoding("utf8").on("data", (text: string) => {
				const lines = (rest + text).split("\n");
				rest = lines.pop() as string;
				acknowledged.push(...lines);
				told += lines.length;
				if (told >= dieAfter) child.kill("SIGKILL");
			});
			child.on("close", resolve);
		});
	// Those that are killed would never end.
	const endless = 1_000_000;
	const codes = await Promise.all([
		write("a", "a1", 40),
		write("a", "a2", 40),
		write("b", "b1", 40),
		write("a", "a3", endless, 20),
		write("b", "b2", endless, 7),
	]);
	expect(codes).toEqual([0, 0, 0, null, null]);
	const page = await loadAll(reader, SESSION);
	expect(page.problems).toEqual([]);
	const found = ids(page);
	expect(new Set(found).size).toBe(found.length);
	expect(acknowledged.filter((id) => !found.includes(id))).toEqual([]);
	for (const name of ["a1", "a2", "a3", "b1", "b2"]) {
		const own = found.filter((id) => id.startsWith(`${name}-`));
		expect(own).toEqual(own.map((_, at) => `${name}-${at}`));
	}
	// Each killed process stored at most one line that was not acknowledged.
	expect(found.length).toBeLessThanOrEqual(acknowledged.length + 3);
}
