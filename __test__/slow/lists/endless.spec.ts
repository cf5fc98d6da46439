// SessionManager.listAll over a file with more text than a string of the engine can contain.
import { constants } from "node:buffer";
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { appendRepeated, header, message, user } from "../../support/scratch.js";
import { agentDir, run, session } from "../../unit/catalog/agent-dir.js";

// Regression: if a first message was longer than a string, the list never settled.
test("a list settles despite a first message beyond string length", async () => {
	const { agent, dir } = agentDir(0);
	session(dir, 1);
	const [begin, end] = JSON.stringify(message("a", null, user("|"))).split("|") as [string, string];
	const head = JSON.stringify(header({ id: "endless", cwd: "/project" }));
	const path = join(dir, "endless.jsonl");
	writeFileSync(path, `${head}\n${begin}`);
	appendRepeated(path, "x", constants.MAX_STRING_LENGTH + 1);
	appendFileSync(path, `${end}\n`);
	const script = `
		process.on("exit", () => console.log("ended"));
		SessionManager.listAll().then((list) => console.log(list.length, list.find((info) => info.id === "endless").firstMessage.length));`;
	expect(await run(script, { PI_CODING_AGENT_DIR: agent, PI_SESSION_NATIVE_CATALOG: "off" })).toBe(
		`2 ${1 << 20}\nended\n`,
	);
	rmSync(path);
});
