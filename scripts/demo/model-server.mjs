// A scripted model: an OpenAI-completions endpoint on 127.0.0.1 that answers each request with one step of a script, as
// a stream of small chunks, and records every request.
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

const readBody = async (request) => {
	const chunks = [];
	for await (const chunk of request) chunks.push(chunk);
	return Buffer.concat(chunks).toString("utf8");
};

/** The deltas of one step, in the order a real endpoint sends them: thinking, text, then tool calls in two parts. */
function* deltasOf(step) {
	const words = (text) => text.match(/\s*\S+\s*?(?=\s|$)|\s+$/g) ?? [];
	for (const word of words(step.thinking ?? "")) yield { reasoning_content: word };
	for (const word of words(step.text ?? "")) yield { content: word };
	for (const [index, call] of (step.toolCalls ?? []).entries()) {
		const text = JSON.stringify(call.arguments);
		const half = Math.ceil(text.length / 2);
		const named = { name: call.name, arguments: text.slice(0, half) };
		yield { tool_calls: [{ index, id: call.id, type: "function", function: named }] };
		yield { tool_calls: [{ index, function: { arguments: text.slice(half) } }] };
	}
}

function usageOf(step, index) {
	const usage = { prompt_tokens: 100 + 10 * index, completion_tokens: 20, ...step.usage };
	return { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens };
}

async function answer(response, step, index, model, pauseMs) {
	const base = { id: `scripted-${index}`, object: "chat.completion.chunk", created: 0, model };
	const write = (chunk) => response.write(`data: ${JSON.stringify({ ...base, ...chunk })}\n\n`);
	response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
	for (const delta of deltasOf(step)) {
		write({ choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: null }] });
		if (pauseMs > 0) await pause(pauseMs);
	}
	const reason = step.finishReason ?? (step.toolCalls?.length ? "tool_calls" : "stop");
	write({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
	write({ choices: [], usage: usageOf(step, index) });
	response.end("data: [DONE]\n\n");
}

/**
 * Starts the endpoint on a free port. A step is `{ thinking?, text?, toolCalls?, usage?, finishReason? }` or, for a
 * refusal, `{ status, error }`. A request after the end of the script is answered with an error that says so.
 */
export async function startModelServer(steps, { pauseMs = 0 } = {}) {
	const requests = [];
	const server = createServer(async (request, response) => {
		try {
			const body = JSON.parse(await readBody(request));
			const index = requests.push({ path: request.url, body }) - 1;
			const step = steps[index] ?? { status: 400, error: `the script has no step ${index}` };
			if (step.status === undefined) return await answer(response, step, index, body.model, pauseMs);
			response.writeHead(step.status, { "content-type": "application/json" });
			response.end(JSON.stringify({ error: { message: step.error, type: "scripted_error" } }));
		} catch (error) {
			response.writeHead(400, { "content-type": "text/plain" });
			response.end(String(error));
		}
	});
	await new Promise((resolve, reject) => {
		server.once("error", reject);
		server.listen(0, "127.0.0.1", resolve);
	});
	return {
		baseUrl: `http://127.0.0.1:${server.address().port}/v1`,
		requests,
		/** The remaining steps of the script. */
		remaining: () => Math.max(0, steps.length - requests.length),
		close: async () => {
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}
