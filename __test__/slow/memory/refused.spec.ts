// Memory that the system refuses is an error of the call; it never ends the process.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratch } from "../../support/scratch.js";

const HEADER = '{"type":"session","version":3,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w"}\n';
const message = (content: string): string =>
	`{"type":"message","id":"a","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user","content":"${content}"}}\n`;

/** What reads a session's texts, each call by itself: its value or its error is what is accepted. */
const SCRIPT = `
	const { SessionManager } = require(${JSON.stringify(join(process.cwd(), "index.js"))});
	const file = process.argv[1];
	process.stdout.write("loaded\\n");
	const seen = [];
	for (const look of [
		() => SessionManager.open(file).getEntries().map((entry) => entry.message.content.length),
		() => SessionManager.open(file).buildSessionContext().messages.length,
	]) {
		try {
			look();
			seen.push("value");
		} catch (error) {
			seen.push("error");
		}
	}
	process.stdout.write(seen.join());`;

const TEXTS: Record<string, () => string> = {
	"a text of 17,000,000 escapes": () => "\\u0041".repeat(17_000_000),
	"a text of 34,000,000 characters beyond Latin-1": () => "日".repeat(34_000_000),
};
/** Address space in KB, from what is too little to read the text to what is enough. */
const [FROM, TO, STEP] = [850_000, 1_400_000, 10_000];

for (const [what, text] of Object.entries(TEXTS)) {
	test.runIf(process.platform === "linux")(`${what}, with 10 MB more of memory at a time: a value or an error`, () => {
		const file = join(scratch(), "session.jsonl");
		writeFileSync(file, HEADER + message(text()));
		const answers: string[] = [];
		for (let limit = FROM; limit <= TO; limit += STEP) {
			const command = `ulimit -v ${limit} && exec "$0" -e "$1" "$2"`;
			const { stdout, stderr, status } = spawnSync("sh", ["-c", command, process.execPath, SCRIPT, file], { encoding: "utf8" });
			// The engine ends the process where its own heap gets no memory: that is not ours to mend.
			if (!stdout.startsWith("loaded") || /V8|JavaScript heap|FATAL ERROR/.test(stderr)) continue;
			expect({ limit, status, stderr }).toEqual({ limit, status: 0, stderr: "" });
			answers.push(stdout.slice("loaded\n".length));
		}
		expect(answers.some((answer) => answer.includes("error"))).toBe(true);
		expect(answers.at(-1)).toBe("value,value");
	});
}
