// Calls all methods and statics with hostile values from a seeded generator, in its own process. For any arguments,
// each call returns or throws, the process lives, and its memory is limited. No file is changed except the sessions'
// own: all files are in a sandbox, and are checked at the end. Prints a line of JSON: the number of calls, how they
// ended, and their memory. Run with --expose-gc.
import {
	chmodSync,
	existsSync,
	lstatSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
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
const agent = join(outer, "agent");
// So deep that "../../up" is still in the sandbox.
const cwd = join(outer, "home", "one", "work");
process.env.PI_CODING_AGENT_DIR = agent;
process.env.HOME = join(outer, "home");
for (const place of [dir, agent, cwd]) mkdirSync(place, { recursive: true });
const around = readdirSync("/").sort().join();
process.chdir(cwd);
process.on("exit", () => {
	process.chdir("/");
	rmSync(outer, { recursive: true, force: true });
});

// Files of others, some with names that calls receive. No byte, mode or time of them may change.
const FOREIGN = {
	[join(outer, "note.txt")]: "a note",
	[join(outer, "home", ".profile")]: "a profile",
	[join(agent, "auth.json")]: '{"key":"secret"}',
	[join(agent, "settings.json")]: "{}",
	[join(dir, "notes.txt")]: '{"type":"note","version":3,"id":5}',
	[join(dir, "one.jsonl.txt")]: "not a session",
	[join(dir, "other.jsonl")]: "not a session",
	[join(cwd, "a")]: "not a session",
	[join(cwd, "text")]: '{"type":"message"}\n',
};
const plant = (path, text) => {
	writeFileSync(path, text);
	chmodSync(path, 0o644);
	utimesSync(path, 1_000, 1_000);
};
for (const [path, text] of Object.entries(FOREIGN)) plant(path, text);
const places = new Map();
const walk = (place, each) => {
	for (const entry of readdirSync(place, { withFileTypes: true })) {
		const path = join(place, entry.name);
		each(path, entry);
		if (entry.isDirectory()) walk(path, each);
	}
};
walk(outer, (path, entry) => entry.isDirectory() && places.set(path, statSync(path).mode));

const cyclic = { name: "cyclic" };
cyclic.self = cyclic;
let deep = [];
for (let n = 0; n < 100_000; n++) deep = [deep];
const wide = Object.fromEntries(Array.from({ length: 1_000_000 }, (_, n) => [`k${n}`, n]));
const revoked = Proxy.revocable({}, {});
revoked.revoke();

/** The number of bytes of sessions at which they are deleted. */
const CLEAR = 150_000_000;
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
	() => join(dir, one(["one.jsonl", "two.jsonl", "gone.jsonl", "other.jsonl", "notes.txt", "."])),
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
	() => new Proxy([], { get: (target, key) => (key === "length" ? 5 : (meddle() ?? target[key])) }),
	() => new Proxy(() => 1, { apply: () => meddle() }),
	() => ({ toJSON: () => (meddle(), { from: "toJSON" }) }),
	() => ({
		toString: () => (meddle(), "text"),
		valueOf: () => (meddle(), 7),
		[Symbol.toPrimitive]: () => (meddle(), "p"),
	}),
	() => ({
		toJSON: () => {
			throw new RangeError("refused");
		},
	}),
	() => ({
		get role() {
			throw new RangeError("refused");
		},
		get id() {
			throw new RangeError("refused");
		},
	}),
	() => ({
		get role() {
			meddle();
			return "user";
		},
		get content() {
			meddle();
			return "x";
		},
		timestamp: 1,
	}),
	() => ({ role: "user", content: one([null, undefined, "text", [], cyclic, deep, wide]), timestamp: 1 }),
	() => ({
		role: one(["assistant", "toolResult", "system", "custom", "x", 5]),
		content: [{ type: "text", text: "x" }],
	}),
	() => ({
		id: one(["ok", "../x", 5, ""]),
		parentSession: one(["p", 5, cyclic]),
		lock: one(["none", "x", 5]),
		durability: one(["os", "fsync", {}]),
	}),
	() => ({ content: one(["text", [], null, cyclic]) }),
	() => [
		{ type: "session", id: one(["s", 5]), version: one([1, 2, 3, "x"]) },
		{ type: "message", id: "a", parentId: "a", message: cyclic },
	],
	() => {
		const own = { type: "custom", id: "own", parentId: null };
		own.owner = one(managers);
		return own;
	},
	() => new AbortController().signal,
	() => AbortSignal.abort(),
	() => one(managers),
	() => SessionManager,
	() => globalThis,
	() => process.env,
];
const value = () => one(VALUES)();
const found = { files: 0, outside: [] };
/**
 * Checks each file in the sandbox: foreign files have not changed, and all others are complete sessions of their owner.
 */
