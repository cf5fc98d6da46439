// The agent takes the manager: by its own type through `pi-session-native/pi`, and as what extensions read from
// either entry. The agent here is 0.87.1, whose class has a few methods less than the reference's.
import {
	createAgentSession,
	type CreateAgentSessionOptions,
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
const asOurs: SessionManager = PiSessionManager.inMemory();
holds<false, [IsAny<SessionManager>, IsAny<typeof SessionManager>, IsAny<typeof session>]>();

// The rest of the module comes along, and its types meet the agent's.
const context = buildSessionContext(opened.getEntries());
holds<true, [Mutual<SessionEntry, ReturnType<PiSessionManager["getEntries"]>[number]>]>();

// An extension reads any manager.
const forExtensions: ExtensionContext["sessionManager"] = PlainSessionManager.inMemory();

// @ts-expect-error: without the entry for pi the class stays another one to pi's types
const nominal: CreateAgentSessionOptions = { sessionManager: PlainSessionManager.inMemory() };
// @ts-expect-error: and pi's own constructor is private
new SessionManager();

export { asOurs, asPi, context, forExtensions, nominal };
