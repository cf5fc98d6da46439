// Measures the cost of an append beyond the write: npm run bench:append
//
// Rust measures the core's part (append_cost.rs), with and without the checks; a process of this Node measures the
// whole append from JavaScript. Both measure appends in a row, and appends after a pause of 11 ms, as by agents.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median } from "./report.mjs";

const { SessionManager } = createRequire(import.meta.url)("../index.js");
const PAUSE = 11;
const scratch = mkdtempSync(join(tmpdir(), "append-cost-"));
const still = new Int32Array(new SharedArrayBuffer(4));
const message = (n) => ({ role: "user", content: "twenty bytes of text", timestamp: n });

/** A manager whose file exists and whose code is compiled. */
function warm() {
	const manager = SessionManager.create("/somewhere", scratch);
	for (let n = 0; n < 2_000; n++) manager.appendMessage(message(n));
	return manager;
}

function inARow() {
	const times = [];
	for (let round = 0; round < 9; round++) {
		const manager = warm();
		const messages = Array.from({ length: 20_000 }, (_, n) => message(n));
		const start = process.hrtime.bigint();
		for (const one of messages) manager.appendMessage(one);
		times.push(Number(process.hrtime.bigint() - start) / messages.length);
	}
	return median(times);
}

function spaced() {
	const manager = warm();
	const times = [];
	for (let n = 0; n < 600; n++) {
		const one = message(n);
		Atomics.wait(still, 0, 0, PAUSE);
		const start = process.hrtime.bigint();
		manager.appendMessage(one);
		times.push(Number(process.hrtime.bigint() - start));
	}
	return median(times);
}

try {
	const args = ["run", "--quiet", "--release", "--example", "append_cost", "--", scratch];
	const core = JSON.parse(execFileSync("cargo", args, { encoding: "utf8" }));
	const whole = { row: inARow(), spaced: spaced() };
	const checks = { row: core.row.checked - core.row.unchecked, spaced: core.spaced.checked - core.spaced.unchecked };
	const line = (name, of) => console.log(`| ${name} | ${of("row").toFixed(0)} ns | ${of("spaced").toFixed(0)} ns |`);
	console.log(`| append of a 20-byte message, medians | in a row | ${PAUSE} ms apart |\n| --- | --- | --- |`);
	line("the bare write", (when) => core[when].bare);
	line("write, line and index, no checks (core)", (when) => core[when].unchecked);
	line("the same with the checks (core)", (when) => core[when].checked);
	line("the checks", (when) => checks[when]);
	line("`appendMessage`, as JavaScript sees it", (when) => whole[when]);
	const share = (when) => `${((100 * checks[when]) / (whole[when] - checks[when])).toFixed(0)} %`;
	console.log(
		`\nThe checks are ${share("row")} of the append without them in a row, ${share("spaced")} of one after a pause.`,
	);
} finally {
	rmSync(scratch, { recursive: true, force: true });
}
