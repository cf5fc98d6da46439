// What is written down of the sessions that processes have open, and which of those processes still run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { emptyDirectory } from "../support/lines.js";

const MODULE = resolve(__dirname, "../../lib/machine/pending.js");
const { Pending } = createRequire(__filename)(MODULE);
const fileOf = (name: string) => resolve(`/${name}.jsonl`);
const session = (name: string) => ({ session: name, file: fileOf(name), cwd: "/shop" });

/** What is asked of what processes have left, if that is the answer. */
async function askedOf(pending: InstanceType<typeof Pending>, isNeeded: boolean): Promise<object[]> {
	const asked: object[] = [];
	await pending.visitAbandoned(async (one: object) => {
		asked.push(one);
		return isNeeded;
	});
	return asked;
}

/** A process that has a session open until it is killed. */
async function opening(notes: string, name: string) {
	const program = `
		const { Pending } = require(${JSON.stringify(MODULE)});
		globalThis.kept = new Pending(${JSON.stringify(notes)}, "/store");
		kept.add(${JSON.stringify(session(name))});
		console.log("open");
		setInterval(() => {}, 1000);`;
	const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
	onTestFinished(() => void child.kill("SIGKILL"));
	await once(child.stdout, "data");
	return async () => {
		const closed = once(child, "close");
		child.kill("SIGKILL");
		await closed;
	};
}

// Regression: it was told by a number, which the system may have given to another process since.
test("a session counts as open until its process is killed", async () => {
	const notes = emptyDirectory();
	const kill = await opening(notes, "a");
	const here = new Pending(notes, "/store");
	expect([await askedOf(here, true), [...here.openElsewhere()]]).toEqual([[], [fileOf("a")]]);
	await kill();
	expect([await askedOf(here, true), [...here.openElsewhere()]]).toEqual([[session("a")], []]);
	expect(await askedOf(here, false)).toEqual([session("a")]);
	expect(readdirSync(notes, { recursive: true }).filter((name) => /\.(?:jsonl|lock)$/.test(String(name)))).toEqual([]);
});

test("the newest line of a file counts, and one that was not written to its end counts for nothing", async () => {
	const notes = emptyDirectory();
	const [pending, here] = [new Pending(notes, "/store"), new Pending(notes, "/store")];
	for (const one of [session("a"), session("b"), { ...session("a"), project: "shop" }]) pending.add(one);
	const [name] = readdirSync(notes, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".jsonl"));
	appendFileSync(join(notes, name as string), '{"session":"c","file"');
	expect(await askedOf(here, true)).toEqual([]);
	pending.close();
	expect(await askedOf(here, true)).toEqual([{ ...session("a"), project: "shop" }, session("b")]);
	pending.remove();
	expect(await askedOf(here, true)).toEqual([]);
});

// Regression: what a process that ran had open was forgotten.
test("where a lock cannot be had, what a process has open is kept for a day", async () => {
	const notes = emptyDirectory();
	const [pending, here] = [new Pending(notes, "/store"), new Pending(notes, "/store")];
	pending.add(session("a"));
	const [name] = readdirSync(notes, { recursive: true, encoding: "utf8" }).filter((name) =>
		name.endsWith(".jsonl"),
	) as [string];
	// It cannot be opened as a file.
	pending.close();
	rmSync(join(notes, name.replace(/jsonl$/, "lock")));
	mkdirSync(join(notes, name.replace(/jsonl$/, "lock")));
	await askedOf(here, false);
	expect(await askedOf(here, true)).toEqual([session("a")]);
	const longAgo = Date.now() / 1000 - 90_000;
	utimesSync(join(notes, name), longAgo, longAgo);
	// Its lock is a directory here, which is not removed.
	await expect(askedOf(here, false)).rejects.toThrow();
	expect(await askedOf(here, true)).toEqual([]);
});
