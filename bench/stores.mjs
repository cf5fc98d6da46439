// Measures stores: appends with and without a follower, alternately, and the push and pull of a large file with a
// directory, or with the store in --store. With PostgreSQL it also measures the time from an append until it is stored,
// for several hosts with 20 entries a second each, ten hosts (or --in-a-process) in a process:
//   npm run bench:stores -- --megabytes 128
//   npm run bench:stores -- --store s3://bucket?endpoint=http://127.0.0.1:9000
//   npm run bench:stores -- --store postgres://me:password@127.0.0.1/sessions --hosts 100 --seconds 20 --in-a-process 1
import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { optionsOf } from "../scripts/options.mjs";

const require = createRequire(import.meta.url);
const { DirectoryStore, PostgresStore, SessionSync, openStore } = require("../packages/sync/lib/index.js");
const { SessionManager } = require("../index.js");

const options = {
	megabytes: { type: "string" },
	hosts: { type: "string" },
	seconds: { type: "string" },
	"in-a-process": { type: "string" },
	store: { type: "string" },
};
const { values } = optionsOf(
	import.meta.url,
	{ options },
	{ counts: ["megabytes", "hosts", "seconds", "in-a-process"] },
);
const { megabytes = 128, hosts, seconds = 20, "in-a-process": inAProcess = 10, store: address } = values;
if (hosts && !/^postgres(ql)?:/.test(address ?? "")) {
	console.error("--hosts needs a PostgreSQL: --store postgres://…");
	process.exit(2);
}
const scratch = mkdtempSync(join(tmpdir(), "store-bench-"));

const quantile = (numbers, share) =>
	numbers.sort((a, b) => a - b)[Math.min(numbers.length - 1, Math.floor(numbers.length * share))];
const milliseconds = (number) => `${number.toFixed(number < 10 ? 2 : 0)} ms`;
const folder = (name) => {
	const path = join(scratch, name);
	mkdirSync(path, { recursive: true });
	return path;
};

function syncOf(store, name) {
	const dir = folder(name);
	return {
		dir,
		sync: new SessionSync({ store, address: "bench", notes: folder(`${name}-notes`), dir, cwd: dir, project: "bench" }),
	};
}

/** Stores the appends of a manager, as the process beside pi does. `flushed` waits until everything is stored. */
function follow(store, name, manager) {
	const one = { session: manager.getSessionId(), file: manager.getSessionFile(), cwd: manager.getCwd() };
	const sync = new SessionSync({
		store,
		address: "bench",
		notes: folder(`${name}-notes`),
		dir: folder(name),
		cwd: one.cwd,
		project: "bench",
	});
	let pushedSize = -1;
	const push = async () => {
		const { size } = statSync(one.file, { throwIfNoEntry: false }) ?? { size: 0 };
		if (size !== pushedSize) await sync.push({ local: [one] });
		pushedSize = size;
	};
	const stopping = new AbortController();
	const repeat = async () => {
		for (; !stopping.signal.aborted; await pause(250)) await push().catch(console.error);
	};
	void repeat();
	const flushed = async () => {
		while ((await sync.lagOf(one)) > 0) await pause(10);
	};
	return { flushed, stop: () => stopping.abort() };
}

async function appends() {
	const rounds = { alone: [], followed: [] };
	const store = new DirectoryStore({ path: folder("store"), host: "bench", locks: folder("locks") });
	for (let round = 0; round < 40; round++) {
		const way = round % 2 === 0 ? "alone" : "followed";
		const dir = folder(`append-${round}`);
		const manager = SessionManager.create(dir, dir);
		manager.appendMessage({ role: "user", content: "begin", timestamp: 0 });
		const following = way === "followed" ? follow(store, `append-${round}`, manager) : undefined;
		await pause(20);
		const begin = performance.now();
		// The event loop runs, as in an agent, so that the follower can use this thread.
		for (let n = 0; n < 2000; n++) {
			manager.appendCustomEntry("n", { n, text: "some words of an answer" });
			if (n % 20 === 19) await new Promise(setImmediate);
		}
		rounds[way].push(performance.now() - begin);
		following?.stop();
	}
	const [alone, followed] = [quantile(rounds.alone, 0.5), quantile(rounds.followed, 0.5)];
	console.log(
		`append: alone ${milliseconds(alone)}, followed ${milliseconds(followed)} for 2,000 (median of 20 each): ` +
			`${(followed / alone).toFixed(3)} times`,
	);
}

