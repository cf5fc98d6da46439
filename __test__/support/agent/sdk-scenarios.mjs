// The scenarios of the SDK test. Each gets a module that exports SessionManager, and notes its observations. They must
// be the same on the reference.
import assert from "node:assert/strict";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ai, openAgent, pi, quietSettings, scriptedRuntime } from "./sdk-agent.mjs";

const { fauxAssistantMessage: says, fauxText: text, fauxThinking: thinking, fauxToolCall: call } = ai;
const linesOf = (file) =>
	readFileSync(file, "utf8")
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line));
const entryOf = (manager, role, nth = 0) =>
	manager.getEntries().filter((entry) => entry.type === "message" && entry.message.role === role)[nth];

/** The stored entries contain the same message objects with which the agent works. */
function assertIdentity(session) {
	const stored = new Set(session.sessionManager.getEntries().map((entry) => entry.message));
	const own = session.messages.filter((message) => ["user", "assistant", "toolResult"].includes(message.role));
	assert.ok(own.length > 0);
	for (const message of own) assert.ok(stored.has(message), `a copy of a ${message.role} message`);
}

/** Prompts, tool calls, settings, and a bash command of the user; then the file is opened again and continued. */
export async function conversation({ SessionManager, home, cwd, book }) {
	const steps = [
		says([thinking("They greet me."), text("Hello there.")]),
		says(
			[call("weather", { place: "Málaga" }, { id: "call_1" }), call("read", { path: "notes.md" }, { id: "call_2" })],
			{ stopReason: "toolUse" },
		),
		says("It rains, and the notes are short."),
		says("Still here, after reopening."),
	];
	const runtime = await scriptedRuntime(home, book, steps);
	const manager = SessionManager.create(cwd, undefined, { id: "sdk.conversation-1" });
	const session = await openAgent({ manager, home, cwd, book, runtime });
	const file = manager.getSessionFile();
	await session.prompt("Hello \ud83d\ude00, who is there?");
	session.setThinkingLevel("high");
	session.setSessionName("Rain\nand notes");
	await session.prompt("What is the weather, and what do the notes say?");
	await session.executeBash("printf 'from the user'");
	await session.sendCustomMessage({ customType: "memo", content: "Keep in mind", display: true, details: { n: 1 } });
	assertIdentity(session);
	book.note("answer", session.getLastAssistantText());
	book.note("stats", session.getSessionStats());
	book.note("context usage", session.getContextUsage() ?? null);
	book.manager("live", manager);
	session.dispose();

	const lines = linesOf(file);
	assert.equal(lines[0].id, "sdk.conversation-1");
	assert.deepEqual(lines.slice(1), JSON.parse(JSON.stringify(manager.getEntries())));
	assert.ok(lines.some((line) => line.message?.role === "toolResult" && line.message.details?.celsius === 11.5));
	assert.ok(lines.some((line) => line.message?.role === "bashExecution"));

	const reopened = SessionManager.open(file);
	const again = await openAgent({ manager: reopened, home, cwd, book, runtime });
	book.note("restored messages", again.messages);
	await again.prompt("Are you still there?");
	assertIdentity(again);
	book.note("answer", again.getLastAssistantText());
	await again.exportToHtml(join(cwd, "conversation.html"));
	again.exportToJsonl(join(cwd, "branch.txt"));
	book.manager("reopened", reopened);
	book.note("listed", await SessionManager.list(cwd));
	again.dispose();
}

