// The sessions in the pictures: one session with branches, and a directory with many sessions.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SessionManager } from "../../index.js";

/** A day's work with three branches. Returns the file. */
export function writeSession(dir) {
	const manager = SessionManager.create("/home/user/shop", dir);
	const cost = { input: 0.003, output: 0.011, cacheRead: 0.002, cacheWrite: 0, total: 0.016 };
	const usage = { input: 1020, output: 740, cacheRead: 6100, cacheWrite: 0, totalTokens: 7860, cost };
	const says = { api: "messages", provider: "acme", model: "large", usage, stopReason: "stop" };
	const user = (content) => manager.appendMessage({ role: "user", content, timestamp: Date.now() });
	const answer = (...content) => manager.appendMessage({ role: "assistant", content, ...says, timestamp: Date.now() });
	const text = (words) => ({ type: "text", text: words });
	const call = (id, name, args) => ({ type: "toolCall", id, name, arguments: args });
	const result = (toolCallId, toolName, words, isError = false) =>
		manager.appendMessage({
			role: "toolResult",
			toolCallId,
			toolName,
			content: [text(words)],
			isError,
			timestamp: Date.now(),
		});

	manager.appendModelChange("acme", "large");
	user("The checkout test fails every tenth run. Find out why.");
	answer(
		text("I run it until it fails."),
		call("1", "bash", { command: "for i in $(seq 40); do npm test -- checkout || break; done" }),
	);
	result("1", "bash", "14 runs good\nexpected 'paid', got 'pending'", true);
	const plan = answer(
		text("The test reads the order before the payment's callback has written it. There are three ways to mend that."),
	);
	user("Try to wait longer in the test");
	answer(call("2", "edit", { path: "test/checkout.test.ts" }));
	result("2", "edit", "1 replacement");
	answer(text("It fails every thirtieth run now."));
	manager.branchWithSummary(plan, "A longer wait makes it rarer and does not mend it.");
	manager.appendLabelChange(plan, "three ways");
	user("Poll for the state instead");
	const polled = answer(call("3", "edit", { path: "test/checkout.test.ts" }));
	result("3", "edit", "2 replacements");
	answer(text("200 runs good. The test is slow: 900 ms."));
	manager.branch(polled);
	user("And with a smaller interval?");
	answer(text("200 runs good, 120 ms."));
	manager.branchWithSummary(plan, "Polling works and hides that the callback is late.");
	user("Mend the code: the order must be written before the answer is sent");
	answer(
		text("The handler sends its answer first. I turn the two round."),
		call("4", "edit", { path: "src/payment/callback.ts" }),
	);
	result(
		"4",
		"edit",
		"-\tresponse.send(200);\n-\tawait orders.markPaid(id);\n+\tawait orders.markPaid(id);\n+\tresponse.send(200);",
	);
	answer(call("5", "bash", { command: "for i in $(seq 300); do npm test -- checkout || break; done" }));
	result("5", "bash", "300 runs good");
	answer(
		text(
			"300 runs good, and the test is as short as it was. The order is written before the provider gets its answer.",
		),
	);
	manager.appendSessionInfo("The checkout test");
	return manager.getSessionFile();
}

/** Two months of work on four projects with three models, the same each time. */
export function writeStore(dir) {
	mkdirSync(dir);
	let state = 7;
	const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
	const models = [
		["acme", "large", 0.06],
		["acme", "small", 0.008],
		["borealis", "pro", 0.03],
	];
	const words = [
		"The checkout test fails now and then",
		"Rewrite the importer",
		"Why is the list slow?",
		"A page for invoices",
		"Upgrade the database",
		"Dark mode",
		"The parser and lone surrogates",
		"Release notes",
	];
	for (let session = 0; session < 90; session++) {
		const start = Date.UTC(2025, 3, 1, 8) + Math.floor(random() * 61) * 86_400_000;
		if ([0, 6].includes(new Date(start).getUTCDay()) && random() < 0.8) continue;
		const cwd = `/home/user/${["shop", "shop", "importer", "notes", "site"][Math.floor(random() * 5)]}`;
		const at = (minute) => ({
			id: minute.toString(16).padStart(8, "0"),
			parentId: null,
			timestamp: new Date(start + minute * 60_000).toISOString(),
		});
		const lines = [
			{ type: "session", version: 3, id: `session-${session}`, timestamp: new Date(start).toISOString(), cwd },
		];
		lines.push({
			type: "message",
			...at(1),
			message: { role: "user", content: words[session % words.length], timestamp: start },
		});
		for (let call = 2; call < 4 + random() * 60; call++) {
			const [provider, model, price] = models[Math.floor(random() ** 1.6 * 3)];
			const total = Number((price * (0.4 + random())).toFixed(6));
			const usage = {
				input: 900,
				output: 700,
				cacheRead: 41_000,
				cacheWrite: 1500,
				totalTokens: 44_100,
				cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total },
			};
			lines.push({
				type: "message",
				...at(call),
				message: {
					role: "assistant",
					content: [],
					provider,
					model,
					usage,
					stopReason: "stop",
					timestamp: start + call * 60_000,
				},
			});
		}
		writeFileSync(join(dir, `${session}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
	}
}
