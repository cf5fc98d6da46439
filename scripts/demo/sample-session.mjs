// Writes a session by our SessionManager only, for a machine on which pi itself cannot run.
import { join } from "node:path";

const usage = {
	input: 10,
	output: 5,
	cacheRead: 0,
	cacheWrite: 0,
	totalTokens: 15,
	cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

export function writeSampleSession({ SessionManager }, home) {
	const manager = SessionManager.create(home, join(home, "sessions"));
	const say = (role, text, more = {}) =>
		manager.appendMessage({ role, content: [{ type: "text", text }], timestamp: Date.now(), ...more });
	const answer = (text) =>
		say("assistant", text, { api: "none", provider: "nobody", model: "scripted", usage, stopReason: "stop" });

	manager.appendModelChange("nobody", "scripted");
	manager.appendThinkingLevelChange("low");
	manager.appendSessionInfo("A session without an agent");
	say("user", "What is left to do here?");
	const first = answer("Two things: water the plants \u{1f331} and call Zoë back.");
	say("user", "Count them");
	answer("Two.");
	manager.branchWithSummary(first, "They were counted: two.");
	manager.appendLabelChange(first, "before counting");
	say("user", "Tick the first one off instead");
	answer("The plants are watered.");
	return manager.getSessionFile();
}
