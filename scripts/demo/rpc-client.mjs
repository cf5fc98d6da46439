// Talks to pi's RPC mode: one JSON object a line each way, commands answered by id, events in between.
import { spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";

/** Starts the command and gives `send`, `prompt`, `records` and `close`. Every record also goes to `onRecord`. */
export function startRpc({ command, args, env }, { cwd, onRecord = () => {} }) {
	const child = spawn(command, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
	const records = [];
	const waiters = new Set();
	let stderr = "";
	let nextId = 1;
	let failure;

	const fail = (error) => {
		failure ??= error;
		for (const waiter of waiters) waiter.reject(failure);
		waiters.clear();
	};
	const waitFor = (matches) =>
		new Promise((resolve, reject) => {
			if (failure) return reject(failure);
			waiters.add({ matches, resolve, reject });
		});
	const take = (line) => {
		const record = JSON.parse(line);
		records.push(record);
		onRecord(record);
		for (const waiter of waiters) {
			if (!waiter.matches(record)) continue;
			waiters.delete(waiter);
			waiter.resolve(record);
		}
	};

	// Split at LF alone: U+2028 and U+2029 are legal inside a record, and readline would cut there.
	const decoder = new StringDecoder("utf8");
	let pending = "";
	child.stdout.on("data", (chunk) => {
		const lines = (pending + decoder.write(chunk)).split("\n");
		pending = lines.pop();
		try {
			for (const line of lines) if (line !== "") take(line);
		} catch (error) {
			fail(error);
		}
	});
	child.stderr.setEncoding("utf8").on("data", (text) => {
		stderr += text;
	});
	child.stdin.on("error", () => {});
	child.on("error", fail);
	const closed = new Promise((resolve) => {
		child.on("close", (code, signal) => {
			fail(new Error(`pi ended (${signal ?? code}) before it answered\n${stderr}`));
			resolve({ code, stderr });
		});
	});

	const send = (body) => {
		const id = `command-${nextId++}`;
		const response = waitFor((record) => record.type === "response" && record.id === id);
		child.stdin.write(`${JSON.stringify({ id, ...body })}\n`);
		return response;
	};
	return {
		records,
		send,
		/** Sends a prompt and waits until the agent has settled. */
		prompt: async (message, more = {}) => {
			const settled = waitFor((record) => record.type === "agent_settled");
			settled.catch(() => {});
			const response = await send({ type: "prompt", message, ...more });
			if (response.success) await settled;
			return response;
		},
		close: () => {
			child.stdin.end();
			return closed;
		},
	};
}
