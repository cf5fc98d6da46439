// `/private`: the session at hand is never pushed to a store, and neither are its forks.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { safeLine } from "../../../../lib/shared/text.mjs";
import { answer } from "../../../../lib/extension/answer.mjs";

const require = createRequire(import.meta.url);

/**
 * @param {{ getAgentDir(): string }} pi
 * @param {import("@earendil-works/pi-coding-agent").ExtensionCommandContext} ctx
 */
export async function markPrivate(pi, ctx) {
	const file = ctx.sessionManager.getSessionFile();
	if (file === undefined) return answer(ctx, "This session is kept in no file, and is pushed to no store.");
	const { makePrivate, storeAddress } = require("../machine/settings.js");
	const session = ctx.sessionManager.getSessionId();
	const agentDir = pi.getAgentDir();
	const isNew = await makePrivate(agentDir, session);
	const address = storeAddress(agentDir);
	const { Notes } = require("../machine/notes.js");
	const { SETTINGS_FILE, notesIn } = require("../machine/setting-names.js");
	const mayBeStored = address !== undefined && new Notes(notesIn(agentDir), address, dirname(file)).has(session);
	await answer(
		ctx,
		[
			`This session is private${isNew ? " from now on" : " already"}: no store gets what is said in it and in its forks. ${safeLine(join(agentDir, SETTINGS_FILE))} lists it.`,
			...(mayBeStored ? [`What a store got before that stays there until pi-sessions remote delete ${safeLine(session)}.`] : []),
		].join("\n"),
	);
}
