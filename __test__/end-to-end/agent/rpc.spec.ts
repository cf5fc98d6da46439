// pi in RPC mode on our session manager: one long process that reads the session while it grows.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../../scripts/demo/pi.mjs";
import { sameOnBoth, WAYS } from "../../support/agent/runs.js";

const extension = join(root, "scripts/demo/rewind-extension.mjs");

/** Whether other processes may open the sessions; older releases only run where they may. */
const LOCKS: [string, Record<string, string>][] = [
	["", {}],
	[", alone with its sessions", { PI_SESSION_NATIVE_LOCK: "exclusive" }],
];

describe.each(WAYS)("pi --mode rpc on our session manager, $name", (way) => {
	it("reads a session, starts another and switches back", () =>
		sameOnBoth(
			{
				steps: [
					{ text: "Let me see.", toolCalls: [{ id: "call_1", name: "bash", arguments: { command: "printf 'é\\n'" } }] },
					{ text: "It printed é." },
					{ text: "A fresh start." },
					{ text: "Back again." },
				],
				act: (run) =>
					run.rpc([], async (rpc) => {
						const get = async (type: string, more = {}) => (await rpc.send({ type, ...more })).data;
						expect((await get("get_entries")).entries.length).toBeGreaterThan(0);
						await rpc.prompt("Print an e with an accent");
						const { entries, leafId } = await get("get_entries");
						expect(entries.at(-1).id).toBe(leafId);
						expect(entries.map((entry: any) => entry.message?.role)).toContain("toolResult");
						expect((await get("get_entries", { since: entries[1].id })).entries).toEqual(entries.slice(2));
						expect((await rpc.send({ type: "get_entries", since: "nothing" })).success).toBe(false);
						expect((await get("get_tree")).tree).toHaveLength(1);
						expect((await get("get_messages")).messages.map((message: any) => message.role)).toContain("toolResult");
						await get("set_session_name", { name: "Accents" });
						await get("set_thinking_level", { level: "high" });
						await get("bash", { command: "printf 'by hand'" });
						await get("bash", { command: "printf 'unseen'", excludeFromContext: true });
						const { sessionFile } = await get("get_state");
						await get("get_session_stats");
						await get("get_last_assistant_text");
						await get("export_html", { outputPath: join(run.work, "rpc.html") });

						await get("new_session", { parentSession: sessionFile });
						expect((await get("get_messages")).messages).toEqual([]);
						await rpc.prompt("Who are you?");
						await get("get_entries");
						await get("new_session");
						expect(run.sessionFiles()).toHaveLength(2);
						await get("switch_session", { sessionPath: sessionFile });
						await rpc.prompt("And here?");
						await get("get_tree");
						await get("get_messages");
						expect((await get("get_state")).sessionName).toBe("Accents");
					}),
			},
			way,
		));

	it.each(way === WAYS.at(-1) ? LOCKS : LOCKS.slice(0, 1))(
		"forks, clones, goes back, compacts and navigates%s",
		(_, env) =>
			sameOnBoth(
				{
					env,
					steps: [
						{ text: "One. ".repeat(40) },
						{ text: "Two. ".repeat(40) },
						{ text: "Two, in the fork." },
						{ text: "In the clone." },
						{ text: "A summary of it." },
						{ text: "A summary of the turn." },
						{ text: "After the compaction." },
						{ text: "From the beginning." },
						{ text: "What the branch was about." },
					],
					act: (run) =>
						run.rpc(["--extension", extension], async (rpc) => {
							const get = async (type: string, more = {}) => {
								const response = await rpc.send({ type, ...more });
								expect(response, type).toMatchObject({ success: true });
								return response.data;
							};
							await rpc.prompt("first");
							await rpc.prompt("second");
							const { messages } = await get("get_fork_messages");
							expect(messages).toHaveLength(2);
							expect((await get("fork", { entryId: messages[1].entryId })).text).toBe("second");
							await rpc.prompt("second, in a fork");
							await get("get_tree");
							await get("clone");
							await rpc.prompt("cloned");
							await get("compact", { customInstructions: "briefly" });
							await rpc.prompt("after it");
							await get("get_messages");
							await get("prompt", { message: "/rewind 1 the start" });
							await rpc.prompt("again from the start");
							const { tree, leafId } = await get("get_tree");
							expect(JSON.stringify(tree)).toContain('"label":"the start"');
							expect(leafId).toBeTruthy();
							await get("prompt", { message: "/rewind 0 --summarize" });
							await get("get_entries");
							await get("get_messages");
							const files = run.sessionFiles();
							await get("switch_session", { sessionPath: files[0] });
							await get("get_messages");
							await get("switch_session", { sessionPath: files[2] });
							expect(files).toHaveLength(3);
							expect(run.lines(files[1])[0].parentSession).toBe(files[0]);
							expect(run.lines(files[2])[0].parentSession).toBe(files[1]);
							const kinds = run.lines(files[2]).map((line) => line.type);
							for (const kind of ["compaction", "label", "branch_summary"]) expect(kinds).toContain(kind);
						}),
				},
				way,
			),
	);

	it("says the same of what cannot be done", () =>
		sameOnBoth(
			{
				steps: [{ text: "Hello." }],
				act: (run) =>
					run.rpc([], async (rpc) => {
						const refused = async (command: Record<string, unknown>) => {
							expect((await rpc.send(command)).success, JSON.stringify(command)).toBe(false);
						};
						await refused({ type: "clone", entryId: "x" });
						await refused({ type: "fork", entryId: "nothing" });
						await refused({ type: "switch_session", sessionPath: join(run.work, "notes.md") });
						await refused({ type: "export_html" });
						await rpc.prompt("hello");
						await refused({ type: "set_session_name", name: "  " });
						await refused({ type: "compact" });
						expect(run.sessionFiles()).toHaveLength(1);
						expect(readFileSync(join(run.work, "notes.md"), "utf8")).toContain("call Zoë back");
					}),
			},
			way,
		));
});
