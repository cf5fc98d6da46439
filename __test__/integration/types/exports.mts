// Compares all exports of the reference except its class: each type by name, each function, the constant. types.spec.ts
// checks that no name is missing here, because it reads the names from the reference's declarations.
import type * as Pi from "pi/core/session-manager.js";
import type * as Ours from "pi-session-native";
import { type Alike, holds, type IsAny, type Mutual, type SameCall } from "./compare.mjs";

holds<
	true,
	{
		SessionHeader: Mutual<Ours.SessionHeader, Pi.SessionHeader>;
		NewSessionOptions: Mutual<Ours.NewSessionOptions, Pi.NewSessionOptions>;
		SessionEntryBase: Mutual<Ours.SessionEntryBase, Pi.SessionEntryBase>;
		SessionMessageEntry: Mutual<Ours.SessionMessageEntry, Pi.SessionMessageEntry>;
		ThinkingLevelChangeEntry: Mutual<Ours.ThinkingLevelChangeEntry, Pi.ThinkingLevelChangeEntry>;
		ModelChangeEntry: Mutual<Ours.ModelChangeEntry, Pi.ModelChangeEntry>;
		UsageEntry: Mutual<Ours.UsageEntry, Pi.UsageEntry>;
		CompactionEntry: Mutual<Ours.CompactionEntry, Pi.CompactionEntry>;
		BranchSummaryEntry: Mutual<Ours.BranchSummaryEntry, Pi.BranchSummaryEntry>;
		CustomEntry: Mutual<Ours.CustomEntry, Pi.CustomEntry>;
		LabelEntry: Mutual<Ours.LabelEntry, Pi.LabelEntry>;
		SessionInfoEntry: Mutual<Ours.SessionInfoEntry, Pi.SessionInfoEntry>;
		CustomMessageEntry: Mutual<Ours.CustomMessageEntry, Pi.CustomMessageEntry>;
		ContextEditableContent: Mutual<Ours.ContextEditableContent, Pi.ContextEditableContent>;
		ContextEditEntry: Mutual<Ours.ContextEditEntry, Pi.ContextEditEntry>;
		SessionEntry: Mutual<Ours.SessionEntry, Pi.SessionEntry>;
		FileEntry: Mutual<Ours.FileEntry, Pi.FileEntry>;
		SessionTreeNode: Mutual<Ours.SessionTreeNode, Pi.SessionTreeNode>;
		ProjectedSessionEntry: Mutual<Ours.ProjectedSessionEntry, Pi.ProjectedSessionEntry>;
		SessionProjection: Mutual<Ours.SessionProjection, Pi.SessionProjection>;
		SessionContext: Mutual<Ours.SessionContext, Pi.SessionContext>;
		SessionInfo: Mutual<Ours.SessionInfo, Pi.SessionInfo>;
		ReadonlySessionManager: Mutual<Ours.ReadonlySessionManager, Pi.ReadonlySessionManager>;
		SessionListProgress: Mutual<Ours.SessionListProgress, Pi.SessionListProgress>;
		CURRENT_SESSION_VERSION: Mutual<typeof Ours.CURRENT_SESSION_VERSION, typeof Pi.CURRENT_SESSION_VERSION>;
	}
>();

// The imports of the reference are found. Otherwise `any` inside its types would pass every comparison.
holds<
	false,
	{
		agent: IsAny<Pi.SessionMessageEntry["message"]>;
		bash: IsAny<Extract<Pi.SessionMessageEntry["message"], { role: "bashExecution" }>["command"]>;
		ai: IsAny<Pi.UsageEntry["usage"]>;
		tools: IsAny<NonNullable<Pi.CompactionEntry["systemMessage"]>["toolsAdded"]>;
	}
>();

// Type parameters are passed on, too.
type Details = { readFiles: string[] };
holds<
	true,
	{
		CompactionEntry: Mutual<Ours.CompactionEntry<Details>, Pi.CompactionEntry<Details>>;
		BranchSummaryEntry: Mutual<Ours.BranchSummaryEntry<Details>, Pi.BranchSummaryEntry<Details>>;
		CustomEntry: Mutual<Ours.CustomEntry<Details>, Pi.CustomEntry<Details>>;
		CustomMessageEntry: Mutual<Ours.CustomMessageEntry<Details>, Pi.CustomMessageEntry<Details>>;
	}
>();

type Functions =
	| "assertValidSessionId"
	| "migrateSessionEntries"
	| "parseSessionEntries"
	| "getLatestCompactionEntry"
	| "sessionEntryToContextMessages"
	| "buildContextEntries"
	| "projectContextEntry"
	| "buildSessionProjection"
	| "buildSessionContext"
	| "getDefaultSessionDir"
	| "loadEntriesFromFile"
	| "findMostRecentSession";
holds<Alike, { [K in Functions]: SameCall<(typeof Ours)[K], (typeof Pi)[K]> }>();
