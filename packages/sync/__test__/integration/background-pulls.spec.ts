// Others' lines arrive while pi runs: what the process beside pi pulls, in which order, and what pi's managers do with it.
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { DirectoryStore, type LineStore, loadAll } from "../../lib/index.js";
import { SESSION, emptyDirectory, header, ids } from "../support/lines.js";
import { NAME, text } from "../support/machines.js";

const { RedactionFile } = createRequire(__filename)("../../lib/sync/redaction-file.js");
const root = resolve(__dirname, "../../../..");
const LONG = { timeout: 500_000, interval: 20 };
const said = (id: string, parentId: string | null) =>
	Buffer.from(JSON.stringify({ type: "message", id, parentId, timestamp: "2025-06-01T09:00:00.000Z", message: { role: "user", content: id, timestamp: 1 } }));

/** pi's process, which runs `program` with the store, and another host. */
function setup(more: Record<string, string> = {}) {
	const path = emptyDirectory();
	const [address, agent, work] = [join(path, "store"), join(path, "agent"), join(path, "shop")];
	const dir = join(agent, "sessions", `--${work.slice(1).replaceAll("/", "-")}--`);
	for (const one of [address, work, dir]) mkdirSync(one, { recursive: true });
	const other: LineStore = new DirectoryStore({ path: address, host: "desktop" });
	const env = { ...process.env, PI_CODING_AGENT_DIR: agent, HOME: path, PI_SESSION_NATIVE_STORE: address, PI_SESSION_NATIVE_HOST: "laptop", PI_SESSION_NATIVE_PROJECT: "shop", PI_SESSION_NATIVE_STORE_TIMEOUT: "300000", ...more };
	const pi = (program: string) => {
		const child: ChildProcess = spawn(process.execPath, ["--input-type=module", "-e", `
			import { createRequire } from "node:module";
			import { storeOfEnvironment } from ${JSON.stringify(pathToFileURL(join(root, "packages/sync/lib/follower/in-pi.mjs")).href)};
			const { SessionManager } = createRequire(${JSON.stringify(join(root, "index.js"))})("./index.js");
			const store = storeOfEnvironment();
			store.pullBefore([]);
			store.watch(SessionManager);
			process.stdin.once("data", () => process.exit());
			console.log("started");
			${program}`], { cwd: work, env: env as NodeJS.ProcessEnv, stdio: ["pipe", "pipe", "inherit"] });
		onTestFinished(() => void child.kill("SIGKILL"));
		let out = "";
		child.stdout?.setEncoding("utf8").on("data", (part: string) => (out += part));
		const says = (line: string) => vi.waitFor(() => expect(out).toContain(line), LONG);
		const end = async () => {
			const closed = once(child, "close");
			child.stdin?.end("\n");
			await closed;
		};
		return { says, end };
	};
	const put = (session: string, ...lines: Buffer[]) => other.append(session, { header: header(session), lines, project: "shop" });
	return { path, agent, dir, other, pi, put };
}

test("a session that another host begins while pi runs is here within seconds, whole", async () => {
	const at = setup();
	const { says, end } = at.pi("");
	await says("started");
	await at.put("s1", said("a", null), said("b", "a"));
	const file = join(at.dir, "2025-06-01T09-00-00-000Z_s1.jsonl");
	await vi.waitFor(() => expect(existsSync(file)).toBe(true), LONG);
	expect(readFileSync(file, "utf8").trimEnd().split("\n").slice(1)).toEqual([said("a", null), said("b", "a")].map(String));
	await at.put("s1", said("c", "b"));
	await vi.waitFor(() => expect(readFileSync(file, "utf8")).toContain('"id":"c"'), LONG);
	await end();
});

