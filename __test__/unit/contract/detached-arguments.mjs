// Calls each function that accepts objects, with getters and proxies that detach the caller's own typed arrays while
// the arguments are read. It runs in its own process, because a use of detached memory may end the process. Freed
// memory is filled with `X` at once, so that a later read of it is noticed. Prints the name of each trial before it,
// and at the end a line of JSON: the number of trials, how they ended, and the errors.
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const modulePath = process.env.PSN_MODULE ?? resolve(dirname(fileURLToPath(import.meta.url)), "../../../index.js");
const api = createRequire(import.meta.url)(modulePath);
const { SessionManager } = api;
const scratch = mkdtempSync(join(tmpdir(), "detached-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
process.env.PI_CODING_AGENT_DIR = join(scratch, "agent");

/** The system gets freed memory of the larger size back; memory of the smaller size is used again. */
const SIZES = [2_000, 300_000];
const SPOILED = "XXXXXXXX";

// ---- The caller's memory ---------------------------------------------------------------------------------------

const transfer = (buffer) => {
	if (buffer.transfer) return buffer.transfer(0);
	structuredClone(buffer, { transfer: [buffer] });
	// The clone owns the memory.
	globalThis.gc();
};
/** The kinds of memory: each creates memory of a size with a view of it, and detaches it. */
const MEMORY = {
	transferred: { make: (size) => new ArrayBuffer(size), takeAway: transfer },
	resized: {
		make: (size) => new ArrayBuffer(size, { maxByteLength: size + 8 }),
		takeAway: (buffer) => buffer.resize(0),
	},
	"resized, followed": {
		make: (size) => new ArrayBuffer(size, { maxByteLength: size + 8 }),
		takeAway: (buffer) => buffer.resize(0),
		follows: true,
	},
	shared: { make: (size) => new SharedArrayBuffer(size), takeAway: (buffer) => new Uint8Array(buffer).fill(0x58) },
};

/** The parts of a trial's arguments. */
let memory;
let buffers = [];
const view = (Type, size) => {
	const buffer = memory.make(size * Type.BYTES_PER_ELEMENT);
	buffers.push(buffer);
	return memory.follows ? new Type(buffer) : new Type(buffer, 0, size);
};
const bytes = (text) => {
	const encoded = Buffer.from(text);
	const made = view(Uint8Array, encoded.length);
	made.set(encoded);
	return made;
};

let spoiled = [];
function takeAway() {
	const sizes = buffers.map(({ byteLength }) => byteLength);
	for (const buffer of buffers) if (buffer.byteLength > 0) memory.takeAway(buffer);
	for (const size of sizes) for (let n = 0; n < 4; n++) spoiled.push(new Uint8Array(size).fill(0x58));
}

// ---- What is called --------------------------------------------------------------------------------------------

const HEADER = '{"type":"session","version":3,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/here"}';
const entry = (id, size) =>
	`{"type":"custom","id":"${id}","parentId":null,"customType":"x","data":"${"z".repeat(size)}"}`;
const usage = () => ({ input: 1, output: 2, cost: { total: 0.5 }, more: bytes("more") });
const content = (size) => [{ type: "text", text: "z".repeat(size), more: bytes("more") }];
const message = (size) => ({ role: "user", content: content(size), timestamp: 1 });
const entries = (size) => [
	{ type: "session", version: 3, id: "s", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/here" },
	{ type: "message", id: "a", parentId: null, timestamp: "2025-01-01T00:00:00.000Z", message: message(size) },
	{ type: "custom", id: "b", parentId: "a", timestamp: "2025-01-01T00:00:00.000Z", data: bytes("more") },
];
const byId = (list) => new Map(list.map((one) => [one.id, one]));
const fileOptions = () => ({ durability: "os", lock: "none", ids: "long" });
const options = () => ({
	id: "given",
	parentSession: "/p",
	durability: "os",
	lock: "none",
	ids: "long",
	more: bytes("more"),
});

/** A new directory with a session file, and a manager that has it open. */
function world(size) {
	const dir = mkdtempSync(join(scratch, "world-"));
	const file = join(dir, "s.jsonl");
	writeFileSync(file, `${HEADER}\n${entry("a", size)}\n`);
	return { dir, file, manager: SessionManager.open(file) };
}

/** For each call, by name: its arguments. Their objects are created for each trial. */
const METHODS = {
	appendCompaction: (size) => ["summary", "a", 5, { text: "z".repeat(size), more: bytes("more") }, true, usage()],
	appendContextEdit: (size) => ["m", { content: content(size) }],
	appendCustomEntry: (size) => ["x", { text: "z".repeat(size), more: bytes("more") }],
	appendCustomMessageEntry: (size) => ["x", content(size), true, { more: bytes("more") }],
	appendMessage: (size) => [message(size)],
	appendUsage: () => ["kind", "provider", "model", usage(), "note"],
	branchWithSummary: (size) => ["a", "summary", { text: "z".repeat(size), more: bytes("more") }, true, usage()],
	getBranch: () => ["a", { limit: 1 }],
	getUsage: () => [{ by: ["day", "model"], largest: 2, utc: true }],
	newSession: () => [options()],
};
const merged = (size) => ({ session: "s", lines: bytes(`${entry("b", size)}\n${entry("c", 10)}\n`) });
const STATICS = {
	continueRecent: (_, { dir }) => ["/here", dir, fileOptions()],
	create: (_, { dir }) => ["/here", dir, options()],
	forkFrom: (_, { dir, file }) => [file, "/there", dir, options()],
	inMemory: (size) => ["/here", options(), entries(size)],
	list: (_, { dir }) => ["/here", dir, undefined, new AbortController().signal],
	listAll: (_, { dir }) => [dir, undefined, new AbortController().signal],
	merge: (size, { file }) => [file, merged(size)],
	"merge, after what is known": (size, { file }) => {
		const known = readFileSync(file);
		return [file, { ...merged(size), since: { bytes: known.length, tail: bytes(known.toString()) } }];
	},
	"merge, into a new file": (size, { dir }) => [join(dir, "new.jsonl"), { ...merged(size), header: bytes(HEADER) }],
	readTexts: (_, { dir }) => [[{ path: dir, more: bytes("more") }], new AbortController().signal],
	findByIdPrefix: (_, { dir }) => ["s", { sessionDir: dir }],
	move: (_, { file }) => [file, { from: "/", to: "/there" }],
	open: (_, { file }) => [file, { ...fileOptions(), readonly: false }],
	redact: (_, { file }) => [file, { text: "z", entries: ["a"], replacement: "y", dryRun: false }],
	"redact, lines": (size, { file }) => {
		const [, old = ""] = readFileSync(file, "utf8").split("\n");
		const hash = createHash("sha256").update(old).digest("hex");
		return [
			file,
			{
				lines: [
					{ hash, line: bytes(entry("a", size / 2)) },
					{ hash: "0".repeat(64), line: bytes(entry("x", size)), session: "other" },
				],
			},
		];
	},
	search: (_, { dir }) => ["z", { sessionDir: dir, limit: 2, signal: new AbortController().signal }],
	usage: (_, { dir }) => [{ sessionDir: dir, by: ["day", "model"], signal: new AbortController().signal }],
};
const FUNCTIONS = {
	buildContextEntries: (size, _, list = entries(size)) => [list, "b", byId(list)],
	buildSessionContext: (size, _, list = entries(size)) => [list, "b", byId(list)],
	buildSessionProjection: (size, _, list = entries(size)) => [list, "b", byId(list)],
	getConfiguredSessionDir: () => ["/here", { onWarning: () => {} }],
	getDefaultSessionDir: (_, { dir }) => ["/here", dir, { create: false }],
	getLatestCompactionEntry: (size) => [entries(size)],
	migrateSessionEntries: (size) => [[{ type: "session", id: "s" }, ...entries(size).slice(1)]],
	redactLines: (size, { file }) => [
		[bytes(entry("a", size)), bytes(entry("b", size))],
		{ text: "z", entries: ["a"], replacement: "y", dryRun: false },
		file,
	],
	"redactLines, lines": (size) => [
		[bytes(entry("a", size))],
		{ lines: [{ hash: "0".repeat(64), line: bytes(entry("a", size / 2)), session: "other" }] },
	],
	projectContextEntry: (size) => [
		entries(size)[1],
		{ type: "context_edit", targetId: "a", replacement: { content: content(size) } },
	],
	sessionEntryToContextMessages: (size) => [entries(size)[1]],
};
/** The calls that read the numbers of typed arrays themselves. */
const READ = [
	...Object.keys(STATICS).filter((name) => name.startsWith("merge") || name === "redact, lines"),
	"redactLines",
	"redactLines, lines",
];
/** Their arguments are text, numbers, a listener or nothing. */
const WITHOUT_OBJECTS = `
	appendLabelChange appendModelChange appendSessionInfo appendThinkingLevelChange branch buildContextEntries
	buildSessionContext buildSessionProjection close createBranchedSession flush getChildren getCwd getDiagnostics
	getEntries getEntry getEntryCount getHeader getLabel getLeafEntry getLeafId getOutline getPath getSessionDir
	getSessionFile getSessionId getSessionName getTree isPersisted onAppend reload resetLeaf setSessionFile
	usesDefaultSessionDir filesOf findById forget isLocked repair verify assertValidSessionId findMostRecentSession
	entryKinds loadEntriesFromFile parseSessionEntries readSessionHeader setAgentDir setParentSession tryLockFile
	withoutEscapeSequences`.split(/\s+/);

const kinds = [
	[
		"method",
		METHODS,
		Object.getOwnPropertyNames(SessionManager.prototype),
		(name, { manager }) =>
			(...args) =>
				manager[name](...args),
	],
	["static", STATICS, Object.getOwnPropertyNames(SessionManager), (name) => SessionManager[name]],
	["function", FUNCTIONS, Object.keys(api), (name) => api[name]],
];
const NOT_CALLS = ["constructor", "SessionManager", "prototype"];
/** Exports without a call above, and calls without an export. */
const unknown = kinds.flatMap(([kind, calls, names, found]) => {
	const tried = Object.keys(calls).map((name) => name.split(",")[0]);
	const isCall = (name) =>
		!NOT_CALLS.includes(name) && typeof found(name, { manager: SessionManager.prototype }) === "function";
	const missing = names.filter((name) => !tried.includes(name) && !WITHOUT_OBJECTS.includes(name) && isCall(name));
	return [...missing, ...tried.filter((name) => !names.includes(name))].map((name) => `${kind} ${name}`);
});

// ---- Trials ----------------------------------------------------------------------------------------------------

const isView = ArrayBuffer.isView;
/** The places of objects and of their properties in arguments: `proxy` or `getter`, with the path of keys. */
function* places(value, keys = []) {
	if (typeof value !== "object" || value === null) return;
	if (keys.length > 0) yield { how: "proxy", keys };
	if (isView(value) || value instanceof AbortSignal || value instanceof Map) return;
	for (const key of Object.keys(value)) {
		if (keys.length > 0) yield { how: "getter", keys: [...keys, key] };
		yield* places(value[key], [...keys, key]);
	}
}

/** Replaces a value in the arguments by a getter or a proxy. */
function meddle(args, { how, keys }) {
	const key = keys.at(-1);
	const holder = keys.slice(0, -1).reduce((value, one) => value[one], args);
	const value = holder[key];
	const after = (result) => (takeAway(), result);
	const bound = (found) => (typeof found === "function" && value instanceof Map ? found.bind(value) : found);
	const proxy = () =>
		new Proxy(value, {
			get: (target, name) => after(bound(Reflect.get(target, name))),
			getOwnPropertyDescriptor: (target, name) => after(Reflect.getOwnPropertyDescriptor(target, name)),
			getPrototypeOf: (target) => after(Reflect.getPrototypeOf(target)),
			has: (target, name) => after(Reflect.has(target, name)),
			ownKeys: (target) => after(Reflect.ownKeys(target)),
		});
	if (how === "proxy") holder[key] = proxy();
	else Object.defineProperty(holder, key, { get: () => after(value), enumerable: true, configurable: true });
}

const count = { trials: 0, results: 0, errors: 0, unknown, wrong: [] };
const text = (value) => {
	try {
		return JSON.stringify(value, (_, one) => (isView(one) ? Buffer.from(one).toString("latin1") : one)) ?? "";
	} catch {
		return "";
	}
};
const contentsOf = (dir) =>
	readdirSync(dir)
		.filter((name) => name.endsWith(".jsonl"))
		.map((name) => [name, readFileSync(join(dir, name), "latin1")]);

async function attempt(title, [, , , found], name, args, here) {
	count.trials++;
	const called = name.split(",")[0];
	const before = text(contentsOf(here.dir));
	let told;
	try {
		told = text(await found(called, here)(...args));
		count.results++;
	} catch (error) {
		count.errors++;
		told = error instanceof Error ? error.message : `not an error: ${String(error)}`;
		if (!(error instanceof Error)) count.wrong.push(`${title}: ${told}`);
		if (text(contentsOf(here.dir)) !== before) count.wrong.push(`${title}: a call that failed changed a file`);
	}
	// A call refuses memory to which other threads may write.
	if (READ.includes(name) && memory === MEMORY.shared && !told.includes("SharedArrayBuffer"))
		count.wrong.push(`${title}: ${told}`);
	for (const [file, content] of [["the result", told], ...contentsOf(here.dir)]) {
		if (content.includes(SPOILED)) count.wrong.push(`${title}: ${file} has what was put into freed memory`);
	}
}

for (const [memoryName, kindOfMemory] of Object.entries(MEMORY)) {
	memory = kindOfMemory;
	for (const kind of kinds) {
		for (const [name, argsOf] of Object.entries(kind[1])) {
			// No other call reads the numbers of typed arrays itself.
			const sizes = READ.includes(name) ? SIZES : memory === MEMORY.transferred ? SIZES.slice(0, 1) : [];
			for (const size of sizes) {
				for (const place of places(argsOf(size, world(size)))) {
					const title = `${kind[0]} ${name}, ${place.how} at ${place.keys.join(".")}; ${memoryName}, ${size}`;
					writeSync(1, `${title}\n`);
					[buffers, spoiled] = [[], []];
					const here = world(size);
					const leaf = here.manager.appendMessage({ role: "user", content: "begin", timestamp: 1 });
					const args = argsOf(size, here).map((one) => (one === "m" ? leaf : one));
					meddle(args, place);
					await attempt(title, kind, name, args, here);
					here.manager.close();
					rmSync(here.dir, { recursive: true });
				}
			}
		}
	}
}
console.log(JSON.stringify(count));
process.exit(0);
