// If the system refuses memory, the call fails: the process does not end, and the file stays complete.
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Random } from "../../stress/differential/random.js";
import { api, root, scratch } from "../../support/scratch.js";
import * as hostile from "./hostile-files.js";

const { header, message } = hostile;
const seed = Number(process.env.PSN_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** Replaces a byte in the middle of a file by one that is not UTF-8. */
const broken = (file: string): Buffer => {
	const bytes = Buffer.from(file);
	bytes[bytes.length >> 1] = 0xff;
	return bytes;
};
const escapes = (count: number) => "\\u0041".repeat(count);
/** Lines of more than 16 MiB are read in another way (`GIANT` in `lines/line_reader.rs`). */
const ascii = () => "a".repeat(17_000_000);

const OPENS = ["getTexts", "buildSessionContext", "verify"];
const LISTS = ["list", "search", "usage"];
const WRITES = ["forkFrom", "repair", "getTree"];
const SCANS = ["getLeafId", "verify", "repair"];
/** These calls change the file. */
const CHANGES = [
	"append",
	"branchWithSummary",
	"reload",
	"repair",
	"merge",
	"mergeOthers",
	"redactText",
	"redactEntries",
];
const ALL = [
	...[
		"getLeafId",
		"getEntries",
		"getTree",
		"getBranch",
		"getOutline",
		"getChildren",
		"getLabel",
		"buildSessionContext",
		"getUsage",
	],
	...["getDiagnostics", "getSessionName", "loadEntriesFromFile", "openReadonly", "verify", "redactDry", "forkFrom"],
	...["createBranchedSession", ...LISTS, "readTexts", ...CHANGES],
];

interface Run extends SpawnSyncReturns<string> {
	/** The result of each call: `value`, or the code of its error. */
	answers: Record<string, string>;
	/** Whether the engine ended the process because its own heap got no memory, which we cannot prevent. */
	isEndedByEngine: boolean;
}

/**
 * Runs calls on a file in a process that may use so many MB of address space. Checks all files that they leave.
 */
function run(
	limit: number | "unlimited",
	file: string,
	calls: string[],
	environment: Record<string, string> = {},
): Run {
	const dir = mkdtempSync(join(scratch(), "limit-"));
	const env = { ...process.env, PI_SESSION_NATIVE_CATALOG: join(dir, "catalog.sqlite"), ...environment };
	const command = `ulimit -v ${limit === "unlimited" ? limit : limit * 1_000} && exec "$0" "$@"`;
	const args = ["-c", command, process.execPath, join(__dirname, "operations.cjs"), file, dir, ...calls];
	const done = spawnSync("sh", args, { encoding: "utf8", cwd: root, env });
	const answers = Object.fromEntries(
		done.stdout
			.split("\n")
			.slice(1, -1)
			.map((line) => line.split(" ", 2) as [string, string]),
	);
	for (const call of calls.filter((call) => existsSync(join(dir, call))))
		checkFiles(join(dir, call), file, call, answers[call]);
	rmSync(dir, { recursive: true });
	const isEndedByEngine =
		!done.stdout.startsWith("loaded") ||
		/V8|JavaScript heap|FATAL ERROR|Fatal process OOM|std::bad_alloc/.test(done.stderr);
	return { ...done, answers, isEndedByEngine };
}

/** A session file is byte for byte the old one, or a complete new one. */
function checkFiles(dir: string, original: string, call: string, answer: string | undefined): void {
	const before = readFileSync(original);
	const file = join(dir, "session.jsonl");
	const after = readFileSync(file);
	if (after.equals(before)) return;
	const isOld = before.subarray(0, 40).includes('"version":1');
	const isChanged = { call, answer, changed: true };
	expect(CHANGES.includes(call) || isOld, JSON.stringify(isChanged)).toBe(true);
	// A migration and a repair keep the original.
	const backups = readdirSync(dir).filter((name) => name.endsWith(".bak"));
	for (const backup of backups) expect(readFileSync(join(dir, backup)).equals(before), `${call}: ${backup}`).toBe(true);
	if (/append|branch/i.test(call) && !isOld) {
		expect(answer, call).toBe("value");
		expect(after.subarray(0, before.length).equals(before), call).toBe(true);
	}
	const [was, now] = [original, file].map((path) => api.SessionManager.verify(path));
	// Only a redaction or a merge may leave the end of the last line as it was.
	if (!/redact|merge/.test(call) || was?.endsWithNewline) expect(now?.endsWithNewline, call).toBe(true);
	expect(now?.totals.damaged, call).toBeLessThanOrEqual(was?.totals.damaged ?? 0);
	expect(now?.entries, call).toBeGreaterThanOrEqual(was?.entries ?? 0);
}

interface Case {
	what: string;
	calls: string[];
	bytes: () => string | Buffer;
}
const CASES: Case[] = [
	{
		what: "a text of 3,000,000 escapes",
		calls: OPENS,
		bytes: () => header(3) + message(escapes(3_000_000)),
	},
	{
		// Only one thread at a time searches a line above 64 MiB.
		what: "a lone surrogate and 11,300,000 escapes",
		calls: [...OPENS, ...LISTS],
		bytes: () => header(3) + message(`\\ud83d${escapes(11_300_000)}`),
	},
	{
		what: "a text of 6,000,000 characters beyond Latin-1",
		calls: OPENS,
		bytes: () => header(3) + message("日".repeat(6_000_000)),
	},
	{
		what: "a line of 17 MB with a byte that is not UTF-8",
		calls: [...OPENS, ...LISTS],
		bytes: () => broken(header(3) + message(ascii())),
	},
	{
		what: "a fork and a repair of such a line",
		calls: WRITES,
		bytes: () => Buffer.concat([broken(header(3) + message(ascii())), Buffer.from("half a li\n")]),
	},
	{ what: "a migration of such a line", calls: WRITES, bytes: () => broken(header(1) + message(ascii())) },
	{ what: "100,000 short entries", calls: SCANS, bytes: () => hostile.manyEntries(100_000) },
	{
		what: "300,000 entries on one line",
		calls: ["repair"],
		bytes: () => hostile.manyFusedEntries(300_000),
	},
	{
		what: "1,000,000 damaged lines",
		calls: ["getLeafId", "verify"],
		bytes: () => header(3) + "{\n".repeat(1_000_000),
	},
	{
		what: "a header of 3,000,000 escapes",
		calls: ["buildSessionContext", "verify", ...LISTS],
		bytes: () => header(3).replace("/w", escapes(3_000_000)) + message("x"),
	},
	{
		what: "a name, a label and an id of 400,000 escapes",
		calls: ["redactDry", "redactEntries", ...SCANS],
		bytes: () => hostile.escapesInEveryField(400_000),
	},
];

/** `refuse.c` needs glibc's allocator, which only Linux has. */
const isGlibc = "glibcVersionRuntime" in (process.report.getReport() as { header: object }).header;

/** Builds `refuse.c`. */
function refuseLibrary(): string {
	const library = join(scratch(), "refuse.so");
	const built = spawnSync("cc", ["-O1", "-shared", "-fPIC", "-o", library, join(__dirname, "refuse.c")], {
		encoding: "utf8",
	});
	if (built.error) throw new Error("No C compiler: apt-get install -y gcc libc6-dev");
	expect(built.stderr).toBe("");
	return library;
}

/**
 * Runs calls in a process whose addon is refused all its large allocations, or those that a seed selects. Returns the
 * results.
 */
function answersRefused(library: string, file: string, calls: string[], refuse: string, told: string): string[] {
	const done = run("unlimited", file, calls, { LD_PRELOAD: library, PSN_REFUSE: refuse });
	const { stdout, stderr, status, signal } = done;
	const what = `${told}, PSN_REFUSE=${refuse}`;
	expect({ what, stdout, status, signal, stderr }).toEqual({ what, stdout, status: 0, signal: null, stderr: "" });
	expect(Object.keys(done.answers), what).toEqual(calls);
	for (const [call, answer] of Object.entries(done.answers)) {
		expect(answer, `${what}: ${call}`).toMatch(/^(value|ENOMEM|LEFT_OUT|ERR_[A-Z_]+)$/);
	}
	return Object.values(done.answers);
}

test.runIf(isGlibc).each(CASES)("$what: refused allocations are errors", ({ what, calls, bytes }) => {
	const random = new Random(seed);
	const library = refuseLibrary();
	const file = join(scratch(), "session.jsonl");
	writeFileSync(file, bytes());
	const told = `PSN_SEED=${seed}: ${what}`;
	// The seed modulo five determines how many are refused.
	const seeds = [0, 4].map((rest) => String(5 * random.int(2 ** 28) + rest));
	const answers = ["all", ...seeds].flatMap((refuse) => answersRefused(library, file, calls, refuse, told));
	expect(answers.join(), told).toMatch(/ENOMEM|LEFT_OUT/);
	expect(run("unlimited", file, calls).answers).toEqual(Object.fromEntries(calls.map((call) => [call, "value"])));
});

test.runIf(process.platform === "linux")("a text of 17,000,000 escapes is a value or error", () => {
	const file = join(scratch(), "session.jsonl");
	writeFileSync(file, header(3) + message(escapes(17_000_000)));
	for (let limit = 1_000; limit <= 1_400; limit += 100) {
		const done = run(limit, file, OPENS);
		if (done.isEndedByEngine) continue;
		const { stdout, stderr, status, signal } = done;
		expect({ limit, stdout, status, signal, stderr }).toEqual({ limit, stdout, status: 0, signal: null, stderr: "" });
		expect(Object.keys(done.answers)).toEqual(OPENS);
	}
});

// Regression: the process ended.
test.runIf(isGlibc)("more hits than memory are an error of the search", () => {
	const file = join(scratch(), "session.jsonl");
	const lines = Array.from({ length: 300 }, (_, n) => message("a secret").replace('"id":"a"', `"id":"${n}"`));
	writeFileSync(file, header(3) + lines.join(""));
	expect(answersRefused(refuseLibrary(), file, ["searchBusy"], "all", "searchBusy")).toEqual(["ENOMEM"]);
	expect(run("unlimited", file, ["searchBusy"]).answers).toEqual({ searchBusy: "value" });
});

/** Regressions: the process ended if the system refused one of the large allocations, because they had no error. */
const ONE_REFUSED: Case[] = [
	// The buffer in which serde_json collects the characters.
	{
		what: "a text of 3,000,000 escapes",
		calls: ["getTexts", "buildSessionContext"],
		bytes: () => header(3) + message(escapes(3_000_000)),
	},
	{
		what: "a creation time of 1,000,000 escapes",
		calls: ["list"],
		bytes: () => header(3).replace("2025", escapes(1_000_000)) + message("x"),
	},
	// The buffer of a stable sort.
	{ what: "50,000 entries, sorted by size", calls: ["usage", "getUsage"], bytes: () => hostile.manyEntries(50_000) },
	{ what: "20,000 calls without results", calls: ["verify"], bytes: () => hostile.manyCalls(20_000) },
	// The list of these results.
	{
		what: "20,000 results that name a session",
		calls: ["usage"],
		bytes: () => hostile.manyNamedSessions(20_000),
	},
	// The list of an object's properties.
	{ what: "a block of 20,000 fields", calls: ["getTexts"], bytes: () => hostile.manyLongFields(20_000) },
];

test.runIf(isGlibc).each(ONE_REFUSED)("$what: each refused allocation is an error", ({ what, calls, bytes }) => {
	const library = refuseLibrary();
	const file = join(scratch(), "session.jsonl");
	writeFileSync(file, bytes());
	for (const call of calls) {
		const answers = Array.from({ length: 20 }, (_, n) =>
			answersRefused(library, file, [call], `only ${n + 1}`, `${what}: ${call}`),
		);
		expect(answers.join(), call).toMatch(/ENOMEM|LEFT_OUT/);
	}
});

/** The number of files that one run tries. */
const TRIED = 2;
/** Each call is tried on some of these files. The seed selects the order and the refusals. */
const FILES: Record<string, () => string> = {
	"many entries": () => hostile.manyEntries(60_000),
	"many damaged lines": () => hostile.manyDamagedLines(400_000),
	"many entries on one line": () => hostile.manyFusedEntries(60_000),
	"many entries of version 1": () => hostile.manyOldEntries(50_000),
	"a deep tree": () => hostile.deepTree(50_000),
	"many labels": () => hostile.manyLabels(50_000),
	"many forks": () => hostile.manyForks(30_000),
	"many orphans": () => hostile.manyOrphans(60_000),
	"ids of 3 MB": () => hostile.hugeIds(3_000_000),
	"a working directory of 6 MB": () => hostile.longWorkingDirectory(6_000_000),
	"escapes in every field": () => hostile.escapesInEveryField(400_000),
	"many blocks": () => hostile.manyBlocks(50_000),
};

test.runIf(isGlibc)("every call on hostile files survives refused large allocations", () => {
	const random = new Random(seed);
	const library = refuseLibrary();
	const shuffled = <T>(list: T[]): T[] => {
		const keyed = list.map((element) => ({ element, at: random.uint32() }));
		return keyed.sort((a, b) => a.at - b.at).map(({ element }) => element);
	};
	const all: string[] = [];
	for (const [what, bytes] of shuffled(Object.entries(FILES)).slice(0, TRIED)) {
		const file = join(scratch(), "session.jsonl");
		writeFileSync(file, bytes());
		all.push(...answersRefused(library, file, shuffled(ALL), String(random.int(2 ** 31)), `PSN_SEED=${seed}: ${what}`));
	}
	expect(all).toContain("ENOMEM");
	expect(all).toContain("value");
});
