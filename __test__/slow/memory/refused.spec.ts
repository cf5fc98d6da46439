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
const script = (looks: string): string => `
	const path = require("node:path");
	const { SessionManager } = require(${JSON.stringify(join(process.cwd(), "index.js"))});
	const file = process.argv[1];
	const dir = path.dirname(file);
	process.stdout.write("loaded\\n");
	(async () => {
		for (const look of [${looks}]) {
			try {
				await look();
				process.stdout.write("value,");
			} catch (error) {
				process.stdout.write(error.code + ",");
			}
		}
	})();`;

interface Case {
	what: string;
	looks: string;
	bytes: () => string | Buffer;
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
];
/** Address space in KB, from what is too little to read the text to what is enough. */
const [FROM, TO, STEP] = [850_000, 1_450_000, 80_000];

CASES.forEach(({ what, looks, bytes }, number) => {
	test.runIf(process.platform === "linux")(`${what}, with more memory at a time: a value or an error`, () => {
		const content = bytes();
		const calls = looks.trim().split("\n").length;
		const answers: string[] = [];
		// Each case has limits of its own.
		for (let limit = FROM + number * 7_000; limit <= TO; limit += STEP) {
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
		expect(answers.some((answer) => /ENOMEM|LEFT_OUT/.test(answer))).toBe(true);
		expect(answers.at(-1)).toMatch(/^(value,)+$/);
	});
});
