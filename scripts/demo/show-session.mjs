// Shows a session file by our module, without an agent: the tree, the context for a model, and the list.

import { treeLines } from "../../lib/cli/tree-lines.mjs";
import { clip } from "../../lib/shared/text.mjs";
import { bold, dim, heading } from "./paint.mjs";

function showTree(manager) {
	const entries = manager.getEntries();
	heading(`The session as a tree: ${entries.length} entries, ${manager.getBranch().length} on the active branch`);
	for (const line of treeLines(manager, Infinity)) console.log(line);
}

function showContext(manager) {
	const { messages, thinkingLevel, model } = manager.buildSessionContext();
	heading("The context a model gets");
	const counts = new Map();
	for (const { role } of messages) counts.set(role, (counts.get(role) ?? 0) + 1);
	const roles = [...counts].map(([role, count]) => `${count} ${role}`).join(", ");
	console.log(`${messages.length} messages${roles ? `: ${roles}` : ""}`);
	console.log(`model ${model ? `${model.provider}/${model.modelId}` : "none"}, thinking ${thinkingLevel}`);
	console.log(`${JSON.stringify(messages).length} characters as JSON`);
}

async function showList(SessionManager, dir) {
	const sessions = await SessionManager.listAll(dir);
	heading(`SessionManager.listAll: ${sessions.length} session${sessions.length === 1 ? "" : "s"}`);
	for (const session of sessions) {
		const title = clip(session.name ?? session.firstMessage, 60);
		console.log(`${bold(title)}  ${session.messageCount} messages, modified ${session.modified.toISOString()}`);
		console.log(dim(`  ${session.id}  ${session.cwd || "(no folder)"}`));
		if (session.parentSessionPath) console.log(dim(`  from ${session.parentSessionPath}`));
	}
}

/** Opens `file` with the module's SessionManager and prints the three views. */
export async function showSession({ SessionManager }, file) {
	const manager = SessionManager.open(file);
	const header = manager.getHeader();
	heading("Reopened with our SessionManager");
	console.log(`${bold(manager.getSessionName() ?? "(no name)")}  ${dim(header.id)}`);
	console.log(`version ${header.version ?? 1}, begun ${header.timestamp}, in ${header.cwd || "(no folder)"}`);
	showTree(manager);
	showContext(manager);
	await showList(SessionManager, manager.getSessionDir());
}
