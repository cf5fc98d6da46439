// Shows pi's own CLI on our session manager with a scripted model on this machine: a short conversation that goes back
// once, so that the session has a second branch.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { clip } from "../../lib/shared/text.mjs";
import { startModelServer } from "./model-server.mjs";
import { bold, cyan, dim, green, heading, yellow } from "./paint.mjs";
import { moduleUnderTest, piCommand, writeAgentDir } from "./pi.mjs";
import { startRpc } from "./rpc-client.mjs";

const OPEN_ITEMS = "# To do\n\n- [x] build the addon\n- [ ] water the plants\n- [ ] call Zoë back\n";
const call = (id, name, args) => ({ id, name, arguments: args });
const SCRIPT = [
	{
		thinking: "The list should be in todo.md.",
		text: "Let me look at the list.",
		toolCalls: [call("call_1", "read", { path: "todo.md" })],
	},
	{ text: "Two things are left: water the plants \u{1f331} and call Zoë back." },
	{ toolCalls: [call("call_2", "bash", { command: "grep -c '\\[ \\]' todo.md | tee count.txt" })] },
	{ text: "There are 2 open items; the number is in count.txt." },
	{
		text: "Instead of counting, I tick one off.",
		toolCalls: [call("call_3", "edit", { path: "todo.md", edits: [{ oldText: "[ ] water", newText: "[x] water" }] })],
	},
	{ text: "The plants are watered. One call to make." },
];

/** Prints the agent's events as a conversation. */
function printer() {
	let open = "";
	const write = (kind, mark, text) => {
		if (open !== kind) process.stdout.write(`${open ? "\n" : ""}${mark} `);
		open = kind;
		process.stdout.write(text);
	};
	const line = (text) => {
		process.stdout.write(`${open ? "\n" : ""}${text}\n`);
		open = "";
	};
	const deltas = {
		thinking_delta: (event) => write("thinking", dim("  thinks   "), dim(event.delta)),
		text_delta: (event) => write("text", cyan("  pi       "), event.delta),
	};
	const events = {
		message_update: (record) => deltas[record.assistantMessageEvent.type]?.(record.assistantMessageEvent),
		tool_execution_start: (record) =>
			line(`${yellow("  calls    ")} ${record.toolName} ${dim(clip(JSON.stringify(record.args), 90))}`),
		tool_execution_end: (record) => {
			const text = (record.result?.content ?? []).map((part) => part.text ?? `[${part.type}]`).join(" ");
			line(`${yellow("  gets     ")} ${record.isError ? "an error: " : ""}${dim(clip(text, 90))}`);
		},
		agent_settled: () => line(""),
	};
	return { line, record: (record) => events[record.type]?.(record) };
}

async function ask(rpc, out, message) {
	out.line(`${green("  you      ")} ${bold(message)}`);
	const response = await rpc.prompt(message);
	if (!response.success) throw new Error(`pi refused the prompt: ${response.error}`);
}

async function command(rpc, body) {
	const response = await rpc.send(body);
	if (!response.success) throw new Error(`pi refused ${body.type}: ${response.error}`);
	return response.data;
}

async function converse(rpc, out) {
	await command(rpc, { type: "set_session_name", name: "A demo that costs nothing" });
	await ask(rpc, out, "What is left to do here?");
	await ask(rpc, out, "Count the open items and write the number to count.txt");
	out.line(dim("  (back to before that question, the place labelled)"));
	await command(rpc, { type: "prompt", message: "/rewind 1 before counting" });
	await ask(rpc, out, "Tick the first one off instead");
	return (await command(rpc, { type: "get_state" })).sessionFile;
}

/** Runs the conversation in a folder below `home`. Returns the path of the session file. */
export async function watchAgent(home) {
	const cwd = join(home, "project");
	const hookLog = join(home, "hook.log");
	mkdirSync(cwd, { recursive: true });
	writeFileSync(join(cwd, "todo.md"), OPEN_ITEMS);
	const server = await startModelServer(SCRIPT, { pauseMs: 25 });
	try {
		writeAgentDir(home, server.baseUrl);
		const extension = fileURLToPath(new URL("rewind-extension.mjs", import.meta.url));
		const args = ["--mode", "rpc", "--extension", extension];
		heading("pi 0.87.1 on our SessionManager, a scripted model on 127.0.0.1");
		const out = printer();
		const rpc = startRpc(piCommand(args, { home, sessionModule: moduleUnderTest, hookLog }), {
			cwd,
			onRecord: out.record,
		});
		let file;
		try {
			file = await converse(rpc, out);
		} finally {
			const { code, stderr } = await rpc.close();
			if (stderr) console.error(stderr.trimEnd());
			if (code !== 0) console.error(`pi ended with exit code ${code}`);
		}
		const redirected = readFileSync(hookLog, "utf8").trim().split("\n").length;
		console.log(dim(`  ${redirected} imports of pi's own session manager led to ours`));
		return file;
	} finally {
		await server.close();
	}
}
