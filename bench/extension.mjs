// Measures the extension in the reference pi, or in the release before it: `/resume`, switching to a large session,
// `/find`, going to a hit, and pi's start. pi alone, pi with the extension, and pi by `pi-native` alternate, each time
// in a terminal of its own (tmux). Prints Markdown. --check also fails if a case is below its figure in check.mjs.
//   npm run bench:extension [-- --sessions 1000 --rounds 3 --starts 11 --release 1.5.2 --check]
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { text as streamText } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { startModelServer } from "../scripts/demo/model-server.mjs";
import * as pi from "../scripts/demo/pi.mjs";
import { startRpc } from "../scripts/demo/rpc-client.mjs";
import { optionsOf } from "../scripts/options.mjs";
import { check, EXTENSION_FIGURES } from "./check.mjs";
import { median, time, times } from "./report.mjs";

const { values } = optionsOf(
	import.meta.url,
	{
		options: {
			sessions: { type: "string", default: "1000" },
			rounds: { type: "string", default: "3" },
			starts: { type: "string", default: "11" },
			release: { type: "string", default: pi.referenceVersion },
			check: { type: "boolean", default: false },
		},
	},
	{ counts: ["sessions", "rounds"], whole: ["starts"], oneOf: { release: [pi.referenceVersion, pi.earlierVersion] } },
);
const { sessions, rounds, starts } = values;
const release = values.release === pi.earlierVersion ? pi.earlierPackage : pi.referencePackage;
const cli = join(release, "dist/bundle/cli.js");
const dir = mkdtempSync(join(tmpdir(), "pi-extension-bench-"));

