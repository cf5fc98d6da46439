// The declarations alone: without a pi package and without Node's types, and every declaration file is checked.
import { type AgentMessage, CURRENT_SESSION_VERSION, type SessionHeader, SessionManager } from "pi-session-native";

const manager = SessionManager.create("/project", undefined, { id: "chosen" });
const id: string = manager.appendMessage({ role: "user", content: "hello", timestamp: Date.now() });
const entry = manager.getEntry(id);

// The kinds are distinguished by their type, the messages by their role.
if (entry?.type === "message" && entry.message.role === "assistant") {
	const stop: "pending" | "stop" | "length" | "toolUse" | "error" | "aborted" | "deferred" = entry.message.stopReason;
	const text = entry.message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
	console.log(stop, text);
}

// Headers of older files have their own types.
const old: SessionHeader = {
	type: "session",
	id: "",
	timestamp: "",
	cwd: "",
	branchedFrom: "/old.jsonl",
	provider: "x",
};
const version: 3 = CURRENT_SESSION_VERSION;

// An application can add roles by declaration merging.
declare module "pi-session-native" {
	interface CustomAgentMessages {
		notice: { role: "notice"; text: string; timestamp: number };
	}
}
const notice: AgentMessage = { role: "notice", text: "merged", timestamp: 0 };

export { notice, old, version };
