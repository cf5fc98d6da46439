// Calls every method and static with hostile values, by a seeded generator, in a process of its own: whatever is
// passed, each call gives a result or an error, the process lives, its memory is bounded, and no file is touched but
// the sessions' own. Prints a line of JSON: how many calls were made, and how they ended.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const modulePath = process.env.PSN_MODULE ?? resolve(dirname(fileURLToPath(import.meta.url)), "../../index.js");
const api = createRequire(import.meta.url)(modulePath);
const { SessionManager } = api;
const [seed, rounds] = process.argv.slice(2).map(Number);

let state = seed >>> 0;
const random = (below) => {
	state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
	return Math.floor((state / 2 ** 32) * below);
};
const one = (list) => list[random(list.length)];

const outer = mkdtempSync(join(tmpdir(), "hostile-"));
const dir = join(outer, "sessions");
process.env.PI_CODING_AGENT_DIR = join(outer, "agent");
process.env.HOME = outer;
process.chdir(outer);
process.on("exit", () => {
	process.chdir("/");
	rmSync(outer, { recursive: true, force: true });
});

const cyclic = { name: "cyclic" };
cyclic.self = cyclic;
let deep = [];
for (let n = 0; n < 100_000; n++) deep = [deep];
const wide = Object.fromEntries(Array.from({ length: 1_000_000 }, (_, n) => [`k${n}`, n]));
const revoked = Proxy.revocable({}, {});
revoked.revoke();

let managers = [];
const meddle = () => {
	const manager = one(managers);
	try {
		one([
			() => manager.appendCustomEntry("inner", 1),
			() => manager.resetLeaf(),
			() => manager.newSession(),
			() => manager.getTree(),
			() => manager.branch(manager.getLeafId()),
			() => manager.close(),
			() => manager.reload(),
			() => manager.createBranchedSession(manager.getLeafId()),
		])();
	} catch (error) {
		if (!(error instanceof Error)) throw error;
	}
};
const VALUES = [
	() => undefined,
	() => null,
	() => 0,
	() => -0,
	() => Number.NaN,
	() => Number.POSITIVE_INFINITY,
	() => 2 ** 53,
	() => true,
	() => 10n ** 40n,
	() => Symbol("s"),
	() => "",
	() => "a",
	() => "x".repeat(random(100_000)),
	() => "\ud83d",
	() => "\0",
	() => "../../up",
	() => "file:///%",
	() => join(dir, one(["one.jsonl", "two.jsonl", "gone.jsonl", "."])),
	() => dir,
	() => one(managers)?.getLeafId(),
	() => () => meddle(),
	() => class {},
	() => new Date(Number.NaN),
	() => /x/g,
	() => new Map([["a", 1]]),
	() => new Uint8Array(9),
	() => new Error("an error"),
	() => [],
	() => new Array(1_000_000),
	() => [undefined, null, Symbol("s")],
	() => ({}),
	() => Object.create(null),
	() => Object.freeze({ role: "user", content: "frozen", timestamp: 1 }),
	() => cyclic,
	() => deep,
	() => wide,
	() => revoked.proxy,
	() => new Proxy({}, { get: () => meddle(), ownKeys: () => (meddle(), []), getPrototypeOf: () => (meddle(), null) }),
	() => new Proxy([], { get: (target, key) => (key === "length" ? 5 : meddle() ?? target[key]) }),
	() => new Proxy(() => 1, { apply: () => meddle() }),
	() => ({ toJSON: () => (meddle(), { from: "toJSON" }) }),
	() => ({ toString: () => (meddle(), "text"), valueOf: () => (meddle(), 7), [Symbol.toPrimitive]: () => (meddle(), "p") }),
	() => ({ toJSON: () => { throw new RangeError("refused"); } }),
	() => ({ get role() { throw new RangeError("refused"); }, get id() { throw new RangeError("refused"); } }),
	() => ({ get role() { meddle(); return "user"; }, get content() { meddle(); return "x"; }, timestamp: 1 }),
	() => ({ role: "user", content: one([null, undefined, "text", [], cyclic, deep, wide]), timestamp: 1 }),
	() => ({ role: one(["assistant", "toolResult", "system", "custom", "x", 5]), content: [{ type: "text", text: "x" }] }),
	() => ({ id: one(["ok", "../x", 5, ""]), parentSession: one(["p", 5, cyclic]), lock: one(["none", "x", 5]), durability: one(["os", "fsync", {}]) }),
	() => ({ content: one(["text", [], null, cyclic]) }),
	() => [{ type: "session", id: one(["s", 5]), version: one([1, 2, 3, "x"]) }, { type: "message", id: "a", parentId: "a", message: cyclic }],
	() => { const own = { type: "custom", id: "own", parentId: null }; own.owner = one(managers); return own; },
	() => new AbortController().signal,
	() => AbortSignal.abort(),
	() => one(managers),
	() => SessionManager,
	() => globalThis,
	() => process.env,
];
const value = () => one(VALUES)();
const fresh = () => {
	managers = [
		SessionManager.inMemory("/somewhere"),
		SessionManager.create("/somewhere", dir),
		SessionManager.open(join(dir, "one.jsonl"), dir),
	];
	for (const manager of managers) manager.appendMessage({ role: "user", content: "begin", timestamp: 1 });
};

