// The measured operations. An operation has either `run`, whose whole time is measured from outside, or `measure`,
// which repeats something and returns milliseconds for each repetition, by name.
//
// `run` returns what a client would keep (the manager), so that other objects can be collected.
//
// `catalog` is the state of the catalog in the agent's directory: "cold" for no catalog, "warm" for a catalog with
// every file (pi has no catalog). Without `catalog` there is no agent's directory.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SESSION_CWD } from "./generate.mjs";
import { median } from "./report.mjs";
import { starting } from "./start.mjs";

const APPENDS_BEFORE = 200;
const IMAGE = Buffer.alloc(786_432, "bytes of an image ");
const now = () => Number(process.hrtime.bigint()) / 1e6;

/** Results are stored here, so that no JavaScript engine can skip the work. */
let sink = 0;

const user = (text) => ({ role: "user", content: text, timestamp: 1_750_000_000_000 });

/** Milliseconds for each call of a function that is slow enough for the clock. */
function eachCall(call) {
	for (let index = 0; index < 3; index++) call(index);
	const times = [];
	const end = now() + 150;
	while (times.length < 15 || (now() < end && times.length < 2_000)) {
		const start = now();
		call(times.length);
		times.push(now() - start);
	}
	return median(times);
}

/** Milliseconds for each call of a function that is too fast for the clock. */
function manyCalls(call) {
	const times = [];
	for (let batch = 0; batch < 9; batch++) {
		const start = now();
		for (let index = 0; index < 20_000; index++) call(index);
		times.push((now() - start) / 20_000);
	}
	return median(times);
}

/** The CPU time of this thread in milliseconds, if the system reports it. Other processes influence it little. */
function threadTime() {
	const stat = "/proc/thread-self/schedstat";
	return existsSync(stat) ? Number(readFileSync(stat, "utf8").split(" ")[0]) / 1e6 : undefined;
}

/**
 * Milliseconds for each append, by the clock and as CPU time of this thread. All appends are measured together, so that
 * work that an append postpones is included.
 */
function appends(manager, messages) {
	for (const message of messages.slice(0, APPENDS_BEFORE)) manager.appendMessage(message);
	const timed = messages.slice(APPENDS_BEFORE);
	const start = now();
	const ranBefore = threadTime();
	for (const message of timed) manager.appendMessage(message);
	const ran = threadTime();
	const times = { "": (now() - start) / timed.length };
	if (ran !== undefined) times.CPU = (ran - ranBefore) / timed.length;
	return times;
}

const messages = (count, make) => Array.from({ length: count + APPENDS_BEFORE }, (_, index) => make(index));

/** Appends a number of messages to a session with a file. */
function appending(count, make) {
	return {
		measure: ({ SessionManager, scratch }) => {
			const manager = SessionManager.create(SESSION_CWD, scratch);
			manager.appendMessage(user("run it"));
			return appends(manager, messages(count, make));
		},
	};
}

/** The same with tool results that contain this text. */
const appendingText = (text, count) =>
	appending(count, (index) => ({
		role: "toolResult",
		toolCallId: `call_${index}`,
		toolName: "bash",
		content: [{ type: "text", text }],
		isError: false,
		timestamp: 1_750_000_000_000 + index,
	}));

/** Reads each text of a value: its length and one letter in its middle. */
function lookAtTexts(value) {
	if (typeof value === "string") sink += value.length > 0 ? value.charCodeAt(value.length >> 1) : 0;
	else if (typeof value === "object" && value !== null) for (const key of Object.keys(value)) lookAtTexts(value[key]);
}

function lookAtRoles(entries) {
	for (const entry of entries) if (entry.type === "message") sink += entry.message.role.length;
}

/** Reads the same as pi's footer at its start: every role and usage. */
function footer(manager) {
	for (const entry of manager.getEntries()) {
		if (entry.type !== "message") continue;
		sink += entry.message.role.length;
		if (entry.message.role === "assistant") sink += entry.message.usage.cost.total;
	}
}

/**
 * Adds up all sessions by model and day. Without `usage`, as a program does it with pi: over the entries of each file.
 */
