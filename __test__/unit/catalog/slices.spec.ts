// The work of a list on JavaScript's thread: only a little at a time, and nothing that other threads can do.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Random } from "../../stress/differential/random.js";
import { runtime } from "../../support/runtime.js";
import { api, header, LOAD, message, scratch, user, writeSession } from "../../support/scratch.js";
import { isWindows } from "../../support/windows.js";
import { agentDir, reference, run } from "./agent-dir.js";

const { SessionManager } = api;

// The module keeps references to these methods when it is loaded, so we replace them by counting ones before.
const COUNTED = `
	const calls = [];
	for (const [prototype, name] of [[String.prototype, "localeCompare"], [Array.prototype, "sort"], [Array.prototype, "filter"]]) {
		const before = prototype[name];
		prototype[name] = function (...args) {
			calls.push(name);
			return before.apply(this, args);
		};
	}`;

test("a list calls no sorting function of the runtime", () => {
	agentDir(0);
	const dir = scratch();
	const times: string[] = [];
	for (let n = 0; n < 1_000; n++) {
		const time = new Date(Date.UTC(2025, 0, 1) + ((n * 7_919) % 1_000) * 3_600_000).toISOString();
		times.push(time);
		const name = `${time.replace(/[:.]/g, "-")}_0193a2b4-${(n * 40_503).toString(16).padStart(8, "0")}.jsonl`;
		// No session has a message, so they are sorted by their headers' times.
		writeSession(dir, [header({ id: time, timestamp: time })], name);
	}
	const script = `${COUNTED}
		${LOAD}
		calls.length = 0;
		SessionManager.listAll(process.env.PSN_DIR).then((list) => {
			const during = calls.slice();
			console.log(JSON.stringify({ during, ids: list.map((info) => info.id) }));
		});`;
	const said = execFileSync(process.execPath, ["-e", script], {
		encoding: "utf8",
		env: { ...process.env, PSN_DIR: dir },
	});
	expect(JSON.parse(said)).toEqual({ during: [], ids: times.sort().reverse() });
});

/** Names whose order depends on the language. */
function oddNames(random: Random, count: number): string[] {
	const part = () =>
		random.pick([
			"2025-01-0",
			"2025-01-1",
			"a",
			"A",
			"aa",
			"Aa",
			"b",
			"ch",
			"cz",
			"dd",
			"ff",
			"z",
			"Z",
			"y",
			"i",
			"_",
			"-",
			".",
			" ",
			"ä",
			"å",
			"é",
			"e\u0301",
			"ı",
			"10",
			"9",
			"0",
			"th",
			"ว",
			"語",
		]);
	const all = [
		...new Set(
			Array.from(
				{ length: count },
				() => `${part()}${part()}${random.chance(0.3) ? part() : ""}${random.int(12)}.jsonl`,
			),
		),
	];
	// On Windows names that differ only in case are the same name.
	const names = isWindows ? [...new Map(all.map((name) => [name.toUpperCase(), name])).values()] : all;
	// If names are equal in every language, pi keeps the order in which it read them: sorted by bytes in Node, as ours,
	// and in the directory's order in Bun.
	return runtime === "bun" ? names.filter((name) => !name.includes("e\u0301")) : names;
}

const seed = Number(process.env.PSN_SEED ?? 20251121);

test(`odd names come in the runtime's order (seed ${seed})`, async () => {
	const random = new Random(seed);
	const dir = scratch();
	for (const name of oddNames(random, 400)) {
		const file = writeSession(dir, [header({ id: name }), message("a", null, user("x"))], name);
		utimesSync(file, 1_700_000_000 + random.int(3), 1_700_000_000);
	}
	const files = readdirSync(dir);
	expect((await SessionManager.listAll(dir)).map((info) => info.id)).toEqual(
		files.slice().sort((a, b) => b.localeCompare(a)),
	);
	expect((await SessionManager.listAll(dir)).map((info) => info.id)).toEqual(
		(await reference.SessionManager.listAll(dir)).map((info) => info.id),
	);
	// All directories, sorted by time first.
	const { agent } = agentDir(0);
	for (const name of ["one", "two"]) {
		const there = join(agent, "sessions", name);
		mkdirSync(there, { recursive: true });
		for (const file of files.filter(() => random.chance(0.4))) {
			const path = writeSession(there, [header({ id: `${name} ${file}` }), message("a", null, user("x"))], file);
			const time = 1_700_000_000 + random.int(3);
			utimesSync(path, time, time);
		}
	}
	const ids = async (from: typeof SessionManager) => (await from.listAll()).map((info) => info.path);
	expect(await ids(SessionManager)).toEqual(await ids(reference.SessionManager));
});

test("names are in the order of the process's own language", async () => {
	const dir = scratch();
	for (const name of oddNames(new Random(7), 300)) writeSession(dir, [header({ id: name })], name);
	const script = `
		const list = (await SessionManager.listAll(process.env.PSN_DIR)).map((info) => info.id);
		const want = require("node:fs").readdirSync(process.env.PSN_DIR).sort((a, b) => b.localeCompare(a));
		console.log(list.join() === want.join(), new Intl.Collator().resolvedOptions().locale);`;
	const languages = new Set<string>();
	for (const locale of ["C", "da_DK.UTF-8", "th_TH.UTF-8", "cs_CZ.UTF-8", "lt_LT.UTF-8", "cy_GB.UTF-8"]) {
		const [same, language] = (await run(script, { PSN_DIR: dir, LC_ALL: locale })).trim().split(" ");
		expect([locale, same]).toEqual([locale, "true"]);
		languages.add(language as string);
	}
	// Bun and Windows have one language, which the environment does not change.
	expect(languages.size).toBe(runtime === "bun" || isWindows ? 1 : 6);
});

test("times beyond all dates are sorted like the engine's", async () => {
	const dir = scratch();
	const times = [5, 1e300, 7, undefined, 1e300, 3];
	for (const [n, time] of times.entries()) {
		writeSession(dir, [header({ id: `s${n}` }), message("a", null, user("x", { timestamp: time }))], `${n}.jsonl`);
	}
	const ids = async (from: typeof SessionManager) => (await from.listAll(dir)).map((info) => info.id);
	expect(await ids(SessionManager)).toEqual(await ids(reference.SessionManager));
});
