// Memory that the system refuses is an error of the call; it never ends the process.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratch } from "../../support/scratch.js";

const header = (version: number): string =>
	`{"type":"session","version":${version},"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w"}\n`;
const message = (content: string): string =>
	`{"type":"message","id":"a","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user","content":"${content}"}}\n`;

/** A byte in the middle of a file becomes one that is not UTF-8. */
const broken = (file: string): Buffer => {
	const bytes = Buffer.from(file);
	bytes[bytes.length >> 1] = 0xff;
	return bytes;
};
const escapes = () => "\\u0041".repeat(17_000_000);
const ascii = () => "a".repeat(34_000_000);
/** Entries of 60 bytes, with a half line at the end: there is something to repair. */
const short = (count: number): string => {
	const ids = Array.from({ length: count }, (_, number) => `{"type":"custom","id":"${String(number).padStart(8, "0")}","parentId":null}\n`);
	return `${header(3)}${ids.join("")}half {\n`;
};
/** A name, a label and an id of many escapes. */
const escapedFields = (): string => {
	const text = ".\\u0041".repeat(5_000_000);
	return [
		header(3).trimEnd(),
		`{"type":"session_info","id":"n","parentId":null,"name":"${text}"}`,
		`{"type":"label","id":"l","parentId":"n","targetId":"n","label":"${text}"}`,
		`{"type":"custom","id":"${text}","parentId":"l"}`,
		"half {\n",
	].join("\n");
};

/** What is done with a file in one process; each call by itself: its value or its error is what is accepted. */
const OPENS = `
	() => SessionManager.open(file).getEntries().map((entry) => entry.message.content.length),
	() => SessionManager.open(file).buildSessionContext().messages.length,
	() => SessionManager.verify(file),
`;
/** A list leaves out a session that cannot be read, as pi's does. */
const LISTS = `
	() => SessionManager.listAll(dir).then((all) => all.length > 0 || Promise.reject({ code: "LEFT_OUT" })),
	() => SessionManager.search("needle", { sessionDir: dir }),
	() => SessionManager.usage({ sessionDir: dir }),
`;
const WRITES = `
	() => SessionManager.forkFrom(file, dir, path.join(dir, "forks")),
	() => SessionManager.repair(file),
	() => SessionManager.open(file).getTree(),
`;
const SCANS = `
	() => SessionManager.open(file).getLeafId(),
	() => SessionManager.verify(file),
	() => SessionManager.repair(file),
`;
const REDACTS = `
	() => SessionManager.redact(file, { text: "xyzzy", dryRun: true }),
	() => SessionManager.redact(file, { entries: ["n"], dryRun: true }),
`;
const script = (looks: string): string => `
	const fs = require("node:fs");
	const path = require("node:path");
	const { SessionManager } = require(${JSON.stringify(join(process.cwd(), "index.js"))});
	const file = process.argv[1];
	const dir = path.dirname(file);
	process.stdout.write("loaded\\n");
	(async () => {
		for (const look of [${looks}]) {
			const before = fs.statSync(file);
			try {
				await look();
				process.stdout.write("value,");
			} catch (error) {
				const after = fs.statSync(file);
				// A repair leaves the old file or the new one: its last look at the new one may be what is refused.
				const stays = /repair/.test(look) || (before.ino === after.ino && before.mtimeMs === after.mtimeMs);
				process.stdout.write((stays ? error.code : "CHANGED") + ",");
			}
		}
	})();`;

interface Case {
	what: string;
	looks: string;
	bytes: () => string | Buffer;
	/** Address space in KB, from what is too little to what is enough, and the step. */
	limits?: [number, number, number];
}
const CASES: Case[] = [
	{ what: "a text of 17,000,000 escapes", looks: OPENS, bytes: () => header(3) + message(escapes()) },
	{
		what: "a lone surrogate and 17,000,000 escapes",
		looks: OPENS + LISTS.trimStart(),
		bytes: () => header(3) + message(`\\ud83d${escapes()}`),
	},
	{
		what: "a text of 34,000,000 characters beyond Latin-1",
		looks: OPENS,
		bytes: () => header(3) + message("日".repeat(34_000_000)),
	},
	{ what: "a line of 34 MB with a byte that is not UTF-8", looks: OPENS, bytes: () => broken(header(3) + message(ascii())) },
	{ what: "a list of such a line", looks: LISTS, bytes: () => broken(header(3) + message(ascii())) },
	{
		what: "a fork and a repair of such a line",
		looks: WRITES,
		bytes: () => Buffer.concat([broken(header(3) + message(ascii())), Buffer.from("half a li\n")]),
	},
	{ what: "a migration of such a line", looks: WRITES, bytes: () => broken(header(1) + message(ascii())) },
	{ what: "200,000 short entries", looks: SCANS, bytes: () => short(200_000), limits: [800_000, 1_050_000, 25_000] },
	{
		what: "4,000,000 damaged lines",
		looks: SCANS.trimStart().split("\n").slice(0, 2).join("\n"),
		bytes: () => header(3) + "{\n".repeat(4_000_000),
		limits: [800_000, 1_120_000, 80_000],
	},
	{
		what: "a header of 6,000,000 escapes",
		looks: OPENS.split("\n").slice(1).join("\n") + LISTS.trimStart(),
		bytes: () => header(3).replace("/w", "\\u0041".repeat(6_000_000)) + message("x"),
		limits: [790_000, 1_030_000, 40_000],
	},
	{
		what: "a name, a label and an id of 5,000,000 escapes",
		looks: REDACTS + SCANS.trimStart(),
		bytes: escapedFields,
		limits: [800_000, 1_100_000, 60_000],
	},
];
/** Address space in KB, from what is too little to read the text to what is enough. */
const [FROM, TO, STEP] = [850_000, 1_450_000, 80_000];

CASES.forEach(({ what, looks, bytes, limits }, number) => {
	test.runIf(process.platform === "linux")(`${what}, with more memory at a time: a value or an error`, () => {
		const content = bytes();
		const calls = looks.trim().split("\n").length;
		const answers: string[] = [];
		// Each case has limits of its own.
		const [from, to, step] = limits ?? [FROM + number * 7_000, TO, STEP];
		for (let limit = from; limit <= to; limit += step) {
			const dir = mkdtempSync(join(scratch(), "limit-"));
			const file = join(dir, "session.jsonl");
			writeFileSync(file, content);
			const command = `ulimit -v ${limit} && exec "$0" -e "$1" "$2"`;
			const { stdout, stderr, status } = spawnSync("sh", ["-c", command, process.execPath, script(looks), file], {
				encoding: "utf8",
			});
			rmSync(dir, { recursive: true });
			// The engine ends the process where its own heap gets no memory: that is not ours to mend.
			if (!stdout.startsWith("loaded") || /V8|JavaScript heap|FATAL ERROR/.test(stderr)) continue;
			expect({ limit, stdout, status, stderr }).toEqual({ limit, stdout, status: 0, stderr: "" });
			answers.push(stdout.slice("loaded\n".length));
			expect(answers.at(-1)?.split(",")).toHaveLength(calls + 1);
		}
		expect(answers.join()).not.toContain("CHANGED");
		expect(answers.some((answer) => /ENOMEM|LEFT_OUT/.test(answer))).toBe(true);
		expect(answers.at(-1)).toMatch(/^(value,)+$/);
	});
});