async function usage({ SessionManager, path }) {
	if (SessionManager.usage) {
		const { total } = await SessionManager.usage({ sessionDir: path, by: ["model", "day"] });
		if (!(total.cost > 0)) throw new Error("Nothing was added up");
		sink += total.calls;
		return;
	}
	const sums = new Map();
	for (const name of readdirSync(path)) {
		for (const { message } of SessionManager.open(join(path, name)).getEntries()) {
			if (message?.role !== "assistant") continue;
			for (const key of [message.model, new Date(message.timestamp).toISOString().slice(0, 10)])
				sums.set(key, (sums.get(key) ?? 0) + message.usage.cost.total);
		}
	}
	sink += sums.size;
}

async function listAll({ SessionManager, path }) {
	sink += (await SessionManager.listAll(path)).length;
}

/**
 * The longest turn of the event loop while a function runs: as CPU time of this thread (whose clock may tick in
 * milliseconds), and by the clock, which includes time that other threads and processes use.
 */
async function longestTurn(work) {
	const cpu = () => {
		const { user, system } = process.threadCpuUsage();
		return (user + system) / 1e3;
	};
	let running = true;
	let last = [cpu(), now()];
	const longest = [0, 0];
	const turn = () => {
		const at = [cpu(), now()];
		for (const clock of [0, 1]) longest[clock] = Math.max(longest[clock], at[clock] - last[clock]);
		last = at;
		if (running) setImmediate(turn);
	};
	setImmediate(turn);
	await work();
	turn();
	running = false;
	return longest;
}

