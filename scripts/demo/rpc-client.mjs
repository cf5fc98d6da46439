// A client of pi's RPC mode: one JSON object a line in both directions. Commands are answered by id, with events
// between.
import { spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";

/**
 * Starts the command and returns a client with `send`, `prompt`, `records` and `close`. Calls `onRecord` with every
 * record.
 */
export function startRpc({ command, args, env }, { cwd, onRecord = () => {} }) {
	const child = spawn(command, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
	return new RpcClient(child, onRecord);
}

class RpcClient {
	records = [];
	#child;
	#onRecord;
	#waiters = new Set();
	#stderr = "";
	#nextId = 1;
	#failure;
	#closed;

	constructor(child, onRecord) {
		[this.#child, this.#onRecord] = [child, onRecord];
		// We split only at LF, because a record may contain U+2028 and U+2029, where readline would split.
		const decoder = new StringDecoder("utf8");
		let pending = "";
		child.stdout.on("data", (chunk) => {
			const lines = (pending + decoder.write(chunk)).split("\n");
			pending = lines.pop();
			try {
				for (const line of lines) if (line !== "") this.#take(JSON.parse(line));
			} catch (error) {
				this.#fail(error);
			}
		});
		child.stderr.setEncoding("utf8").on("data", (text) => (this.#stderr += text));
		child.stdin.on("error", () => {});
		child.on("error", (error) => this.#fail(error));
		this.#closed = new Promise((resolve) => {
			child.on("close", (code, signal) => {
				this.#fail(new Error(`pi ended (${signal ?? code}) before it answered\n${this.#stderr}`));
				resolve({ code, stderr: this.#stderr });
			});
		});
	}

	get pid() {
		return this.#child.pid;
	}

	send(body) {
		const id = `command-${this.#nextId++}`;
		const response = this.#waitFor((record) => record.type === "response" && record.id === id);
		this.#child.stdin.write(`${JSON.stringify({ id, ...body })}\n`);
		return response;
	}

	/** Sends a prompt and waits until the agent has settled. */
	async prompt(message, more = {}) {
		const settled = this.#waitFor((record) => record.type === "agent_settled");
		settled.catch(() => {});
		const response = await this.send({ type: "prompt", message, ...more });
		if (response.success) await settled;
		return response;
	}

	close() {
		this.#child.stdin.end();
		return this.#closed;
	}

	#take(record) {
		this.records.push(record);
		this.#onRecord(record);
		for (const waiter of this.#waiters) {
			if (!waiter.matches(record)) continue;
			this.#waiters.delete(waiter);
			waiter.resolve(record);
		}
	}

	#fail(error) {
		this.#failure ??= error;
		for (const waiter of this.#waiters) waiter.reject(this.#failure);
		this.#waiters.clear();
	}

	#waitFor(matches) {
		return new Promise((resolve, reject) => {
			if (this.#failure) return reject(this.#failure);
			this.#waiters.add({ matches, resolve, reject });
		});
	}
}