const look = (clear) => {
	found.outside = [];
	const doomed = [];
	let files = 0;
	walk(outer, (path, entry) => {
		const stat = lstatSync(path);
		const strange = (why) => found.outside.push(`${path.slice(outer.length + 1)}: ${why}`);
		if (entry.isDirectory()) {
			const mode = places.get(path) ?? 0o40700;
			if (stat.mode !== mode) strange(`a directory of mode ${stat.mode.toString(8)}`);
			return;
		}
		if (!entry.isFile()) return strange("neither a file nor a directory");
		// All calls refuse a file that is not a session.
		if (path in FOREIGN) {
			const same = readFileSync(path, "utf8") === FOREIGN[path] && stat.mode === 0o100644 && stat.mtimeMs === 1_000_000;
			if (!same) strange("was touched");
			return;
		}
		const original = path.replace(/(\.v1)?\.bak(\.\d+)?$/, "");
		const mode = original in FOREIGN ? 0o100644 : 0o100600;
		if (stat.mode !== mode) strange(`a file of mode ${stat.mode.toString(8)}`);
		if (path.startsWith(join(agent, "session-catalog"))) return;
		// The original that a repair or a migration keeps beside the session.
		if (original !== path && existsSync(original)) return doomed.push(path);
		files++;
		const report = SessionManager.verify(path);
		if (stat.size > 0 && report.sessionId === null) strange("is no session");
		if (report.damaged.length > 0 || report.duplicateIds.length > 0) strange(JSON.stringify(report));
		// It also limits its own memory, so only `verify` checks larger files.
		if (stat.size < 1_000_000) for (const line of readFileSync(path, "utf8").split("\n").slice(0, -1)) JSON.parse(line);
		doomed.push(path);
	});
	if (clear) for (const path of doomed) rmSync(path);
	if (readdirSync("/").sort().join() !== around) found.outside.push("something beside the sandbox");
	return files;
};

const fresh = () => {
	let bytes = 0;
	walk(outer, (path, entry) => (bytes += entry.isFile() ? statSync(path).size : 0));
	// Checked files are deleted, because the disk is limited, too.
	if (bytes > CLEAR) {
		for (const manager of managers) manager.close();
		found.files += look(true);
		if (found.outside.length > 0) throw new Error(found.outside.join("\n"));
		for (const [path, text] of Object.entries(FOREIGN)) plant(path, text);
	}
	managers = [
		SessionManager.inMemory("/somewhere"),
		SessionManager.create("/somewhere", dir),
		SessionManager.open(join(dir, "one.jsonl"), dir),
	];
	for (const manager of managers) manager.appendMessage({ role: "user", content: "begin", timestamp: 1 });
};

// An exception of a listener is uncaught, on purpose (contract/applications.spec.ts). A hostile listener would end this
// process.
const untried = ["constructor", "onAppend"];
const methods = Object.getOwnPropertyNames(SessionManager.prototype).filter((name) => !untried.includes(name));
const statics = Object.getOwnPropertyNames(SessionManager).filter(
	(name) => typeof SessionManager[name] === "function" && name !== "prototype",
);
// `setAgentDir` would move the sessions of all later calls out of the sandbox.
const functions = Object.keys(api).filter(
	(name) => typeof api[name] === "function" && !["SessionManager", "setAgentDir"].includes(name),
);
const count = { calls: 0, results: 0, errors: 0, thrownOthers: 0, peakMB: 0 };
const MB = 2 ** 20;
const seen = new Set();
/** Errors without a code that come neither from the engine nor from the caller. */
const uncoded = new Set();
const OF_ENGINE = new RegExp(
	`^(${[
		"Converting circular structure|Do not know how to serialize|Cannot (convert|perform|create proxy|assign to|delete)|Maximum call stack|Invalid (array|string) length|refused$",
		// JavaScriptCore's texts for the same errors.
		"JSON\\.stringify cannot serialize|Proxy has already been revoked|Array\\.isArray cannot be called on a Proxy|No default value$",
	].join("|")})`,
);

async function settle(what, call) {
	count.calls++;
	try {
		await call();
		count.results++;
	} catch (error) {
		// An exception of the caller's code is passed on unchanged. All others are Errors.
		if (error instanceof Error) count.errors++;
		else count.thrownOthers++;
		if (error instanceof Error && error.code === undefined && !OF_ENGINE.test(error.message))
			uncoded.add(`${what}: ${error.message}`);
	}
}

globalThis.gc();
const base = process.memoryUsage().heapUsed;
for (let round = 0; round < rounds; round++) {
	if (round % 200 === 0) {
		fresh();
	}
	const args = Array.from({ length: random(6) }, value);
	const [kind, names] = one([
		["method", methods],
		["method", methods],
		["method", methods],
		["static", statics],
		["function", functions],
	]);
	const name = one(names);
	seen.add(`${kind} ${name}`);
	if (process.env.PSN_TRACE) console.error(`${round} ${kind} ${name} ${args.length}`);
	if (kind === "method") {
		// Sometimes the receiver is wrong, or the method is detached.
		const receiver = random(12) === 0 ? value() : one(managers);
		await settle(name, () => Reflect.apply(SessionManager.prototype[name], receiver, args));
	} else if (kind === "static") {
		const receiver = random(4) === 0 ? undefined : SessionManager;
		await settle(name, async () => {
			const made = await Reflect.apply(SessionManager[name], receiver, args);
			if (made instanceof SessionManager) managers[random(3)] = made;
		});
	} else await settle(name, () => api[name](...args));
}

// The system counts the peak, also between two checks. After all calls, the sessions are complete, and foreign files
// have not changed.
count.peakMB = Math.round(process.resourceUsage().maxRSS / 1024);
found.files += look(false);
for (const manager of managers) manager.close();
managers = [];
for (let turn = 0; turn < 6; turn++) {
	globalThis.gc();
	await new Promise((done) => setImmediate(done));
}
count.leftMB = Math.round((process.memoryUsage().heapUsed - base) / MB);
const all = [
	["method", methods],
	["static", statics],
	["function", functions],
];
const missed = all.flatMap(([kind, names]) => names.map((name) => `${kind} ${name}`)).filter((name) => !seen.has(name));
console.log(JSON.stringify({ ...count, ...found, missed, uncoded: [...uncoded] }));
process.exit(0);