const usage = {
	input: 1,
	output: 1,
	cacheRead: 0,
	cacheWrite: 0,
	totalTokens: 2,
	cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/** A realistic session, which consists mainly of tool output; 60 turns are 2.8 MB. */
function text(n, { turns = 60, cwd = `/project-${n % 20}`, more = {}, name } = {}) {
	const lines = [
		{
			type: "session",
			version: 3,
			id: `0194${String(n).padStart(4, "0")}`,
			timestamp: "2025-06-01T08:00:00.000Z",
			cwd,
		},
	];
	const words = (count, seed) =>
		Array.from(
			{ length: count },
			(_, at) => (at % 12 === 0 ? "The " : "") + ((at * 7919 + seed * 104729) % 50021).toString(36),
		).join(" ");
	let parentId = null;
	const add = (type, id, fields) => {
		lines.push({
			type,
			id,
			parentId,
			timestamp: new Date(1748764800000 + lines.length * 1000).toISOString(),
			...fields,
		});
		parentId = id;
	};
	for (let turn = 0; turn < turns; turn++) {
		const message = (role, fields) =>
			add("message", `${turn}${role}`, { message: { role, timestamp: 1748764800000 + turn * 1000, ...fields } });
		const answer = (id, stopReason, ...content) =>
			add("message", `${turn}${id}`, {
				message: {
					role: "assistant",
					content,
					api: "openai-completions",
					provider: "acme",
					model: "large",
					usage,
					stopReason,
					timestamp: 1748764800000 + turn * 1000,
				},
			});
		message("user", { content: words(200, n + turn) });
		answer("call", "toolUse", { type: "toolCall", id: `call_${turn}`, name: "bash", arguments: { command: "make" } });
		message("toolResult", {
			toolCallId: `call_${turn}`,
			toolName: "bash",
			isError: false,
			content: [{ type: "text", text: words(10000, turn) }],
		});
		answer("text", "stop", { type: "text", text: `${words(1000, n + turn)} ${more[turn] ?? ""}` });
	}
	if (name) add("session_info", "name", { name });
	return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

const server = await startModelServer(Array.from({ length: 10_000 }, () => ({ text: "Yes." })));
const home = join(dir, "home");
const work = join(dir, "work");
mkdirSync(work);
pi.writeAgentDir(home, server.baseUrl, { quietStartup: true });
const folder = (name) => {
	const into = join(pi.agentDirOf(home), "sessions", name);
	mkdirSync(into, { recursive: true });
	return into;
};
// Few files with many names (hard links): the same work for both sides, without gigabytes on the disk. One file of
// twenty contains the word.
const WORD = "quince-pie";
const kept = Array.from({ length: 20 }, (_, n) => {
	const path = join(dir, `${n}.jsonl`);
	writeFileSync(path, text(n, n === 3 ? { more: { 50: WORD } } : {}));
	return path;
});
const withWord = Array.from({ length: sessions - 1 }, (_, n) => n % 20).filter((n) => n === 3).length;
// The last session has 10 MB, with a word in the middle and a word at its end.
const large = join(folder("--large--"), "large.jsonl");
const keptLarge = join(dir, "large.jsonl");
writeFileSync(
	keptLarge,
	text(9_999, { turns: 214, cwd: work, more: { 120: "medlar-jam", 213: "damson-tart" }, name: "Large session" }),
);
/** Links all sessions, also one that a visit has deleted. */
function linkSessions() {
	const link = (from, to) => existsSync(to) || linkSync(from, to);
	link(keptLarge, large);
	for (let n = 0; n < sessions - 1; n++) link(kept[n % 20], join(folder(`--project-${n % 20}--`), `${n}.jsonl`));
}
linkSessions();
const huge = join(dir, "huge.jsonl");
writeFileSync(huge, text(9_998, { turns: 2_740, cwd: work }));
const empty = join(dir, "empty.mjs");
writeFileSync(empty, "export default () => {};\n");
// An extension that only makes pi switch to an entry, to measure pi's own part.
const switching = join(dir, "switching.mjs");
const withSession = '{ withSession: (opened) => opened.navigateTree("120text") }';
const asked = `await ctx.switchSession(${JSON.stringify(large)}, ${withSession})`;
writeFileSync(
	switching,
	`export default (pi) => pi.registerCommand("switch", { description: "", handler: async (_args, ctx) => { ` +
		`${asked}; } });\n`,
);

/** A terminal with pi, on a server of its own, because a tmux server that is ending refuses new sessions. */
let terminals = 0;
function terminal(...args) {
	const [program, more] = args[0] === "pi-native" ? [join(pi.root, "bin/pi-native.mjs"), args.slice(1)] : [cli, args];
	const socket = join(dir, `tmux-${++terminals}`);
	const tmux = (...args) =>
		execFileSync("tmux", ["-u", "-S", socket, "-f", "/dev/null", ...args], {
			encoding: "utf8",
			env: { PATH: process.env.PATH, LANG: "C.UTF-8", TERM: "xterm-256color", SHELL: "/bin/sh" },
		});
	const env = Object.entries({
		...pi.isolatedEnv(home),
		PI_SESSION_NATIVE_PACKAGE: release,
		TERM: "tmux-256color",
	}).map(([name, value]) => `${name}=${value}`);
	// If pi ends, its last screen stays and shows the reason.
	tmux(
		"set-option",
		"-g",
		"remain-on-exit",
		"on",
		";",
		"new-session",
		"-d",
		"-x",
		"120",
		"-y",
		"40",
		"-c",
		work,
		"env",
		"-i",
		...env,
		pi.nodeBin,
		program,
		...more,
	);
	const pid = tmux("list-panes", "-F", "#{pane_pid}").trim();
	const until = async (done) => {
		for (const begin = performance.now(); performance.now() < begin + 120_000; await pause(4))
			if (done(tmux("capture-pane", "-p"))) return;
		throw new Error(`The screen never came:\n${tmux("capture-pane", "-p")}`);
	};
	/** The processor time of all of pi's threads so far, in milliseconds. */
	const used = () => {
		const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
		return (Number(fields[11]) + Number(fields[12])) * 10;
	};
	return {
		until,
		/** Sends keys. Returns the time until each of these screens, and pi's processor time until the last of them. */
		async timed(keys, ...screens) {
			const [begin, before] = [performance.now(), used()];
			tmux("send-keys", ...keys);
			const reached = [];
			for (const screen of screens) {
				await until(screen);
				reached.push(performance.now() - begin);
			}
			return { reached, cpu: used() - before };
		},
		async enter(line) {
			tmux("send-keys", "-l", line);
			await until((screen) => screen.includes(line));
			tmux("send-keys", "Enter");
		},
		peak: () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024,
		async close() {
			tmux("kill-server");
			// It must not run beside the next pi.
			for (let tries = 0; tries < 500 && spawnSync("kill", ["-0", pid]).status === 0; tries++) await pause(10);
		},
	};
}

const typed = (text) => ["-l", text];
const shows =
	(...wanted) =>
	(screen) =>
		wanted.every((one) => screen.includes(one));
/** The pattern for a list with this number of rows; pi shows the number if not all rows are on the screen. */
const filtered = (query, count) => (screen) =>
	screen.includes(`> ${query}`) &&
	(count > 10
		? screen.includes(`/${count})`)
		: !/\(\d+\/\d+\)/.test(screen) && screen.split("/project-").length - 1 === count);

/** Starts pi with these arguments once, and returns the measurements by the rows of the table below. */
async function visit(...args) {
	const at = terminal(...args);
	const found = {};
	const take = (name, { reached, cpu }) => (found[name] = { time: reached.at(-1), cpu });
	try {
		await at.until(shows("scripted"));
		await at.enter("/resume");
		await at.until(shows("Resume Session", "No sessions in current folder"));
		take("list", await at.timed(["Tab"], (screen) => screen.includes(`/${sessions})`) && !screen.includes("Loading")));
		// A user looks at the list before typing.
		await pause(2000);
		take("letter", await at.timed(typed("e"), filtered("e", sessions)));
		await at.timed(["C-u"], (screen) => screen.includes(`/${sessions})`) && !screen.includes("> e"));
		take("word", await at.timed(typed(WORD), filtered(WORD, withWord)));
		found.peak = { time: at.peak() };
		take("cleared", await at.timed(["C-u"], (screen) => screen.includes(`/${sessions})`)));
		await at.timed(
			typed("damson-tart"),
			(screen) => screen.includes("> damson-tart") && /› Large session/.test(screen) && !/\/\d+\)/.test(screen),
		);
		take(
			"open",
			await at.timed(["Enter"], (screen) => screen.includes("damson-tart") && !screen.includes("Resume Session")),
		);
	} finally {
		await at.close();
	}
	return { ...found, ...(await visitFiltered(...args)) };
}

/** Two lists that pi makes while a letter is in the field: all projects after the current one, and after a deletion. */
async function visitFiltered(...args) {
	const at = terminal(...args);
	const isWhole = (count) => (screen) => filtered("e", count)(screen) && !screen.includes("Loading");
	try {
		await at.until(shows("scripted"));
		await at.enter("/resume");
		await at.until(shows("Resume Session", "No sessions in current folder"));
		await at.timed(typed("e"), shows("> e"));
		const tab = await at.timed(["Tab"], isWhole(sessions));
		await at.timed(["C-d"], shows("Delete session?"));
		const deleted = await at.timed(["Enter"], isWhole(sessions - 1));
		const of = ({ reached, cpu }) => ({ time: reached[0], cpu });
		return { tab: of(tab), deleted: of(deleted) };
	} finally {
		await at.close();
		linkSessions();
	}
}

/** A switch in RPC mode to a session of 128 MB: its time, and the largest memory until then. */
async function switchLarge(...args) {
	const client = startRpc(
		{ command: pi.nodeBin, args: [cli, ...args, "--mode", "rpc"], env: pi.isolatedEnv(home) },
		{ cwd: work },
	);
	try {
		await client.send({ type: "get_state" });
		const begin = performance.now();
		await client.send({ type: "switch_session", sessionPath: huge });
		const took = performance.now() - begin;
		const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${client.pid}/status`, "utf8"))?.[1]) / 1024;
		return { switchTime: { time: took }, switchPeak: { time: peak } };
	} finally {
		await client.close();
	}
}

/** `/find` right after pi's start. */
async function search() {
	const at = terminal("-e", pi.root);
	const found = {};
	try {
		await at.until(shows("scripted"));
		await at.enter("/find --all");
		await at.until(shows("Find  all sessions"));
		const take = (name, { reached, cpu }) => (found[name] = { time: reached[0], cpu });
		take("findLetter", await at.timed(typed("q"), (screen) => /^› /m.test(screen)));
		await at.timed(["C-u"], (screen) => !/^› /m.test(screen));
		const word = await at.timed(
			typed(WORD),
			(screen) => new RegExp(`> ${WORD}`).test(screen),
			(screen) => /^› .*quince-pie/m.test(screen),
		);
		found.findShown = { time: word.reached[0] };
		found.findWord = { time: word.reached[1], cpu: word.cpu };
		await at.timed(["C-u"], (screen) => !/^› /m.test(screen));
		await at.timed(typed("medlar-jam"), (screen) => /^› .*medlar-jam/m.test(screen));
		take("goTo", await at.timed(["Enter"], (screen) => screen.includes("medlar-jam") && !screen.includes("Find  all")));
	} finally {
		await at.close();
	}
	return found;
}

/** pi's own switch to the entry of `/find`. */
async function switchAlone() {
	const at = terminal("-e", switching);
	try {
		await at.until(shows("scripted"));
		await at.timed(typed("/switch"), shows("/switch"));
		const { reached, cpu } = await at.timed(["Enter"], shows("medlar-jam"));
		return { switch: { time: reached[0], cpu } };
	} finally {
		await at.close();
	}
}

/**
 * The processor time from the start of pi to its first answer, in milliseconds. Meanwhile this process is the model.
 */
async function start(mode, ...args) {
	const how = {
		print: { args: ["-p", "Hi"], answer: "Yes." },
		rpc: { args: ["--mode", "rpc"], answer: '"command":"get_state"', input: '{"id":"1","type":"get_state"}\n' },
	}[mode];
	const words = [
		"-c",
		'TIMEFORMAT="%U %S"; time "$0" "$@" 2>/dev/null',
		pi.nodeBin,
		cli,
		...args,
		...how.args,
		"--no-session",
	];
	const child = spawn("bash", words, { cwd: work, env: pi.isolatedEnv(home), timeout: 60_000 });
	child.stdin.end(how.input ?? "");
	const [stdout, stderr] = await Promise.all([streamText(child.stdout), streamText(child.stderr)]);
	const [user, system] = stderr.trim().split(/\s+/).map(Number);
	// Without the times the shell was ended before pi was.
	if (!stdout.includes(how.answer) || system === undefined)
		throw new Error(`pi did not answer within a minute: ${stdout}${stderr}`);
	return (user + system) * 1000;
}

/** Processor time; the system's unit is a hundredth of a second. */
const cpuTime = (milliseconds) => (milliseconds < 10 ? "below 10 ms" : time(milliseconds));

const table = (head, rows) => {
	for (const cells of [head, head.map(() => "---"), ...rows]) console.log(`| ${cells.join(" | ")} |`);
	console.log("");
};

try {
	const [own, ours, native, searches] = [[], [], [], []];
	for (let round = 0; round < rounds; round++) {
		own.push({ ...(await visit()), ...(await switchLarge()) });
		ours.push({ ...(await visit("-e", pi.root)), ...(await switchLarge("-e", pi.root)) });
		native.push(await visit("pi-native"));
		searches.push({ ...(await search()), ...(await switchAlone()) });
	}
	const of = (runs, name, what = "time") => median(runs.map((run) => run[name][what]));
	console.log(
		`pi ${values.release} in a terminal, ${sessions} sessions (${((sessions * 2.8) / 1000).toFixed(1)} GB); ` +
			`${cpus().length} processors, Node ` +
			`${execFileSync(pi.nodeBin, ["--version"], { encoding: "utf8" }).trim().slice(1)}, medians of ${rounds}:\n`,
	);
	const memory = (name) => [
		`${Math.round(of(own, name))} MiB`,
		`${Math.round(of(ours, name))} MiB`,
		times(of(own, name) / of(ours, name)),
	];
	const both = {
		list: "`/resume`, all projects: until the list is whole",
		letter: "the first letter, typed two seconds later: until its rows are shown",
		word: "a word in one session of 20, typed then: until its rows are whole",
		open: "open the session of 10 MB that was found",
		tab: "a letter in the current project, then all projects: until their rows are whole",
		deleted: "delete a session then: until the new list is whole",
	};
	table(
		["what", "pi", "with the extension", "ratio", "by `pi-native`", "CPU, pi", "CPU, with the extension"],
		[
			...Object.entries(both).map(([name, title]) => {
				const [pi, extension] = [of(own, name), of(ours, name)];
				return [
					title,
					time(pi),
					time(extension),
					times(pi / extension),
					time(of(native, name)),
					cpuTime(of(own, name, "cpu")),
					cpuTime(of(ours, name, "cpu")),
				];
			}),
			["largest memory, filtered", ...memory("peak"), `${Math.round(of(native, "peak"))} MiB`, "", ""],
			[
				"RPC `switch_session` to a session of 128 MB",
				time(of(own, "switchTime")),
				time(of(ours, "switchTime")),
				times(of(own, "switchTime") / of(ours, "switchTime")),
				"",
				"",
				"",
			],
			["largest memory by then", ...memory("switchPeak"), "", "", ""],
		],
	);
	const find = {
		findLetter: "`/find --all`: a letter, until the first hits are shown",
		findShown: "a rare word, typed at once: until it stands there",
		findWord: "until its first hit is shown",
		goTo: "enter, until pi shows the entry in a session of 10 MB",
		switch: "the same switch, asked of pi by an extension that does nothing else",
	};
	table(
		["what", "time", "CPU"],
		Object.entries(find).map(([name, title]) => [
			title,
			time(of(searches, name)),
			searches[0][name].cpu === undefined ? "" : cpuTime(of(searches, name, "cpu")),
		]),
	);
	const rows = [];
	for (const [mode, title] of starts === 0
		? []
		: [
				["print", "`pi -p`"],
				["rpc", "RPC mode"],
			]) {
		const cpu = { none: [], empty: [], extension: [] };
		for (let round = 0; round < starts; round++) {
			cpu.none.push(await start(mode));
			cpu.empty.push(await start(mode, "-e", empty));
			cpu.extension.push(await start(mode, "-e", pi.root));
		}
		const more = (key) => `${Math.round(median(cpu[key].map((one, at) => one - cpu.none[at])))} ms`;
		rows.push([title, time(median(cpu.none)), more("empty"), more("extension")]);
	}
	if (starts > 0) console.log(`CPU time from pi's start to its first answer, paired, medians of ${starts}:\n`);
	if (starts > 0) table(["mode", "pi", "with an empty extension, more", "with this one, more"], rows);
	if (values.check) {
		const ratios = (name) => own.map((run, round) => run[name].time / ours[round][name].time);
		const row = (name, key) => ({ case: name, ratio: median(ratios(key)), high: Math.max(...ratios(key)) });
		check(
			[
				row("list", "list"),
				row("letter", "letter"),
				{ ...row("switch", "switchTime"), piGrowth: of(own, "switchPeak"), oursGrowth: of(ours, "switchPeak") },
			],
			EXTENSION_FIGURES,
		);
	}
} finally {
	await server.close();
	rmSync(dir, { recursive: true, force: true });
}