export const OPERATIONS = {
	open: {
		run: ({ SessionManager, path }) => SessionManager.open(path),
	},
	"open and context": {
		run: ({ SessionManager, path }) => {
			const manager = SessionManager.open(path);
			sink += manager.buildSessionContext().messages.length;
			return manager;
		},
	},
	"open and all entries": {
		run: ({ SessionManager, path }) => {
			const manager = SessionManager.open(path);
			lookAtRoles(manager.getEntries());
			return manager;
		},
	},
	"open and first append": {
		writes: true,
		run: ({ SessionManager, path }) => {
			const manager = SessionManager.open(path);
			manager.appendMessage(user("a first word after so long"));
			return manager;
		},
	},
	// The reads of pi's footer at its start, and the entries that its chat shows.
	"open, footer, context entries": {
		run: ({ SessionManager, path }) => {
			const manager = SessionManager.open(path);
			footer(manager);
			sink += manager.buildContextEntries().length;
			return manager;
		},
	},
	"open and look at every body": {
		run: ({ SessionManager, path }) => {
			const manager = SessionManager.open(path);
			for (const entry of manager.getEntries()) lookAtTexts(entry);
			return manager;
		},
	},
	// The reads of a terminal at its start: the footer, and every message that the chat shows.
	"open, footer, every body of the context": {
		run: ({ SessionManager, path }) => {
			const manager = SessionManager.open(path);
			footer(manager);
			for (const entry of manager.buildContextEntries()) lookAtTexts(entry);
			return manager;
		},
	},
	// On both sides V8's JSON.stringify takes most of the time.
	"open and every body": {
		run: ({ SessionManager, path }) => {
			const manager = SessionManager.open(path);
			for (const entry of manager.getEntries()) sink += JSON.stringify(entry).length;
			return manager;
		},
	},
	// Only the call, on a session that was just opened.
	createBranchedSession: {
		prepare: ({ SessionManager, path, scratch }) => SessionManager.open(path, scratch),
		run: (_, manager) => {
			sink += manager.createBranchedSession(manager.getLeafId()).length;
			return manager;
		},
	},
	// As in pi, whose footer has read every entry before.
	"createBranchedSession, handed out": {
		prepare: ({ SessionManager, path, scratch }) => {
			const manager = SessionManager.open(path, scratch);
			footer(manager);
			return manager;
		},
		run: (_, manager) => {
			sink += manager.createBranchedSession(manager.getLeafId()).length;
			return manager;
		},
	},
	forkFrom: {
		run: ({ SessionManager, path, scratch }) => SessionManager.forkFrom(path, SESSION_CWD, scratch),
	},
	"warm reads": {
		measure: ({ SessionManager, path }) => {
			const manager = SessionManager.open(path);
			const ids = manager.getEntries().map((entry) => entry.id);
			const someId = (index) => ids[(index * 7919) % ids.length];
			return {
				buildSessionContext: eachCall(() => (sink += manager.buildSessionContext().messages.length)),
				getBranch: eachCall(() => (sink += manager.getBranch().length)),
				getEntries: eachCall(() => (sink += manager.getEntries().length)),
				getChildren: eachCall((index) => (sink += manager.getChildren(someId(index)).length)),
				getTree: eachCall(() => (sink += manager.getTree().length)),
				getEntry: manyCalls((index) => (sink += manager.getEntry(someId(index)).type.length)),
				getLeafId: manyCalls(() => (sink += manager.getLeafId().length)),
			};
		},
	},
	"append 20 bytes": {
		measure: ({ SessionManager, scratch }) =>
			appends(
				SessionManager.create(SESSION_CWD, scratch),
				messages(20_000, () => user("twenty bytes of text")),
			),
	},
	"append 10 KB tool result": appendingText('line of output, "quoted"\n'.repeat(410), 4_000),
	"append 10,000 Japanese characters": appendingText("日本語の文章がここに続きます。これは長い\n".repeat(476), 4_000),
	// One text, as an application reads it from a file.
	"append 1 MiB image": appending(200, () => ({
		role: "user",
		content: [
			{ type: "text", text: "look" },
			{ type: "image", data: IMAGE.toString("base64"), mimeType: "image/png" },
		],
		timestamp: 1_750_000_000_000,
	})),
	"append 20 bytes in memory": {
		measure: ({ SessionManager }) =>
			appends(
				SessionManager.inMemory(SESSION_CWD),
				messages(20_000, () => user("twenty bytes of text")),
			),
	},
	// A turn of the agent loop: append a message, get the context and the branch.
	turn: {
		writes: true,
		measure: ({ SessionManager, path }) => {
			const manager = SessionManager.open(path);
			const turn = () => {
				manager.appendMessage(user("and now the next thing"));
				sink += manager.buildSessionContext().messages.length;
				sink += manager.getBranch().length;
			};
			for (let index = 0; index < 10; index++) turn();
			const start = now();
			for (let index = 0; index < 200; index++) turn();
			return { "": (now() - start) / 200 };
		},
	},
	list: {
		run: async ({ SessionManager, path }) => {
			sink += (await SessionManager.list(SESSION_CWD, path)).length;
		},
	},
	"listAll, no catalog": { catalog: "cold", run: listAll },
	listAll: { catalog: "warm", run: listAll },
	"usage, no catalog": { catalog: "cold", run: usage },
	usage: { catalog: "warm", run: usage },
	// The first list of a process, and the next one.
	"turns of listAll": {
		catalog: "cold",
		measure: async (context) => {
			const [cold, coldWall] = await longestTurn(() => listAll(context));
			const [again, againWall] = await longestTurn(() => listAll(context));
			return { CPU: cold, time: coldWall, "again, CPU": again, "again, time": againWall };
		},
	},
	"listAll, every text": {
		catalog: "warm",
		run: async ({ SessionManager, path }) => {
			for (const info of await SessionManager.listAll(path)) sink += info.allMessagesText.length;
		},
	},
	continueRecent: {
		catalog: "warm",
		run: ({ SessionManager, path }) => SessionManager.continueRecent(SESSION_CWD, path),
	},
	findById: {
		catalog: "warm",
		prepare: ({ path }) => {
			const names = readdirSync(path).sort();
			const file = join(path, names[names.length >> 1]);
			const [line] = readFileSync(file, "utf8").split("\n", 1);
			return { file, id: JSON.parse(line).id };
		},
		run: ({ SessionManager, path }, { file, id }) => {
			if (SessionManager.findById(SESSION_CWD, id, path) !== file) throw new Error(`Not found: ${id}`);
		},
	},
	"start to first answer": starting({ until: "answer" }),
	"first start of a new pi to first answer": starting({ until: "answer", isFirst: true }),
	"start to first screen": starting({ until: "screen" }),
	"pi --version": starting({ until: "end", args: ["--version"] }),
	"pi --list-models": starting({ until: "end", args: ["--list-models"] }),
	"pi-native --version": starting({ until: "end", args: ["--version"], native: true }),
	"pi 0.87.1, start to first answer": starting({ until: "answer", version: "0.87.1" }),
	// The import and the first open of an application.
	"import and open": {
		imports: true,
		run: async ({ url, path }) => (await import(url)).SessionManager.open(path),
	},
};