async function large(address = folder("large")) {
	const session = randomUUID();
	const stores = await Promise.all(["a", "b"].map((host) => openStore(address, { host, locks: folder("locks") })));
	const [a, b] = stores.map((store) => syncOf(store, store.host));
	const file = join(a.dir, `x_${session}.jsonl`);
	writeFileSync(
		file,
		`{"type":"session","version":3,"id":"${session}","timestamp":"2025-06-01T09:00:00.000Z","cwd":"/x"}\n`,
	);
	const line = (n, bytes) => {
		const message = { role: "user", content: "x".repeat(bytes) };
		const parentId = n === 0 ? null : `entry-${n - 1}`;
		return `${JSON.stringify({ type: "message", id: `entry-${n}`, parentId, message })}\n`;
	};
	for (let n = 0; statSync(file).size < megabytes * 2 ** 20; n += 100)
		appendFileSync(file, Array.from({ length: 100 }, (_, at) => line(n + at, 14_000)).join(""));
	const timed = async (what, work) => {
		const begin = performance.now();
		const [result] = await work();
		if (!result || result.error) throw result?.error ?? new Error(`${what} did nothing`);
		console.log(`${what}: ${milliseconds(performance.now() - begin)}`);
	};
	await timed(`push of ${megabytes} MB, cold`, () => a.sync.push());
	await timed(`pull of ${megabytes} MB, cold`, () => b.sync.pull({ session }));
	appendFileSync(file, line(1_000_000, 100));
	await timed("push after one entry", () => a.sync.push());
	await timed("pull after one entry", () => b.sync.pull({ session }));
	await stores[0].delete(session);
	for (const store of stores) await store.close();
}

async function stored() {
	const children = [];
	for (let left = hosts; left > 0; left -= inAProcess)
		children.push(
			fork(process.argv[1], [
				"--hosts",
				String(Math.min(left, inAProcess)),
				"--seconds",
				String(seconds),
				"--store",
				address,
			]),
		);
	const said = async () => {
		const answers = await Promise.all(
			children.map((child) =>
				Promise.race([
					once(child, "message"),
					once(child, "close").then(() => {
						throw new Error("a process ended");
					}),
				]),
			),
		);
		return answers.flatMap(([message]) => message);
	};
	await said();
	for (const child of children) child.send("begin");
	const times = await said();
	console.log(
		`stored at ${hosts} hosts: p50 ${milliseconds(quantile(times, 0.5))}, p99 ` +
			`${milliseconds(quantile(times, 0.99))} of ${times.length} entries`,
	);
	for (const child of children) child.disconnect();
}

/** Some of the hosts, in one process. */
async function storedHere() {
	const times = [];
	const machines = await Promise.all(
		Array.from({ length: hosts }, async (_, at) => {
			const name = `host-${process.pid}-${at}`;
			const store = new PostgresStore({ url: address, host: name, schema: "store_bench" });
			const begun = new Map();
			const append = store.append.bind(store);
			store.append = async (session, what) => {
				const done = await append(session, what);
				for (const bytes of what.lines) times.push(performance.now() - begun.get(JSON.parse(bytes).id));
				return done;
			};
			const dir = folder(name);
			const manager = SessionManager.create(dir, dir);
			const say = (n) =>
				begun.set(manager.appendMessage({ role: "user", content: `words ${n}`, timestamp: n }), performance.now());
			// An entry may be stored before its id is returned.
			say(0);
			const following = follow(store, name, manager);
			await following.flushed();
			return { store, following, say };
		}),
	);
	times.length = 0;
	process.send([]);
	await once(process, "message");
	await Promise.all(
		machines.map(async ({ following, say }) => {
			const begin = performance.now() + Math.random() * 50;
			for (let n = 1; n <= seconds * 20; n++) {
				await pause(Math.max(0, begin + n * 50 - performance.now()));
				say(n);
			}
			await following.flushed();
			following.stop();
		}),
	);
	await Promise.all(machines.map(({ store }) => store.close()));
	process.send(times);
	await once(process, "disconnect");
}

try {
	if (process.send) await storedHere();
	else if (hosts) await stored();
	else {
		if (!address) await appends();
		await large(address);
	}
} finally {
	rmSync(scratch, { recursive: true, force: true });
}
