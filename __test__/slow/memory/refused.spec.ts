// Memory that the system refuses is an error of the call: it never ends the process, and the file stays whole.
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { api, root, scratch } from "../../support/scratch.js";
import * as hostile from "./hostile-files.js";

const { header, message } = hostile;

/** A byte in the middle of a file becomes one that is not UTF-8. */
const broken = (file: string): Buffer => {
	const bytes = Buffer.from(file);
	bytes[bytes.length >> 1] = 0xff;
	return bytes;
};
const escapes = () => "\\u0041".repeat(17_000_000);
const ascii = () => "a".repeat(34_000_000);

const OPENS = ["getTexts", "buildSessionContext", "verify"];
const LISTS = ["list", "search", "usage"];
const WRITES = ["forkFrom", "repair", "getTree"];
const SCANS = ["getLeafId", "verify", "repair"];
/** These change the file. */
const CHANGES = ["append", "branchWithSummary", "reload", "repair", "merge", "mergeHosts", "redactText", "redactEntries"];
interface Run extends SpawnSyncReturns<string> {
	/** What became of each call: `value` or the code of its error. */
	answers: Record<string, string>;
	/** Whether the engine ended the process, whose own heap got no memory: that is not ours to mend. */
	isEndedByEngine: boolean;
}

/** Runs calls on a file in a process that may have so many MB of address space. Everything that they leave is checked. */
function run(limit: number, file: string, calls: string[]): Run {
	const dir = mkdtempSync(join(scratch(), "limit-"));
	const env = { ...process.env, PI_SESSION_NATIVE_CATALOG: join(dir, "catalog.sqlite") };
	const command = `ulimit -v ${limit * 1_000} && exec "$0" "$@"`;
	const args = ["-c", command, process.execPath, join(__dirname, "operations.cjs"), file, dir, ...calls];
	const done = spawnSync("sh", args, { encoding: "utf8", cwd: root, env });
	const answers = Object.fromEntries(
		done.stdout
			.split("\n")
			.slice(1, -1)
			.map((line) => line.split(" ", 2) as [string, string]),
	);
	if (file !== "") {
		for (const call of calls.filter((call) => existsSync(join(dir, call)))) checkFiles(join(dir, call), file, call, answers[call]);
	}
	rmSync(dir, { recursive: true });
	const isEndedByEngine = !done.stdout.startsWith("loaded") || /V8|JavaScript heap|FATAL ERROR|Fatal process OOM|std::bad_alloc/.test(done.stderr);
	return { ...done, answers, isEndedByEngine };
}

/** A session file is byte for byte what it was, or it is a whole new one. */
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
	expect(now?.endsWithNewline, call).toBe(call === "repair" || isOld || was?.endsWithNewline === true);
	expect(now?.totals.damaged, call).toBeLessThanOrEqual(was?.totals.damaged ?? 0);
	expect(now?.entries, call).toBeGreaterThanOrEqual(was?.entries ?? 0);
}

interface Case {
	what: string;
	calls: string[];
	bytes: () => string | Buffer;
	/** Address space in MB, from what is too little to what is enough, and the step. */
	limits: [number, number, number];
}
const CASES: Case[] = [
	{
		what: "a text of 17,000,000 escapes",
		calls: OPENS,
		bytes: () => header(3) + message(escapes()),
		limits: [850, 1_450, 80],
	},
	{
		what: "a lone surrogate and 17,000,000 escapes",
		calls: [...OPENS, ...LISTS],
		bytes: () => header(3) + message(`\\ud83d${escapes()}`),
		limits: [857, 1_450, 80],
	},
	{
		what: "a text of 34,000,000 characters beyond Latin-1",
		calls: OPENS,
		bytes: () => header(3) + message("日".repeat(34_000_000)),
		limits: [864, 1_450, 80],
	},
	{
		what: "a line of 34 MB with a byte that is not UTF-8",
		calls: [...OPENS, ...LISTS],
		bytes: () => broken(header(3) + message(ascii())),
		limits: [871, 1_450, 80],
	},
	{
		what: "a fork and a repair of such a line",
		calls: WRITES,
		bytes: () => Buffer.concat([broken(header(3) + message(ascii())), Buffer.from("half a li\n")]),
		limits: [885, 1_450, 80],
	},
	{ what: "a migration of such a line", calls: WRITES, bytes: () => broken(header(1) + message(ascii())), limits: [892, 1_450, 80] },
	{ what: "200,000 short entries", calls: SCANS, bytes: () => hostile.manyEntries(200_000), limits: [800, 1_050, 25] },
	{
		what: "400,000 entries on one line",
		calls: ["repair"],
		bytes: () => hostile.manyFusedEntries(400_000),
		limits: [790, 1_150, 60],
	},
	{
		what: "4,000,000 damaged lines",
		calls: ["getLeafId", "verify"],
		bytes: () => header(3) + "{\n".repeat(4_000_000),
		limits: [800, 1_120, 80],
	},
	{
		what: "a header of 6,000,000 escapes",
		calls: ["buildSessionContext", "verify", ...LISTS],
		bytes: () => header(3).replace("/w", "\\u0041".repeat(6_000_000)) + message("x"),
		limits: [790, 1_030, 40],
	},
	{
		what: "a name, a label and an id of 2,000,000 escapes",
		calls: ["redactDry", "redactEntries", ...SCANS],
		bytes: () => hostile.escapesInEveryField(2_000_000),
		limits: [780, 1_100, 80],
	},
];

CASES.forEach(({ what, calls, bytes, limits: [from, to, step] }) => {
	test.runIf(process.platform === "linux")(`${what}, with more memory at a time: a value or an error`, () => {
		const file = join(scratch(), "session.jsonl");
		writeFileSync(file, bytes());
		const answers: string[] = [];
		for (let limit = from; limit <= to; limit += step) {
			const done = run(limit, file, calls);
			if (done.isEndedByEngine) continue;
			const { stdout, stderr, status } = done;
			expect({ limit, stdout, status, stderr }).toEqual({ limit, stdout, status: 0, stderr: "" });
			expect(Object.keys(done.answers)).toEqual(calls);
			answers.push(Object.values(done.answers).join());
		}
		expect(answers.some((answer) => /ENOMEM|LEFT_OUT/.test(answer))).toBe(true);
		expect(answers.at(-1)).toMatch(/^(value,?)+$/);
	});
});
