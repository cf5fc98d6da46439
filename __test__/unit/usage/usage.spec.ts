// Compares `SessionManager.usage` with a plain sum in JavaScript over the entries that pi reads.
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { UsageReport, UsageRow, UsageSum } from "../../../index.js";
import { count } from "../../support/counts.mjs";
import { loadReference } from "../../support/reference.js";
import {
	anyManager,
	api,
	header,
	type Json,
	message,
	ownAgent,
	scratch,
	setEnv,
	user,
	writeSession,
} from "../../support/scratch.js";
import { tick } from "../catalog/agent-dir.js";
import { call } from "./calls.js";

const pi = (await loadReference()) as unknown as { parseSessionEntries: (text: string) => any[] };
const { usage } = api.SessionManager;

/** Numbers below 1 from a seed, the same on each machine. */
function seeded(seed: number): () => number {
	let state = seed >>> 0;
	return () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
}

const HOUR = 3_600_000;
const START = Date.UTC(2025, 2, 28);

/** A session's lines: calls as pi writes them, and calls that nobody should write. */
function randomLines(random: () => number, entries: number): string[] {
	const pick = <T>(...choices: T[]): T => choices[Math.floor(random() * choices.length)] as T;
	const odd = () => pick<unknown>("5", null, undefined, -3, [], {}, true, "1e999", 1.7e308);
	const amount = () => (random() < 0.06 ? odd() : pick(0, Math.floor(random() * 5000), random()));
	const spent = (): unknown => {
		if (random() < 0.05) return pick<unknown>(null, undefined, 5, "x", [], {});
		const cost = random() < 0.05 ? odd() : { input: 0.1, total: amount() };
		const more = random() < 0.05 ? { audio: 7 } : {};
		return {
			input: amount(),
			output: amount(),
			cacheRead: amount(),
			cacheWrite: amount(),
			totalTokens: 5,
			cost,
			...more,
		};
	};
	const named = (...names: string[]) => (random() < 0.05 ? pick<unknown>("", undefined, 7) : pick(...names));
	return Array.from({ length: entries }, (_, index) => {
		const at = START + Math.floor(random() * 400) * HOUR;
		const timestamp = random() < 0.05 ? pick<unknown>(undefined, null, "tomorrow", 1e300) : new Date(at).toISOString();
		const id = `e${index}`;
		const model = { provider: named("acme", "other"), model: named("large", "small", "größer") };
		const answered = random() < 0.2 ? { responseModel: pick<unknown>("answered", "", null, 7) } : {};
		const own = { ...model, ...answered, usage: spent(), timestamp: random() < 0.05 ? odd() : at + 5 };
		const entry = pick<Json>(
			{ type: "message", id, timestamp, message: { role: "assistant", content: [], ...own } },
			{ type: "message", id, timestamp, message: { role: "assistant", content: [], ...own } },
			{
				type: "message",
				id,
				timestamp,
				message: { role: "toolResult", toolName: named("bash", "task"), content: [], ...own },
			},
			{ type: "message", id, timestamp, message: { role: "user", content: "hi", timestamp: at } },
			{ type: "usage", id, timestamp, kind: "k", ...model, usage: spent() },
			{ type: "compaction", id, timestamp, summary: "s", usage: spent() },
			{ type: "branch_summary", id, timestamp, summary: "s", usage: spent() },
			{ type: "custom", id, timestamp, usage: spent() },
		);
		const line = JSON.stringify(entry).replaceAll('"1e999"', "1e999");
		return random() < 0.02 ? line.slice(1) : line;
	});
}

interface Read {
	path: string;
	created: number;
	cwd: string;
	entries: any[];
	text: string;
}

const nothing = (): UsageSum => ({ calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0 });
const isIso = (value: unknown): value is string =>
	typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value);
const dateOf = (value: unknown): number =>
	typeof value === "number" || isIso(value) ? new Date(value).getTime() : Number.NaN;