test.each(["none", "exclusive"])("what another host says in a session that is open here is taken in by its manager, whose branch stays (lock: %s)", async (lock) => {
	const at = setup({ PI_SESSION_NATIVE_LOCK: lock });
	const file = join(at.dir, NAME);
	writeFileSync(file, text(header(), said("a", null)));
	const { says, end } = at.pi(`
		// Regression: one that fails kept the next ones from it.
		const failing = globalThis.kept = SessionManager.open(${JSON.stringify(file)});
		failing.reload = () => { throw new Error("no memory"); };
		const manager = SessionManager.open(${JSON.stringify(file)});
		manager.appendMessage({ role: "user", content: "mine", timestamp: 2 });
		const leaf = manager.getLeafId();
		// Another process would hold the session's lock, and an append would fail if that took long.
		const { merge } = SessionManager;
		Object.defineProperty(SessionManager, "merge", { value: (...args) => (console.log("merged here"), merge.apply(SessionManager, args)) });
		const looking = setInterval(() => {
			// Entries in memory: nothing is read for this.
			if (!manager.getEntries().some(({ id }) => id === "theirs")) return;
			clearInterval(looking);
			manager.appendMessage({ role: "user", content: "later", timestamp: 3 });
			console.log("taken in", manager.getLeafEntry().parentId === leaf);
		}, 20);`);
	await says("started");
	await vi.waitFor(async () => expect((await loadAll(at.other, SESSION)).lines).toHaveLength(2), LONG);
	const { cursor } = await loadAll(at.other, SESSION);
	await at.other.append(SESSION, { header: header(), lines: [said("theirs", "a")], after: cursor });
	await says("taken in true");
	await says("merged here");
	await vi.waitFor(async () => expect((await loadAll(at.other, SESSION)).lines).toHaveLength(4), LONG);
	await end();
	const here = readFileSync(file, "utf8").trimEnd().split("\n").slice(1);
	expect(new Set(here)).toEqual(new Set((await loadAll(at.other, SESSION)).lines.map(({ line }) => line.toString())));
});

// Regression: the file was changed, and its manager went on with what it had.
test("with push off, what another host says in a session that is open here is taken in by its manager, too", async () => {
	const at = setup();
	writeFileSync(join(at.agent, "session-store.json"), JSON.stringify({ push: false }), { mode: 0o600 });
	await at.put(SESSION, said("a", null));
	const { says, end } = at.pi(`
		const manager = SessionManager.continueRecent(process.cwd());
		manager.appendMessage({ role: "user", content: "mine", timestamp: 2 });
		setInterval(() => manager.getEntries().some(({ id }) => id === "theirs") && console.log("taken in"), 20);
		console.log("open", manager.getEntries().length);`);
	await says("open 2");
	const { cursor } = await loadAll(at.other, SESSION);
	await at.other.append(SESSION, { header: header(), lines: [said("theirs", "a")], after: cursor });
	await says("taken in");
	await end();
	expect(ids(await loadAll(at.other, SESSION))).toEqual(["a", "theirs"]);
});

test("with pull off nothing comes, with push off nothing goes", async () => {
	const at = setup();
	const settings = (value: object) => writeFileSync(join(at.agent, "session-store.json"), JSON.stringify(value), { mode: 0o600 });
	await at.put("s1", said("a", null));
	settings({ pull: false });
	const OWN = 'SessionManager.create(process.cwd()).appendMessage({ role: "user", content: "mine", timestamp: 1 }); console.log("said");';
	const first = at.pi(OWN);
	await first.says("said");
	await first.end();
	expect(readdirSync(at.dir)).toHaveLength(1);
	expect((await at.other.list()).sessions).toHaveLength(2);
	settings({ push: false });
	const second = at.pi(OWN);
	await second.says("said");
	await second.end();
	expect(readdirSync(at.dir)).toHaveLength(3);
	expect((await at.other.list()).sessions).toHaveLength(2);
});

test("a session that another process of this machine has open is left to that one", async () => {
	const at = setup();
	const file = join(at.dir, NAME);
	writeFileSync(file, text(header(), said("a", null)));
	const one = at.pi(`globalThis.kept = SessionManager.open(${JSON.stringify(file)}); console.log("open");`);
	await one.says("open");
	await vi.waitFor(async () => expect((await loadAll(at.other, SESSION)).lines).toHaveLength(1), LONG);
	const { Pending } = (await import("../../lib/machine/pending.js" as string)) as { Pending: new (notes: string, address: string) => { openElsewhere(): Set<string> } };
	const elsewhere = () => [...new Pending(join(at.agent, "session-stores"), join(at.path, "store")).openElsewhere()];
	expect(elsewhere()).toEqual([file]);
	await one.end();
	expect(elsewhere()).toEqual([]);
	expect(ids(await loadAll(at.other, SESSION))).toEqual(["a"]);
});

