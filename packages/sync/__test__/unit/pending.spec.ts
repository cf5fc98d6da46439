// What is written down of the sessions that processes have open, and which of those processes still run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { emptyDirectory } from "../support/lines.js";

const MODULE = resolve(__dirname, "../../lib/machine/pending.js");
const { Pending } = createRequire(__filename)(MODULE);
const fileOf = (name: string) => resolve(`/${name}.jsonl`);
const session = (name: string) => ({ session: name, file: fileOf(name), cwd: "/shop" });

/** A process that has a session open until it is killed. */
async function opening(notes: string, name: string) {
	const program = `
		const { Pending } = require(${JSON.stringify(MODULE)});
		globalThis.kept = new Pending(${JSON.stringify(notes)}, "/store");
		kept.add(${JSON.stringify(session(name))}).then(() => console.log("open"));
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
	expect([here.abandoned(), here.isOpenElsewhere(fileOf("a"))]).toEqual([[], true]);
	await kill();
	const left = here.abandoned();
	expect([left, here.isOpenElsewhere(fileOf("a"))]).toEqual([[{ ...session("a"), id: expect.any(String) }], false]);
	here.remove(left[0].id);
	expect([here.abandoned(), readdirSync(join(notes, "open"), { recursive: true }).length]).toEqual([[], 1]);
});
