// What pi's start waits for where a store has many sessions: how many are pulled by a first start of two seconds, whether one line of
// another host comes with the next one, and how long a full pull takes. Each request to a bucket, or each call to a directory, is delayed.
//   npm run bench:store-starts                                    a directory, 5 ms a call
//   npm run bench:store-starts -- --store s3://bucket?endpoint=http://127.0.0.1:9000       a bucket, 40 ms a request
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { optionsOf } from "../scripts/options.mjs";

const require = createRequire(import.meta.url);
const { openStore } = require("../packages/sync/lib/index.js");
const options = { store: { type: "string" }, sessions: { type: "string" }, delay: { type: "string" } };
const { values } = optionsOf(import.meta.url, { options }, { counts: ["sessions", "delay"] });
const { sessions = 300, store: given } = values;
const delay = values.delay ?? (given ? 40 : 5);
const scratch = mkdtempSync(join(tmpdir(), "store-starts-"));
const folder = (name) => {
	const path = join(scratch, name);
	mkdirSync(path, { recursive: true });
	return path;
};
const address = given ?? folder("store");

/** A session of some 50 KB, as one conversation is. */
function put(store, session, at, count = 20) {
	const header = Buffer.from(JSON.stringify({ type: "session", version: 3, id: session, timestamp: new Date(at).toISOString(), cwd: "/x" }));
	const lines = Array.from({ length: count }, (_, n) => {
		const [id, parentId] = [`${session}-${n}`, n === 0 ? null : `${session}-${n - 1}`];
		return Buffer.from(JSON.stringify({ type: "message", id, parentId, timestamp: new Date(at).toISOString(), message: { role: "user", content: "words ".repeat(400), timestamp: at } }));
	});
	return store.append(session, { header, lines, project: "bench" });
}

/** The address of a bucket each of whose answers comes later. */
async function delayed(text) {
	const url = new URL(text);
	const target = new URL(url.searchParams.get("endpoint"));
	const server = createServer((incoming, outgoing) => {
		const { method, url: path, headers } = incoming;
		setTimeout(() => {
			// Whoever asked may have been killed meanwhile, or be killed before all of the request is here.
			if (outgoing.closed) return;
			const passed = request({ host: target.hostname, port: target.port, method, path, headers }, (answer) => {
				outgoing.writeHead(answer.statusCode, answer.headers);
				answer.pipe(outgoing);
			});
			passed.on("error", () => outgoing.destroy());
			outgoing.on("close", () => passed.destroy());
			incoming.pipe(passed);
		}, delay);
	}).listen(0, "127.0.0.1");
	await once(server, "listening");
	server.unref();
	url.searchParams.set("endpoint", `http://127.0.0.1:${server.address().port}`);
	return url.href;
}

/** A module that delays each call to the store's directory, in the thread that makes it. */
function delaysCalls() {
	const path = join(scratch, "delay.cjs");
	writeFileSync(path, `
		const { promises: fs } = require("node:fs");
		const store = ${JSON.stringify(address)};
		const later = () => new Promise((resolve) => setTimeout(resolve, ${delay}));
		const late = (object, name) => {
			const call = object[name];
			object[name] = async function (...args) { await later(); return call.apply(this, args); };
		};
		for (const name of ["stat", "lstat", "realpath", "readdir", "mkdir", "link", "rename", "rm", "rmdir", "writeFile", "open"]) {
			const call = fs[name];
			fs[name] = async (...args) => {
				if (!String(args[0]).startsWith(store)) return call.apply(fs, args);
				await later();
				const result = await call.apply(fs, args);
				if (name === "open") for (const one of ["stat", "read", "write", "close", "datasync", "sync", "truncate"]) late(result, one);
				return result;
			};
		}`);
	return `--require ${path}`;
}

async function main() {
	const store = await openStore(address, { host: "desktop", locks: folder("locks") });
	const ids = Array.from({ length: sessions }, (_, at) => `s-${at}`);
	for (const [at, id] of ids.entries()) await put(store, id, Date.now() - (sessions - at) * 60_000);
	const env = given ? { PI_SESSION_NATIVE_STORE: await delayed(given) } : { PI_SESSION_NATIVE_STORE: address, NODE_OPTIONS: delaysCalls() };
	const [agent, work] = [folder("agent"), folder("shop")];
	const start = async (timeout) => {
		const more = { UV_THREADPOOL_SIZE: "16", PI_CODING_AGENT_DIR: agent, HOME: scratch, PI_SESSION_NATIVE_HOST: "laptop", PI_SESSION_NATIVE_PROJECT: "bench" };
		const child = spawn(process.execPath, [fileURLToPath(new URL("../packages/sync/lib/follower/follower.mjs", import.meta.url))], { cwd: work, env: { ...process.env, ...more, ...env }, stdio: ["pipe", "pipe", "inherit", "ipc"], serialization: "advanced" });
		const begun = performance.now();
		child.send({ address: env.PI_SESSION_NATIVE_STORE, notesDir: join(agent, "session-stores"), pendingId: "bench", timeout, start: {} });
		setTimeout(() => child.kill("SIGKILL"), timeout).unref();
		createInterface({ input: child.stdout }).on("line", (line) => line.includes('"done":"start"') && child.kill("SIGKILL"));
		await once(child, "close");
		return performance.now() - begun;
	};
	const here = () => readdirSync(agent, { recursive: true }).filter((name) => name.endsWith(".jsonl"));
	await start(2000);
	console.log(`first start: ${here().length} of ${sessions} sessions, the newest: ${here().some((name) => name.endsWith(`_s-${sessions - 1}.jsonl`))}`);
	await put(store, "new", Date.now());
	await start(2000);
	console.log(`next start: a new session of another host: ${here().some((name) => name.endsWith("_new.jsonl"))}; ${here().length} sessions`);
	rmSync(agent, { recursive: true });
	console.log(`full pull of ${sessions + 1} sessions: ${((await start(600_000)) / 1000).toFixed(1)} s, ${here().length} sessions`);
	console.log(`a start with nothing new: ${((await start(600_000)) / 1000).toFixed(2)} s`);
	await store.close();
}

try {
	await main();
} finally {
	rmSync(scratch, { recursive: true, force: true });
}
