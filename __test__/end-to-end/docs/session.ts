// The session on the command's page. Ids and times are fixed, so that the output equals the page.
import { entry, type Json } from "../../support/scratch.js";

const at = (minute: number): string => `2025-06-01T12:${String(minute).padStart(2, "0")}:00.000Z`;
const time = (minute: number): number => Date.parse(at(minute));
const cost = { input: 0.003, output: 0.011, cacheRead: 0.002, cacheWrite: 0, total: 0.016 };
const usage = { input: 1020, output: 740, cacheRead: 6100, cacheWrite: 0, totalTokens: 7860, cost };

let minute = 0;
const one = (type: string, id: string, parentId: string | null, fields: Json): Json => ({
	...entry(type, id, parentId),
	timestamp: at(++minute),
	...fields,
});
const user = (id: string, parentId: string | null, content: string): Json =>
	one("message", id, parentId, { message: { role: "user", content, timestamp: time(minute + 1) } });
const answer = (id: string, parentId: string, text: string, ...calls: Json[]): Json =>
	one("message", id, parentId, {
		message: {
			role: "assistant",
			content: [{ type: "text", text }, ...calls],
			...{
				api: "messages",
				provider: "acme",
				model: "large",
				usage,
				stopReason: calls.length > 0 ? "toolUse" : "stop",
				timestamp: time(minute + 1),
			},
		},
	});
const result = (id: string, parentId: string, toolCallId: string, text: string): Json =>
	one("message", id, parentId, {
		message: {
			role: "toolResult",
			toolCallId,
			toolName: "bash",
			content: [{ type: "text", text }],
			isError: false,
			timestamp: time(minute + 1),
		},
	});

export const session = {
	id: "0193a2b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b",
	header: { timestamp: at(0) },
	entries: [
		one("model_change", "c0ffee00", null, { provider: "acme", modelId: "large" }),
		user("1f2e3d4c", "c0ffee00", "Why does the checkout test fail now and then?"),
		answer("2a3b4c5d", "1f2e3d4c", "I run it until it fails.", {
			type: "toolCall",
			id: "call_1",
			name: "bash",
			arguments: { command: "npm test -- checkout" },
		}),
		result("3b4c5d6e", "2a3b4c5d", "call_1", "14 runs good\nexpected 'paid', got 'pending'"),
		answer("4c5d6e7f", "3b4c5d6e", "It reads the order too early. There are two ways."),
		user("5d6e7f80", "4c5d6e7f", "Wait longer in the test"),
		answer("6e7f8091", "5d6e7f80", "It fails every thirtieth run now."),
		one("branch_summary", "7f8091a2", "4c5d6e7f", { fromId: "6e7f8091", summary: "A longer wait does not mend it." }),
		one("label", "8091a2b3", "7f8091a2", { targetId: "4c5d6e7f", label: "two ways" }),
		user("91a2b3c4", "8091a2b3", "Write the order before the answer is sent"),
		answer("a2b3c4d5", "91a2b3c4", "Done. 300 runs without the panic: unwrap is gone, too."),
		one("session_info", "b3c4d5e6", "a2b3c4d5", { name: "The checkout test" }),
	],
};
