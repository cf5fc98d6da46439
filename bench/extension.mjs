// What the extension gives and costs in pi 1.5.2: the time until `/resume` shows all sessions, until its filter shows the sessions that have a word,
// and the processor time of pi's start. pi without it and with it alternate.
//   npm run bench:extension [-- --sessions 1000 --rounds 3 --starts 11]
import { execFileSync, spawnSync } from "node:child_process";
import { linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startModelServer } from "../scripts/demo/model-server.mjs";
import * as pi from "../scripts/demo/pi.mjs";

const { values } = parseArgs({ options: { sessions: { type: "string", default: "1000" }, rounds: { type: "string", default: "3" }, starts: { type: "string", default: "11" } } });
const [sessions, rounds, starts] = [values.sessions, values.rounds, values.starts].map(Number);
const cli = join(pi.referencePackage, "dist/bundle/cli.js");
const dir = mkdtempSync(join(tmpdir(), "pi-extension-bench-"));
const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

/** A session of 2.8 MB as its users have them: most of it output of tools. */
function text(n) {
	const lines = [{ type: "session", version: 3, id: `0194${String(n).padStart(4, "0")}`, timestamp: "2025-06-01T08:00:00.000Z", cwd: `/project-${n % 20}` }];
	const words = (count, seed) => Array.from({ length: count }, (_, at) => ((at * 7919 + seed * 104729) % 50021).toString(36)).join(" ");
	for (let turn = 0; turn < 60; turn++) {
		const message = (role, more) => lines.push({ type: "message", id: `${turn}${role}`, parentId: null, timestamp: new Date(1748764800000 + turn * 1000).toISOString(), message: { role, timestamp: 1748764800000 + turn * 1000, ...more } });
		message("user", { content: `${words(200, n + turn)}${n === 3 && turn === 50 ? " quince-pie" : ""}` });
		message("assistant", { content: [{ type: "text", text: words(1000, n + turn) }], provider: "acme", model: "large", stopReason: "stop" });
		message("toolResult", { toolCallId: "c", toolName: "bash", isError: false, content: [{ type: "text", text: words(10000, turn) }] });
	}
	return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

const server = await startModelServer(Array.from({ length: 10_000 }, () => ({ text: "Yes." })));
const home = join(dir, "home");
const work = join(dir, "work");
mkdirSync(work);
pi.writeAgentDir(home, server.baseUrl, { quietStartup: true });
// Few different files, many names: the same work for both, without gigabytes on the disk.
const kept = Array.from({ length: 20 }, (_, n) => {
	const path = join(dir, `${n}.jsonl`);
	writeFileSync(path, text(n));
	return path;
});
for (let n = 0; n < sessions; n++) {
	const into = join(pi.agentDirOf(home), "sessions", `--project-${n % 20}--`);
	mkdirSync(into, { recursive: true });
	linkSync(kept[n % 20], join(into, `${n}.jsonl`));
}
const empty = join(dir, "empty.mjs");
writeFileSync(empty, "export default () => {};\n");

const socket = join(dir, "tmux");
const tmux = (...args) => execFileSync("tmux", ["-u", "-S", socket, "-f", "/dev/null", ...args], { encoding: "utf8", env: { PATH: process.env.PATH, LANG: "C.UTF-8", TERM: "xterm-256color", SHELL: "/bin/sh" } });
const until = async (done) => {
	for (const begin = performance.now(); performance.now() < begin + 600_000; await pause(10)) if (done(tmux("capture-pane", "-p"))) return performance.now();
	throw new Error(`The screen never came:\n${tmux("capture-pane", "-p")}`);
};

/** One visit: until the list of all sessions is whole, until a letter has filtered it, and pi's largest memory in MB. */
async function visit(extension) {
	const env = Object.entries({ ...pi.isolatedEnv(home), TERM: "tmux-256color" }).map(([name, value]) => `${name}=${value}`);
	tmux("new-session", "-d", "-x", "120", "-y", "40", "-c", work, "env", "-i", ...env, pi.nodeBin, cli, ...(extension ? ["-e", pi.root] : []));
	try {
		await until((screen) => screen.includes("scripted"));
		tmux("send-keys", "-l", "/resume");
		await until((screen) => screen.includes("/resume"));
		tmux("send-keys", "Enter");
		await until((screen) => screen.includes("Resume Session"));
		const begin = performance.now();
		tmux("send-keys", "Tab");
		const listed = (await until((screen) => screen.includes(`/${sessions})`) && !/Loading/.test(screen))) - begin;
		const typed = performance.now();
		// One file of twenty has this word.
		tmux("send-keys", "-l", "quince-pie");
		const filtered = (await until((screen) => screen.includes("> quince-pie") && screen.includes(`/${Math.ceil((sessions - 3) / 20)})`))) - typed;
		const pid = tmux("list-panes", "-F", "#{pane_pid}").trim();
		const memory = Number(/VmHWM:\s+(\d+)/.exec(execFileSync("cat", [`/proc/${pid}/status`], { encoding: "utf8" }))?.[1]) / 1024;
		return { listed, filtered, memory };
	} finally {
		tmux("kill-server");
	}
}

/** Processor time of a start of pi to its first answer, in milliseconds. */
function start(...args) {
	const run = spawnSync("bash", ["-c", 'TIMEFORMAT="%U %S"; time "$0" "$@" >/dev/null 2>/dev/null', pi.nodeBin, cli, ...args, "-p", "Hi", "--no-session"], { cwd: work, env: pi.isolatedEnv(home), encoding: "utf8" });
	const [user, system] = run.stderr.trim().split(/\s+/).map(Number);
	return (user + system) * 1000;
}

try {
	const [own, ours] = [[], []];
	for (let round = 0; round < rounds; round++) {
		own.push(await visit(false));
		ours.push(await visit(true));
	}
	console.log(`/resume with ${sessions} sessions, all projects; ${cpus().length} processors, Node ${process.versions.node}; medians of ${rounds}`);
	for (const [name, of] of [["pi", own], ["with the extension", ours]]) {
		const get = (key) => Math.round(median(of.map((one) => one[key])));
		console.log(`${name.padEnd(20)} list ${get("listed")} ms, filtered ${get("filtered")} ms, memory ${get("memory")} MB (each list: ${of.map(({ listed }) => Math.round(listed)).join(", ")})`);
	}
	const cpu = { none: [], empty: [], extension: [] };
	for (let round = 0; round < starts; round++) {
		cpu.none.push(start());
		cpu.empty.push(start("-e", empty));
		cpu.extension.push(start("-e", pi.root));
	}
	const more = (key) => Math.round(median(cpu[key].map((time, at) => time - cpu.none[at])));
	console.log(`start of pi: ${Math.round(median(cpu.none))} ms of processor time; with an empty extension ${more("empty")} ms more, with this one ${more("extension")} ms more`);
} finally {
	await server.close();
	rmSync(dir, { recursive: true, force: true });
}
