// The agent accepts the manager: by its own type through `pi-session-native/pi`, and as the type that extensions read,
// from both entries of this package. The agent is 0.87.1, whose class has a few methods less than the reference's.
import {
	type CreateAgentSessionOptions,
	createAgentSession,
	type ExtensionContext,
	SessionManager as PiSessionManager,
} from "@earendil-works/pi-coding-agent";
import type { SessionEntry } from "pi-session-native";
import { SessionManager as PlainSessionManager } from "pi-session-native";
import { buildSessionContext, SessionManager } from "pi-session-native/pi";
import { holds, type IsAny, type Mutual } from "./compare.mjs";

const { session } = await createAgentSession({ sessionManager: SessionManager.inMemory() });

const opened: SessionManager = SessionManager.open("/session.jsonl");
const asPi: PiSessionManager = opened;
holds<false, [IsAny<SessionManager>, IsAny<typeof SessionManager>, IsAny<typeof session>]>();

// This package's own members exist on the class and on the result of each way to a manager.
const made = [
	SessionManager.create("/project", "/sessions", { durability: "fsync" }),
	SessionManager.open("/session.jsonl", "/sessions"),
	SessionManager.open("/session.jsonl", { readonly: true }),
	SessionManager.continueRecent("/project", undefined, { lock: "exclusive" }),
	SessionManager.inMemory(),
	SessionManager.forkFrom("/session.jsonl", "/elsewhere"),
] as const satisfies readonly SessionManager[];
for (const manager of made) {
	const stop = manager.onAppend((entry) => entry.id);
	stop();
	const newest = manager.getBranch(undefined, { limit: 50 });
	holds<false, [IsAny<typeof manager>, IsAny<typeof newest>]>();
	manager.reload();
	manager.close();
	// @ts-expect-error: what neither class has
	manager.thisDoesNotExist(1);
}
const hits = await SessionManager.search("question", { sessionDir: "/sessions" });
const report = await SessionManager.usage({ by: "model" });
holds<false, [IsAny<typeof hits>, IsAny<typeof report>]>();
const classOfPi: typeof PiSessionManager = SessionManager;
const isOne = (value: object): boolean => value instanceof SessionManager && value.getEntryCount() > 0;
// @ts-expect-error: a manager of pi's own has none of it
const asOurs: SessionManager = PiSessionManager.inMemory();

// The rest of the module is exported, too, and its types match the agent's.
const context = buildSessionContext(opened.getEntries());
holds<true, [Mutual<SessionEntry, ReturnType<PiSessionManager["getEntries"]>[number]>]>();

// An extension can read any manager.
const forExtensions: ExtensionContext["sessionManager"] = PlainSessionManager.inMemory();

// @ts-expect-error: without the entry for pi the class stays another one to pi's types
const nominal: CreateAgentSessionOptions = { sessionManager: PlainSessionManager.inMemory() };
// @ts-expect-error: and pi's own constructor is private
new SessionManager();

export { asOurs, asPi, classOfPi, context, forExtensions, hits, isOne, nominal, report };