// What a listener throws is an uncaught exception, on purpose (contract/hosts.spec.ts); hostile ones would end this.
const untried = ["constructor", "onAppend"];
const methods = Object.getOwnPropertyNames(SessionManager.prototype).filter((name) => !untried.includes(name));
const statics = Object.getOwnPropertyNames(SessionManager).filter(
	(name) => typeof SessionManager[name] === "function" && name !== "prototype",
);
const functions = Object.keys(api).filter((name) => typeof api[name] === "function" && name !== "SessionManager");
const count = { calls: 0, results: 0, errors: 0, thrownOthers: 0, peakMB: 0 };
const seen = new Set();

async function settle(call) {
	count.calls++;
	try {
		await call();
		count.results++;
	} catch (error) {
		// What the caller's own code throws comes through as it is; all else is an Error.
		if (error instanceof Error) count.errors++;
		else count.thrownOthers++;
	}
}

for (let round = 0; round < rounds; round++) {
	if (round % 200 === 0) {
		fresh();
		count.peakMB = Math.max(count.peakMB, Math.round(process.memoryUsage.rss() / 2 ** 20));
	}
	const args = Array.from({ length: random(6) }, value);
	const [kind, names] = one([["method", methods], ["method", methods], ["method", methods], ["static", statics], ["function", functions]]);
	const name = one(names);
	seen.add(`${kind} ${name}`);
	if (process.env.PSN_TRACE) console.error(`${round} ${kind} ${name} ${args.length}`);
	if (kind === "method") {
		// Now and then on a receiver that is none, or detached.
		const receiver = random(12) === 0 ? value() : one(managers);
		await settle(() => Reflect.apply(SessionManager.prototype[name], receiver, args));
	} else if (kind === "static") {
		const receiver = random(4) === 0 ? undefined : SessionManager;
		await settle(async () => {
			const made = await Reflect.apply(SessionManager[name], receiver, args);
			if (made instanceof SessionManager) managers[random(3)] = made;
		});
	} else await settle(() => api[name](...args));
}

// Whatever was done, the sessions are whole.
let files = 0;
// A session directory may have been asked for under such a name, too.
const all = readdirSync(dir, { withFileTypes: true }).filter((file) => file.isFile() && file.name.endsWith(".jsonl"));
for (const { name } of all) {
	const text = readFileSync(join(dir, name), "utf8");
	if (text === "") continue;
	files++;
	for (const line of text.split("\n").slice(0, -1)) JSON.parse(line);
	const report = SessionManager.verify(join(dir, name));
	if (report.damaged.length > 0 || report.duplicateIds.length > 0) throw new Error(JSON.stringify(report));
}
const missed = [...methods.map((name) => `method ${name}`), ...statics.map((name) => `static ${name}`)].filter(
	(name) => !seen.has(name),
);
console.log(JSON.stringify({ ...count, files, missed, outside: readdirSync(outer).filter((name) => !["agent", "sessions"].includes(name)) }));
process.exit(0);