// Regression: each left it to the other one.
test("a session that two processes of this machine have open is pulled", async () => {
	const at = setup();
	const file = join(at.dir, NAME);
	writeFileSync(file, text(header(), said("a", null)));
	const both = [1, 2].map(() => at.pi(`globalThis.kept = SessionManager.open(${JSON.stringify(file)}); console.log("open");`));
	for (const { says } of both) await says("open");
	await vi.waitFor(async () => expect((await loadAll(at.other, SESSION)).lines).toHaveLength(1), LONG);
	const { cursor } = await loadAll(at.other, SESSION);
	await at.other.append(SESSION, { header: header(), lines: [said("theirs", "a")], after: cursor });
	await vi.waitFor(() => expect(readFileSync(file, "utf8")).toContain("theirs"), LONG);
	for (const { end } of both) await end();
	expect(readFileSync(file, "utf8").trimEnd().split("\n")).toHaveLength(3);
});

// Regression: the process beside pi changed the file, and its managers were not told to take that in; or it was refused, because pi has the lock.
test.each(["none", "exclusive"])("what was noted to be redacted in a session that is open here is redacted by pi's process before more is stored (lock: %s)", async (lock) => {
	const at = setup({ PI_SESSION_NATIVE_LOCK: lock });
	writeFileSync(join(at.agent, "session-store.json"), JSON.stringify({ pull: false }), { mode: 0o600 });
	const file = join(at.dir, NAME);
	const [secret, safe] = ["secret", "[redacted]"].map((word) => Buffer.from(said("a", null).toString().replace('"content":"a"', `"content":"${word}"`))) as [Buffer, Buffer];
	await at.put(SESSION, secret);
	writeFileSync(file, text(header(), secret, said("b", "a")));
	const redactionFile = new RedactionFile(join(at.agent, "session-stores"), { session: SESSION, file }, join(at.path, "store"));
	await redactionFile.withLock(() => redactionFile.add([{ hash: createHash("sha256").update(secret).digest("hex"), line: safe }]));
	const { says, end } = at.pi(`
		const { redact } = SessionManager;
		Object.defineProperty(SessionManager, "redact", { value: (...args) => (console.log("redacted here"), redact.apply(SessionManager, args)) });
		const manager = SessionManager.open(${JSON.stringify(file)});
		setInterval(() => manager.getEntry("a").message.content === "[redacted]" && console.log("taken in"), 20);`);
	await says("redacted here");
	await says("taken in");
	await vi.waitFor(async () => expect((await loadAll(at.other, SESSION)).lines.map(({ line }) => line.toString())).toEqual([safe, said("b", "a")].map(String)), LONG);
	await end();
	expect(readFileSync(file, "utf8")).toBe(text(header(), safe, said("b", "a")));
});

// Regression: pi had the session's lock until it had ended, and the process beside it was refused.
test("what was noted to be redacted since the last line was stored is redacted and stored when pi ends, though it had the session alone", async () => {
	const at = setup({ PI_SESSION_NATIVE_LOCK: "exclusive" });
	const file = join(at.dir, NAME);
	const [secret, safe] = ["secret", "[redacted]"].map((word) => Buffer.from(said("a", null).toString().replace('"content":"a"', `"content":"${word}"`))) as [Buffer, Buffer];
	writeFileSync(file, text(header(), secret));
	const { end } = at.pi(`globalThis.kept = SessionManager.open(${JSON.stringify(file)});`);
	await vi.waitFor(async () => expect((await at.other.list({ presence: true })).sessions[0]?.presence).toHaveLength(1), LONG);
	const redactionFile = new RedactionFile(join(at.agent, "session-stores"), { session: SESSION, file }, join(at.path, "store"));
	await redactionFile.withLock(() => redactionFile.add([{ hash: createHash("sha256").update(secret).digest("hex"), line: safe }]));
	await end();
	expect(readFileSync(file, "utf8")).toBe(text(header(), safe));
	expect((await loadAll(at.other, SESSION)).lines.map(({ line }) => line.toString())).toEqual([String(safe)]);
});