/** The same sums, computed from entries. */
function plainSum(sessions: Read[], since = -Infinity, until = Infinity) {
	const left = {
		withoutUsage: 0,
		missing: 0,
		notNumbers: 0,
		negative: 0,
		infinite: 0,
		unknownKinds: 0,
		withoutModel: 0,
		withoutTime: 0,
	};
	const total = nothing();
	const tables: Record<string, Map<string, UsageSum>> = {
		model: new Map(),
		day: new Map(),
		project: new Map(),
		session: new Map(),
	};
	const counted = new Map<string, number>();
	const inOrder = [...sessions].sort((a, b) => a.created - b.created || (a.path < b.path ? -1 : 1));
	for (const { path, cwd, entries } of inOrder) {
		const own = new Map<string, number>();
		for (const entry of entries) {
			const say = entry.type === "message" ? entry.message : entry;
			const calls = entry.type === "usage" || say?.role === "assistant";
			const isTool = entry.type === "message" && say?.role === "toolResult";
			if (!calls && !isTool && entry.type !== "compaction" && entry.type !== "branch_summary") continue;
			const given = say.usage;
			const isObject = typeof given === "object" && given !== null && !Array.isArray(given);
			if (!isObject && !calls && (given === undefined || given === null)) continue;
			const flags = new Set<keyof typeof left>();
			if (!isObject) flags.add("withoutUsage");
			const read = (value: unknown): number => {
				if (value === undefined || value === null) flags.add("missing");
				else if (typeof value !== "number") flags.add("notNumbers");
				else if (!Number.isFinite(value)) flags.add("infinite");
				else if (value < 0) flags.add("negative");
				else return value;
				return 0;
			};
			const of = isObject ? given : {};
			const cost =
				typeof of.cost === "object" && of.cost !== null && !Array.isArray(of.cost)
					? of.cost.total
					: of.cost === null || of.cost === undefined
						? undefined
						: "no object";
			const amounts = isObject ? [of.input, of.output, of.cacheRead, of.cacheWrite, cost].map(read) : [0, 0, 0, 0, 0];
			const known = ["input", "output", "cacheRead", "cacheWrite", "cacheWrite1h", "reasoning", "totalTokens", "cost"];
			if (Object.entries(of).some(([key, value]) => !known.includes(key) && typeof value === "number"))
				flags.add("unknownKinds");
			const name = (value: unknown) => (typeof value === "string" ? value : "");
			let model = `(${entry.type})`;
			if (calls) {
				const [provider, id] = [name(say.provider), name(say.responseModel) || name(say.model)];
				if (provider === "" || id === "") flags.add("withoutModel");
				model = provider === "" && id === "" ? "(no model)" : `${provider || "(no provider)"}/${id || "(no model)"}`;
			} else if (isTool) model = `(tool ${name(say.toolName) || "without a name"})`;
			const time =
				typeof entry.message?.timestamp === "number" ? dateOf(entry.message.timestamp) : dateOf(entry.timestamp);
			if (Number.isNaN(time)) flags.add("withoutTime");
			if (time < since || time >= until) continue;
			const times = [entry.timestamp, entry.message?.timestamp]
				.filter((one) => one !== undefined && one !== null)
				.map((one) => (one === Infinity ? "infinite" : one));
			const identity = JSON.stringify([times.length > 0 ? times : entry.id, model, amounts]);
			const nth = (own.get(identity) ?? 0) + 1;
			own.set(identity, nth);
			if (nth <= (counted.get(identity) ?? 0)) continue;
			counted.set(identity, nth);
			if (Number.isNaN(time) && (since !== -Infinity || until !== Infinity)) {
				left.withoutTime++;
				continue;
			}
			const sums = [total.input, total.output, total.cacheRead, total.cacheWrite, total.cost];
			const added = amounts.map((amount, at) => (Number.isFinite(amount + (sums[at] as number)) ? amount : 0));
			if (added.some((amount, at) => amount !== amounts[at])) flags.add("infinite");
			for (const flag of isObject ? flags : (["withoutUsage"] as const)) left[flag]++;
			if (!isObject) continue;
			const date = new Date(time);
			const two = (value: number) => String(value).padStart(2, "0");
			const day = Number.isNaN(time)
				? "(no date)"
				: `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
			for (const [table, key] of Object.entries({ model, day, project: cwd, session: path })) {
				const sums = tables[table] as Map<string, UsageSum>;
				const sum = sums.get(key) ?? nothing();
				sums.set(key, add(sum, added));
			}
			add(total, added);
		}
	}
	return { total, tables, left };
}

function add(sum: UsageSum, [input, output, cacheRead, cacheWrite, cost]: number[]): UsageSum {
	sum.calls++;
	sum.input += input as number;
	sum.output += output as number;
	sum.cacheRead += cacheRead as number;
	sum.cacheWrite += cacheWrite as number;
	sum.cost += cost as number;
	return sum;
}

const sumOf = ({ calls, input, output, cacheRead, cacheWrite, cost }: UsageRow): UsageSum => ({
	calls,
	input,
	output,
	cacheRead,
	cacheWrite,
	cost,
});
const byKey = (rows: UsageRow[]) => Object.fromEntries(rows.map((row) => [row.key, sumOf(row)]));

function expectSame(report: UsageReport<any>, sessions: Read[], limits: [number?, number?] = []): void {
	const { total, tables, left } = plainSum(sessions, ...limits);
	expect(report.total).toEqual(total);
	for (const [table, sums] of Object.entries(tables))
		expect(byKey(report.by[table] as UsageRow[])).toEqual(Object.fromEntries(sums));
	const { damagedLines: _, files: __, ...calls } = report.leftOut;
	expect(calls).toEqual(left);
}

describe("usage", () => {
	const cases = count("usage_directories");
	const first = Number(process.env.PSN_SEED ?? 1);
	const by = ["model", "day", "project", "session"] as const;

	test(`is the sum over pi's entries (${cases} seeds from ${first})`, {
		timeout: 0,
	}, async () => {
		for (let seed = first; seed < first + cases; seed++) {
			const random = seeded(seed);
			const { agent } = ownAgent();
			const dir = join(agent, "sessions", "s");
			mkdirSync(dir, { recursive: true });
			setEnv({
				PI_SESSION_NATIVE_CATALOG: join(scratch(), "catalog"),
				TZ: ["UTC", "Asia/Tokyo", "America/New_York", "Pacific/Apia"][seed % 4],
			});
			const files = Array.from({ length: 4 }, (_, n) => ({
				path: join(dir, `${3 - n}.jsonl`),
				created: START + (n % 3) * HOUR,
				cwd: `/p${n % 2}`,
			}));
			let lines: string[] = [];
			for (const { path, created, cwd } of files) {
				// A fork begins with its source's entries.
				lines =
					random() < 0.6
						? [...lines.slice(0, Math.floor(random() * lines.length)), ...randomLines(random, 12)]
						: randomLines(random, 20);
				writeFileSync(
					path,
					`${[JSON.stringify(header({ id: path, cwd, timestamp: new Date(created).toISOString() })), ...lines].join("\n")}${random() < 0.7 ? "\n" : ""}`,
				);
			}
			const read = (): Read[] =>
				files.map((file) => {
					const text = readFileSync(file.path, "utf8");
					return {
						...file,
						text,
						entries: pi
							.parseSessionEntries(text)
							.filter((entry) => entry?.type !== "session" && typeof entry?.id === "string"),
					};
				});
			const told = `seed ${seed}`;
			const report = (options: object = {}) => usage({ sessionDir: dir, by, ...options });
			const cold = await report();
			expect(existsSync(process.env.PI_SESSION_NATIVE_CATALOG as string), told).toBe(true);
			const sessions = read();
			expectSame(cold, sessions);
			await tick();
			// A second report before the catalog accepts all rows, and a third from the catalog.
			expect(await report(), told).toEqual(cold);
			expect(await report(), told).toEqual(cold);
			setEnv({ PI_SESSION_NATIVE_CATALOG: "off" });
			expect(await report(), told).toEqual(cold);
			const limits: [number, number] = [START + 50 * HOUR, START + 300 * HOUR];
			expectSame(await report({ since: new Date(limits[0]), until: limits[1] }), sessions, limits);
			setEnv({ PI_SESSION_NATIVE_CATALOG: join(scratch(), "catalog") });
			await report();
			for (const { path } of files)
				if (random() < 0.7) appendFileSync(path, `${random() < 0.5 ? "\n" : ""}${randomLines(random, 5).join("\n")}\n`);
			const grown = await report();
			expectSame(grown, read());
			setEnv({ PI_SESSION_NATIVE_CATALOG: "off" });
			expect(await report(), told).toEqual(grown);
		}
	});

	test("adds up a file, a directory or everything", async () => {
		const { agent } = ownAgent();
		const dir = api.getDefaultSessionDir("/project");
		const path = writeSession(
			dir,
			[header({ cwd: "/project" }), message("a", null, user("go")), message("b", "a", call(0.5, START))],
			"a.jsonl",
		);
		writeFileSync(join(dir, "poem.jsonl"), "no session\n");
		writeSession(
			api.getDefaultSessionDir("/other"),
			[header({ cwd: "/other" }), message("a", null, call(0.25, START + 1))],
			"b.jsonl",
		);
		const costs = async (options?: object) => (await usage(options)).total.cost;
		expect([
			await costs(),
			await costs({ sessionDir: dir }),
			await costs({ cwd: "/other" }),
			await costs({ path }),
		]).toEqual([0.75, 0.5, 0.25, 0.5]);
		const { sessions, entries, leftOut, by, largest } = await usage({
			sessionDir: dir,
			by: ["session", "week", "month"],
			utc: true,
			largest: 1,
		});
		expect({ sessions, entries }).toEqual({ sessions: 1, entries: 2 });
		expect(leftOut.files).toEqual([
			{
				path: join(dir, "poem.jsonl"),
				error: expect.stringContaining("is not a valid pi session"),
				otherFormat: "a file without a pi header or pi entries",
			},
		]);
		expect(by.session).toMatchObject([
			{ key: path, cwd: "/project", title: "go", calls: 1, models: [{ key: "acme/large", cost: 0.5 }] },
		]);
		expect([by.week[0]?.key, by.month[0]?.key]).toEqual(["2025-03-24", "2025-03"]);
		expect((await usage({ sessionDir: dir, largest: Infinity })).largest).toHaveLength(2);
		const [one] = largest;
		const line = readFileSync(path).subarray(one?.offset, (one?.offset ?? 0) + (one?.bytes ?? 0));
		expect(JSON.parse(String(line))).toMatchObject({ id: one?.entryId });
		expect(existsSync(join(agent, "session-catalog.sqlite"))).toBe(true);
	});

	// Regression: all calls through a router were in one row, whichever model had answered.
	test("rows by model are of the model that answered", async () => {
		ownAgent();
		const routed = (responseModel: unknown, at: number): Json =>
			call(0.5, START + at, { provider: "openrouter", model: "auto", responseModel });
		const answered = ["claude/opus", "deepseek/v4", null, undefined, "", "auto"].map((model, at) =>
			message(`m${at}`, null, routed(model, at)),
		);
		const path = writeSession(scratch(), [header(), ...answered]);
		const expected = { "openrouter/auto": 4, "openrouter/claude/opus": 1, "openrouter/deepseek/v4": 1 };
		const counts = ({ by, leftOut }: UsageReport<any>) => ({
			...Object.fromEntries(by.model.map(({ key, calls }: UsageRow) => [key, calls])),
			...(leftOut.withoutModel > 0 ? { unnamed: leftOut.withoutModel } : {}),
		});
		expect(counts(await usage({ path, by: "model" }))).toEqual(expected);
		expect(counts(api.SessionManager.open(path).getUsage({ by: "model" }))).toEqual(expected);
		// Only the model that answered has a name.
		const only = writeSession(scratch(), [
			header(),
			message("a", null, call(1, START, { model: undefined, responseModel: "opus" })),
		]);
		expect(counts(await usage({ path: only, by: "model" }))).toEqual({ "acme/opus": 1 });
	});

	test("of a file that grew only the rest is read", async () => {
		ownAgent();
		const dir = api.getDefaultSessionDir("/project");
		const filler = (id: string) => message(id, null, user("x".repeat(10_000)));
		const path = writeSession(dir, [header(), filler("a"), message("b", null, call(1, START)), filler("c")]);
		const cost = async () => (await usage({ sessionDir: dir })).total.cost;
		expect(await cost()).toBe(1);
		await tick();
		// A change in the middle, which pi never makes. A read of the whole file notices it.
		const text = readFileSync(path, "utf8");
		writeFileSync(path, text.replace('"total":1}', '"total":2}'), { flag: "r+" });
		appendFileSync(path, `${JSON.stringify(message("d", null, call(0.5, START + 1)))}\n`);
		expect(await cost()).toBe(1.5);
		setEnv({ PI_SESSION_NATIVE_CATALOG: "off" });
		expect(await cost()).toBe(2.5);
	});

	test("reports progress, and ends with the reason of its signal", async () => {
		ownAgent();
		const dir = api.getDefaultSessionDir("/project");
		for (let n = 0; n < 5; n++) writeSession(dir, [header(), message("a", null, call(n, START))], `${n}.jsonl`);
		const seen: number[][] = [];
		await usage({ onProgress: (read, all) => void seen.push([read, all]) });
		expect(seen).toEqual([1, 2, 3, 4, 5].map((read) => [read, 5]));
		const reason = new Error("enough");
		await expect(usage({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
		const controller = new AbortController();
		await expect(usage({ signal: controller.signal, onProgress: () => controller.abort(reason) })).rejects.toBe(reason);
		await expect(
			usage({
				onProgress: () => {
					throw reason;
				},
			}),
		).rejects.toBe(reason);
	});

	test("what is asked wrongly is an error that names it", async () => {
		ownAgent();
		for (const [options, text] of [
			[{ path: 5 }, "options.path must be a string"],
			[{ path: "/a.jsonl", sessionDir: "/a" }, "options.path cannot be combined with cwd, sessionDir or folders"],
			[{ path: "/a.jsonl", cwd: "/a" }, "options.path cannot be combined with cwd, sessionDir or folders"],
		] as const) {
			await expect((anyManager as any).usage(options)).rejects.toThrow(TypeError);
			await expect((anyManager as any).usage(options)).rejects.toThrow(text);
		}
		await expect(usage({ path: "/nowhere.jsonl" })).rejects.toMatchObject({ code: "ENOENT" });
		const poem = join(scratch(), "poem.jsonl");
		writeFileSync(poem, "no session\n");
		await expect(usage({ path: poem })).rejects.toThrow("is not a valid pi session");
		expect((await usage({ sessionDir: "/nowhere" })).total.calls).toBe(0);
	});
});