/** A compaction, prompts after it, a second compaction over the first. */
export async function compaction({ SessionManager, home, cwd, book }) {
	const long = "Some longer answer that fills the context. ".repeat(12);
	// The cut is inside a turn, so pi asks the model twice: for the history, and for the beginning of that turn.
	const summaries = (what) => [says(`Summary of ${what}.`), says(`The turn before ${what} ended.`)];
	const steps = [
		says(long),
		says(long),
		...summaries("the start"),
		says("After it."),
		says(long),
		...summaries("all"),
		says("End."),
	];
	const runtime = await scriptedRuntime(home, book, steps);
	const manager = SessionManager.create(cwd);
	const session = await openAgent({ manager, home, cwd, book, runtime });
	await session.prompt("First question");
	await session.prompt("Second question");
	book.note("compacted", await session.compact());
	book.note("messages", session.messages);
	await session.prompt("Third question");
	await session.prompt("Fourth question");
	book.note("compacted", await session.compact("Mind the numbers"));
	await session.prompt("Last question");
	book.manager("compacted", manager);
	const compactions = manager.getEntries().filter((entry) => entry.type === "compaction");
	assert.equal(compactions.length, 2);
	assert.ok(compactions[0].systemMessage, "the compaction carries the system prompt");
	assert.ok(manager.getEntry(compactions[0].firstKeptEntryId));
	session.dispose();
	const reopened = SessionManager.open(manager.getSessionFile());
	assert.deepEqual(reopened.buildSessionContext(), JSON.parse(JSON.stringify(manager.buildSessionContext())));
	book.manager("reopened", reopened);
}

/** Goes back in the tree with and without a summary, sets labels, and forks into a new file. */
export async function tree({ SessionManager, home, cwd, book }) {
	const steps = [
		says("One."),
		says("Two."),
		says("Two, once more."),
		says("What was left behind."),
		says("Three."),
		says("In the fork."),
		says("First again."),
	];
	const runtime = await scriptedRuntime(home, book, steps);
	const manager = SessionManager.create(cwd);
	const session = await openAgent({ manager, home, cwd, book, runtime });
	await session.prompt("first");
	await session.prompt("second");
	const back = await session.navigateTree(entryOf(manager, "user", 1).id);
	assert.equal(back.editorText, "second");
	await session.prompt("second, other words");
	const first = entryOf(manager, "assistant", 0).id;
	const gone = await session.navigateTree(first, { summarize: true, label: "before two" });
	assert.equal(gone.summaryEntry.type, "branch_summary");
	assert.equal(manager.getLabel(gone.summaryEntry.id), "before two");
	book.note("navigated", gone);
	await session.prompt("third");
	await session.navigateTree(first, { label: "start" });
	book.manager("branched", manager);
	book.note("for forking", session.getUserMessagesForForking());
	session.dispose();

	const source = manager.getSessionFile();
	const fork = SessionManager.open(source);
	const path = fork.createBranchedSession(entryOf(fork, "assistant", 1).id);
	assert.notEqual(path, source);
	assert.equal(fork.getHeader().parentSession, source);
	const forked = await openAgent({ manager: fork, home, cwd, book, runtime });
	await forked.prompt("and in the fork?");
	assertIdentity(forked);
	book.manager("forked", fork);
	forked.dispose();

	const other = SessionManager.forkFrom(source, join(cwd, "elsewhere"), undefined, { id: "copied" });
	await (async () => {
		const copied = await openAgent({ manager: other, home, cwd, book, runtime });
		await copied.navigateTree(entryOf(other, "user", 0).id);
		assert.equal(other.getLeafEntry().type, "message");
		await copied.prompt("first, from the root");
		book.manager("copied", other);
		copied.dispose();
	})();
	book.note("all", await SessionManager.listAll());
}

/** pi's session runtime on an in-memory manager. It forks and starts a new session on the same manager. */
export async function inMemory({ SessionManager, home, cwd, book }) {
	const steps = [says("One."), says("Two."), says("Other two."), says("Fresh.")];
	const runtime = await scriptedRuntime(home, book, steps);
	const manager = SessionManager.inMemory(cwd);
	const create = async ({ sessionManager, sessionStartEvent }) => {
		const services = await pi.createAgentSessionServices({
			cwd,
			agentDir: join(home, "agent"),
			modelRuntime: runtime.modelRuntime,
			settingsManager: pi.SettingsManager.inMemory(quietSettings),
			resourceLoaderOptions: { noContextFiles: true },
		});
		const options = { services, sessionManager, sessionStartEvent, model: runtime.model, thinkingLevel: "off" };
		return { ...(await pi.createAgentSessionFromServices(options)), services, diagnostics: services.diagnostics };
	};
	const host = await pi.createAgentSessionRuntime(create, {
		cwd,
		agentDir: join(home, "agent"),
		sessionManager: manager,
	});
	await host.session.prompt("first");
	await host.session.prompt("second");
	book.manager("before", manager);
	const id = manager.getSessionId();
	book.note("fork", await host.fork(entryOf(manager, "user", 1).id));
	assert.equal(host.session.sessionManager, manager);
	assert.notEqual(manager.getSessionId(), id);
	await host.session.prompt("second, other words");
	assertIdentity(host.session);
	book.manager("forked", manager);
	book.note("fork at the root", await host.fork(entryOf(manager, "user", 0).id));
	assert.equal(host.session.sessionManager, manager);
	await host.session.prompt("anew");
	assert.equal(entryOf(manager, "user", 1), undefined);
	book.manager("anew", manager);
	assert.equal(manager.getSessionFile(), undefined);
	await host.dispose();
}

