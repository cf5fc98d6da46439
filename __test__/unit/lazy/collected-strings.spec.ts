// Long texts lie in memory of the addon's, of which the engine is told: when they come, and when they were collected.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { run } from "../../support/children.js";
import { assistant, header, scratch } from "../../support/scratch.js";

/** Reads all texts of a session, and collects them within the same job. */
const SCRIPT = `
	const [file, times] = args;
	for (let round = 0; round < times; round++) {
		let letters = 0;
		for (const { message } of SessionManager.open(file).getEntries()) letters += message.content[0].text.length;
		gc();
		if (round === 0) say(String(letters));
	}
	setImmediate(() => {
		gc();
		say(process.memoryUsage().external < 40e6 ? "external memory was given back" : "external memory was kept");
	});`;

// Regression: Node 26 ended the process ("Check failed: total_before >= -delta"). It collects strings on other threads, which
// told it that memory was given back before its own thread had told it that the memory was there.
test("texts that are collected in the job that has read them", async () => {
	const file = join(scratch(), "session.jsonl");
	const line = (at: number): string =>
		JSON.stringify({
			type: "message",
			id: `e${at}`,
			parentId: at === 0 ? null : `e${at - 1}`,
			timestamp: "2026-01-01T00:00:00.000Z",
			message: assistant("line\n".repeat(20_000)),
		});
	writeFileSync(file, [JSON.stringify(header()), ...Array.from({ length: 100 }, (_, at) => line(at)), ""].join("\n"));
	const { lines, errors, code, signal } = await run(SCRIPT, [file, 8], ["--expose-gc"]);
	expect({ lines, errors, code, signal }).toEqual({
		lines: ["10000000", "external memory was given back"],
		errors: "",
		code: 0,
		signal: null,
	});
});
