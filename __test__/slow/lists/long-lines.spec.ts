// The memory that lists and texts use for lines of 90 MB.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { BORN, header, writeSession } from "../../support/scratch.js";
import { agentDir, run } from "../../unit/catalog/agent-dir.js";

describe("a list reads lines of 90 MB in little memory:", () => {
	const text = JSON.stringify({ type: "text", text: "look" });
	// The beginning of the line, its end, and the number of times that the lists' texts contain "look".
	test.each([
		[
			"a pasted image",
			`"message":{"role":"user","content":[${text},{"type":"image","mimeType":"image/png","data":"`,
			'"}]}',
			4,
		],
		["an answer's image", `"message":{"role":"assistant","content":[{"data":"`, `","type":"image"},${text}]}`, 4],
		["a content before its role", '"message":{"content":"', '","role":"toolResult"}', 0],
		["a key with an escape", '"k\\u0065y":1,"data":"', '"', 0],
	] as const)("%s", async (_, begin, end, looks) => {
		const at = agentDir(1);
		const line = `{"type":"message","id":"a","parentId":null,"timestamp":"${BORN}",${begin}${"x".repeat(90 << 20)}${end}}`;
		for (let n = 0; n < 4; n++) writeSession(at.dir, [header({ id: "huge", cwd: "/project" }), line], `huge${n}.jsonl`);
		const script = `const before = process.resourceUsage().maxRSS;
			const list = await SessionManager.listAll();
			const texts = list.map((info) => info.allMessagesText).filter((text) => text === "look").length;
			console.log(list.length, texts, process.resourceUsage().maxRSS - before);`;
		const [count, texts, growth] = (await run(script)).split(" ").map(Number);
		expect([count, texts]).toEqual([5, looks]);
		expect((growth as number) / 1024).toBeLessThan(40);
		for (let n = 0; n < 4; n++) rmSync(join(at.dir, `huge${n}.jsonl`));
	});
});