/**
 * At the end of a turn an extension proposes entries. pi previews them on a manager that is made from ours, then
 * appends them.
 */
export async function boundaries({ SessionManager, home, cwd, book }) {
	const steps = [
		says([call("weather", { place: "Oslo" }, { id: "call_1" })], { stopReason: "toolUse" }),
		says("It rains there."),
		says("Shortened."),
		says("Compacted."),
	];
	const runtime = await scriptedRuntime(home, book, steps);
	const manager = SessionManager.create(cwd);
	let turns = 0;
	const extension = (api) => {
		api.on("turn_end", (event) => {
			book.note("preview", event.context);
			const target = event.toolResultEntryIds[0];
			turns += 1;
			if (turns === 1) {
				const replacement = { content: "cut short" };
				return { entries: [...event.entries, { type: "context_edit", targetId: target, replacement }] };
			}
			if (turns === 2) {
				const data = { seen: [1, null, { deep: true }] };
				const content = [{ type: "text", text: "Mind the edit" }];
				const message = { type: "custom_message", customType: "memo", content, display: false };
				return { entries: [...event.entries, { type: "custom", customType: "state", data }, message], continue: true };
			}
			if (turns === 3) {
				const draft = { type: "compaction", summary: "All of it.", firstKeptEntryId: null, details: { by: "test" } };
				return { entries: [...event.entries, draft] };
			}
			return undefined;
		});
		api.on("session_start", (event) => book.note("start", event));
		api.registerCommand("mark", {
			handler: async (_args, context) => {
				api.appendEntry("marker", {
					at: context.sessionManager.getLeafId(),
					count: context.sessionManager.getEntries().length,
				});
				api.setLabel(context.sessionManager.getLeafId(), "here");
			},
		});
	};
	const session = await openAgent({ manager, home, cwd, book, runtime, extensions: [extension] });
	await session.prompt("What is the weather in Oslo?");
	await session.prompt("/mark");
	await session.prompt("And now?");
	assertIdentity(session);
	book.manager("drafts", manager);
	const kinds = new Set(manager.getEntries().map((entry) => entry.type));
	for (const kind of ["context_edit", "custom", "custom_message", "compaction", "label"])
		assert.ok(kinds.has(kind), kind);
	const edited = manager.buildSessionProjection().entries;
	assert.equal(edited[0].sourceEntry.type, "compaction");
	session.dispose();
}

/**
 * A model that fails once: pi repeats the request, and removes the failed answer from the context by a context edit.
 */
export async function recovery({ SessionManager, home, cwd, book }) {
	const failure = { stopReason: "error", errorMessage: "overloaded_error: try again" };
	const steps = [
		says("Fine."),
		says("Half an ans", failure),
		says("The whole answer."),
		says("", { stopReason: "error", errorMessage: "invalid request" }),
	];
	const runtime = await scriptedRuntime(home, book, steps);
	const manager = SessionManager.create(cwd);
	const session = await openAgent({ manager, home, cwd, book, runtime });
	await session.prompt("first");
	await session.prompt("second");
	await session.prompt("third, which is refused");
	book.manager("recovered", manager);
	const edits = manager.getEntries().filter((entry) => entry.type === "context_edit");
	assert.equal(edits.length, 1);
	assert.equal(edits[0].replacement, null);
	assert.equal(manager.getEntry(edits[0].targetId).message.errorMessage, failure.errorMessage);
	session.dispose();
	copyFileSync(manager.getSessionFile(), join(cwd, "copy.txt"));
	book.manager("reopened", SessionManager.open(join(cwd, "copy.txt")));
}
