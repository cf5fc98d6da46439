// What an append costs beyond the write: npm run bench:append
//
// The engine's part is measured in Rust (append_cost.rs), with and without the checks; the whole of it as JavaScript
// sees it in a process of this Node.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const { SessionManager } = createRequire(import.meta.url)("../index.js");
const scratch = mkdtempSync(join(tmpdir(), "append-cost-"));
try {
	const args = ["run", "--quiet", "--release", "--example", "append_cost", "--", scratch];
	const engine = JSON.parse(execFileSync("cargo", args, { encoding: "utf8" }));
	const times = [];
	for (let round = 0; round < 9; round++) {
		const manager = SessionManager.create("/somewhere", scratch);
		const message = (n) => ({ role: "user", content: "twenty bytes of text", timestamp: n });
		for (let n = 0; n < 2_000; n++) manager.appendMessage(message(n));
		const messages = Array.from({ length: 20_000 }, (_, n) => message(n));
		const start = process.hrtime.bigint();
		for (const one of messages) manager.appendMessage(one);
		times.push(Number(process.hrtime.bigint() - start) / messages.length);
	}
	const whole = times.sort((a, b) => a - b)[4];
	const checks = engine.checked - engine.unchecked;
	const row = (name, ns) => console.log(`| ${name} | ${ns.toFixed(0)} ns |`);
	console.log("| append of a 20-byte message | median |\n| --- | --- |");
	row("the bare write", engine.bare);
	row("write, line and index, no checks (engine)", engine.unchecked);
	row("the same with the checks (engine)", engine.checked);
	row("the checks", checks);
	row("`appendMessage`, as JavaScript sees it", whole);
	console.log(`\nThe checks are ${((100 * checks) / (whole - checks)).toFixed(0)} % of the append without them.`);
} finally {
	rmSync(scratch, { recursive: true, force: true });
}
