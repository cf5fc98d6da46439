// A store in the environment of a process whose managers the register hook watches, without pi: its start, its end, and what is said.
import { execFileSync } from "node:child_process";
import { appendFileSync, chmodSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test, vi } from "vitest";
import { DirectoryStore, loadAll } from "../../lib/index.js";
import { SESSION, entries, entry, header, library, logOf } from "../support/lines.js";
import { HELLO, LONG, MINUTES, NAME, PENDING, type Machine, append, endOf, machine, node, pi, program, reader, root, silentServer, silentStore, startOf, storedLines, writtenDown } from "../support/pi-process.js";
import { snapshot } from "../../../../__test__/support/scratch.js";

const require = createRequire(__filename);
const { LastErrors } = require("../../lib/machine/last-errors.js");
const { Pending } = require("../../lib/machine/pending.js");
const notesOf = ({ agent }: Machine) => join(agent, "session-stores");
const text = (...lines: Buffer[]) => lines.map((line) => `${line}\n`).join("");

/** What the process beside pi is told when pi starts and when it ends. */
const starts = (at: Machine) => startOf(at, { notesDir: notesOf(at) });
function ends(at: Machine, one: object) {
	new Pending(notesOf(at), at.env.PI_SESSION_NATIVE_STORE, PENDING).add(one);
	return endOf(at, { notesDir: notesOf(at) });
}

test("the process beside pi pulls what is lacking, and stores what an earlier one could not", async () => {
	const at = machine();
	const desktop = new DirectoryStore({ path: at.address, host: "desktop" });
	await append(desktop, entries("n", 2));
	expect(await starts(at)).toEqual([{ isReached: true }, { lacking: { left: 1, of: 1 } }, { lacking: { left: 0, of: 1 } }, { done: "start" }]);
	const file = join(at.dir, NAME);
	expect(readFileSync(file, "utf8").split("\n").slice(1).join("\n")).toBe(text(...entries("n", 2)));
	appendFileSync(file, text(entry("mine")));
	await starts(at);
	await vi.waitFor(async () => expect((await loadAll(desktop, SESSION)).lines).toHaveLength(3), LONG);
	appendFileSync(file, text(entry("more")));
	const local = { session: SESSION, file, cwd: at.work };
	expect(await ends(at, local)).toEqual([{ unstored: 1 }, { isReached: true }, { done: "end" }]);
	expect((await loadAll(desktop, SESSION)).lines).toHaveLength(4);
	expect((await ends(at, local))[0]).toEqual({ unstored: 0 });
});

test("the process beside pi names what fails, and leaves files as they are", async () => {
	const at = machine();
	await append(new DirectoryStore({ path: at.address, host: "desktop" }), entries("n", 2));
	writeFileSync(join(at.address, logOf("desktop", { project: "shop" })), "no batch\n");
	const before = snapshot(at.dir);
	expect((await starts(at)).flatMap(({ show }) => show ?? [])).toEqual([expect.stringMatching(`^session ${SESSION}: .*it is not a batch`)]);
	expect(snapshot(at.dir)).toEqual(before);
	const there = { ...at, env: { ...at.env, PI_SESSION_NATIVE_STORE: join(at.path, "unmounted") } };
	expect((await starts(there)).at(-1)).toEqual({ done: "start", error: expect.stringContaining("there is no such directory") });
	expect(snapshot(at.dir)).toEqual(before);
});

test("what managers append is stored when the process ends, from wherever they were made; the statics look as before", async () => {
	const at = machine();
	const { err, out } = await pi(
		at,
		`for (const name of ["create", "open", "continueRecent", "forkFrom"]) {
			const now = Object.getOwnPropertyDescriptor(SessionManager, name);
			const { value, ...rest } = before[name];
			const same = now.value.name === value.name && now.value.length === value.length && Object.keys(rest).every((key) => now[key] === rest[key]);
			if (!same) console.log(name, now, before[name]);
		}
		const { create } = SessionManager;
		const manager = create(process.cwd());
		manager.appendMessage({ role: "user", content: "Hello", timestamp: 1 });
		const fork = SessionManager.forkFrom(manager.getSessionFile(), process.cwd());
		fork.appendMessage({ role: "user", content: "And on", timestamp: 2 });`,
	);
	expect([out, err]).toEqual(["", ""]);
	const { sessions } = await reader(at).list();
	expect(sessions.map(({ project, hosts }) => [project, hosts])).toEqual([["shop", ["laptop"]], ["shop", ["laptop"]]]);
	const stored = await Promise.all(sessions.map(async ({ session }) => (await loadAll(reader(at), session)).lines.length));
	expect(stored.sort()).toEqual([1, 2]);
	expect(readdirSync(at.dir)).toHaveLength(2);
});

test("a session that was made while the store was away is stored by a later process, of which the store answers only then", async () => {
	const at = machine();
	renameSync(at.address, `${at.address}.away`);
	const made = await pi(at, `SessionManager.create(process.cwd()).appendMessage({ role: "user", content: "Hello", timestamp: 1 });`);
	expect(made.err).toContain("the next start goes on with it");
	// The store comes back after the start, when it was asked in vain.
	const { out, err } = await pi(at, `(await import("node:fs")).renameSync(${JSON.stringify(`${at.address}.away`)}, ${JSON.stringify(at.address)});`);
	expect([out, err.trim().split("\n").length]).toEqual(["", 1]);
	const [stored] = (await reader(at).list()).sessions;
	expect((await loadAll(reader(at), stored?.session ?? "")).lines).toHaveLength(1);
});

// Regression: it was never stored, for nothing said that it was to be.
test("a new session of a pi that is killed at its first message is stored by a later one", async () => {
	const at = machine();
	// Without a process that follows it, which would store the session at once.
	const alone = program(`${HELLO} process.kill(process.pid, "SIGKILL");`).replace("store?.pullBefore([]);", "");
	expect((await node(at, ["--input-type=module", "-e", alone])).end).toBe("SIGKILL");
	expect((await reader(at).list()).sessions).toEqual([]);
	expect((await pi(at, "")).err).toBe("");
	expect(await storedLines(at)).toEqual([1]);
	// Regression: the one that goes on to another session by itself, too, at once.
	const killed = `const manager = SessionManager.create(process.cwd());
		manager.newSession();
		manager.appendMessage({ role: "user", content: "Hello", timestamp: 1 });
		process.kill(process.pid, "SIGKILL");`;
	expect((await pi(at, killed)).end).toBe("SIGKILL");
	expect((await pi(at, "")).err).toBe("");
	expect(await storedLines(at)).toEqual([1, 1]);
	await pi(at, "");
	expect(writtenDown(at)).toEqual([]);
});

// Regression: the request did not fit into the pipe, and the rest of it was not written while pi waited.
test("a pi that has opened hundreds of sessions stores the rest when it ends", async () => {
	const at = machine();
	// Long names, so that fewer are enough.
	const agent = join(at.agent, "a".repeat(200), "b".repeat(200));
	Object.assign(at, { agent, env: { ...at.env, PI_CODING_AGENT_DIR: agent } });
	const { err } = await pi(at, `const managers = Array.from({ length: 600 }, () => SessionManager.create(process.cwd())); ${HELLO}`);
	expect(err).toBe("");
	expect([await storedLines(at), writtenDown(at)]).toEqual([[1], []]);
});

// Regression: it was stored, and others saw that it was open.
test("a session that is opened to be read is neither stored nor written down", async () => {
	const at = machine();
	writeFileSync(join(at.dir, NAME), text(header(), entry("mine")));
	const { out, err } = await pi(at, `console.log(SessionManager.open(${JSON.stringify(join(at.dir, NAME))}, { readonly: true }).getEntryCount());`);
	expect([out, err]).toEqual(["1\n", ""]);
	expect((await reader(at).list()).sessions).toEqual([]);
	expect(existsSync(join(at.agent, "session-stores/open"))).toBe(false);
});

test("a pi that ends leaves nothing written down of what is stored, nor of sessions without a message", async () => {
	const at = machine();
	await pi(at, `${HELLO} SessionManager.create(process.cwd());`);
	expect([await storedLines(at), writtenDown(at)]).toEqual([[1], []]);
});

// Regression: a pi in another project did not know of it.
test("what could not be stored of one project is stored by a pi in another one, under its own project", async () => {
	const at = machine();
	renameSync(at.address, `${at.address}.away`);
	expect((await pi(at, HELLO)).err).toContain("not all is stored yet");
	renameSync(`${at.address}.away`, at.address);
	const elsewhere = { ...at, work: join(at.path, "elsewhere"), env: { ...at.env, PI_SESSION_NATIVE_PROJECT: "another" } };
	mkdirSync(elsewhere.work);
	expect((await pi(elsewhere, "")).err).toBe("");
	expect((await reader(at).list()).sessions).toMatchObject([{ project: "shop" }]);
	expect(await storedLines(at)).toEqual([1]);
});

// Regression: the first session of a directory that was stored gave its project to all of them.
test("what could not be stored of one project gives its name to no session of another one in the same directory", async () => {
	const at = machine({ PI_SESSION_NATIVE_PROJECT: "demo" });
	renameSync(at.address, `${at.address}.away`);
	expect((await pi(at, HELLO)).err).toContain("not all is stored yet");
	renameSync(`${at.address}.away`, at.address);
	// The one of yesterday is stored first.
	const body = `${HELLO}
		manager.appendMessage({ role: "user", content: "Today", timestamp: 2 });
		manager.close();`;
	const waiting = `const { readdirSync } = await import("node:fs");
		while (!readdirSync(process.env.PI_SESSION_NATIVE_STORE, { recursive: true }).some((name) => name.endsWith(".lines"))) await new Promise((resolve) => setTimeout(resolve, 20));`;
	expect((await pi({ ...at, env: { ...at.env, PI_SESSION_NATIVE_PROJECT: "" } }, `${waiting} ${body}`)).err).toBe("");
	const stored = (await reader(at).list()).sessions;
	expect(await Promise.all(stored.map(async ({ session, project }) => [project, (await loadAll(reader(at), session)).lines.length]))).toEqual(expect.arrayContaining([["demo", 1], [`laptop:${at.work}`, 2]]));
	expect(stored).toHaveLength(2);
});

// Regression: its list was the one from before the last push, so that nothing was asked, and the session stayed incomplete there.
test("a session that nobody goes on with is complete again after the store was set back, at the next start", async () => {
	const at = machine();
	await pi(at, HELLO);
	await pi(at, "");
	const backup = `${at.address}.backup`;
	const copy = { recursive: true, preserveTimestamps: true };
	cpSync(at.address, backup, copy);
	const before = await reader(at).list();
	await pi(at, `SessionManager.continueRecent(process.cwd()).appendMessage({ role: "user", content: "And on", timestamp: 2 });`);
	expect(await storedLines(at)).toEqual([2]);
	rmSync(at.address, { recursive: true });
	cpSync(backup, at.address, copy);
	expect(await reader(at).list()).toEqual(before);
	expect((await pi(at, "")).err).toBe("");
	expect(await storedLines(at)).toEqual([2]);
});

// Regression: the directories of one name were one project, and every /workspace of every container.
test("directories of one name without a remote are not one project, unless it is named", async () => {
	const at = machine({ PI_SESSION_NATIVE_PROJECT: "" });
	const desktop = (name: string) => ({ ...at, agent: join(at.path, "desktop"), env: { ...at.env, PI_SESSION_NATIVE_HOST: "desktop", PI_SESSION_NATIVE_PROJECT: name, PI_CODING_AGENT_DIR: join(at.path, "desktop") } });
	await pi(at, HELLO);
	const [stored] = (await reader(at).list()).sessions;
	expect(stored?.project).toBe(`laptop:${at.work}`);
	const seen = async (name: string) => (await pi(desktop(name), "console.log((await SessionManager.list(process.cwd())).length);")).out.trim();
	expect(await seen("")).toBe("0");
	await pi({ ...at, env: { ...at.env, PI_SESSION_NATIVE_PROJECT: "shop" } }, HELLO);
	expect(await seen("shop")).toBe("1");
});

test("what a manager appended before it went on to another session is stored at the end", async () => {
	const at = machine();
	const { err } = await pi(
		at,
		`const manager = SessionManager.create(process.cwd());
		manager.appendMessage({ role: "user", content: "Hello", timestamp: 1 });
		const { readdirSync } = await import("node:fs");
		while (!readdirSync(process.env.PI_SESSION_NATIVE_STORE, { recursive: true }).some((name) => name.endsWith(".lines"))) await new Promise((resolve) => setTimeout(resolve, 20));
		manager.appendMessage({ role: "user", content: "And on", timestamp: 2 });
		manager.newSession();`,
	);
	expect(err).toBe("");
	const [stored] = (await reader(at).list()).sessions;
	expect((await loadAll(reader(at), stored?.session ?? "")).lines).toHaveLength(2);
});

// Regression: the agent's tools had the password, and what they print is stored.
test("the environment of pi's tools has the store's address without its password", async () => {
	const port = await silentServer();
	const address = (user: string) => `postgres://${user}@127.0.0.1:${port}/x?schema=s`;
	const at = machine({ PI_SESSION_NATIVE_STORE: `${address("me:s3cret")}&password=s3cret`, PI_SESSION_NATIVE_STORE_TIMEOUT: "1" });
	const { out } = await pi(
		at,
		`const { execFileSync } = await import("node:child_process");
		const tool = execFileSync(process.execPath, ["-p", "JSON.stringify(process.env)"], { encoding: "utf8" });
		const manager = SessionManager.create(process.cwd());
		console.log(JSON.stringify([tool.includes("s3cret"), JSON.parse(tool).PI_SESSION_NATIVE_STORE, manager.appendMessage({ role: "user", content: "Hello", timestamp: 1 }).length]));`,
	);
	// A variable without its password still means long ids.
	expect(JSON.parse(out)).toEqual([false, address("me"), 36]);
	const damaged = machine({ PI_SESSION_NATIVE_STORE: "postgres//me:s3cret@x/y" });
	expect((await pi(damaged, `console.log(String(process.env.PI_SESSION_NATIVE_STORE));`)).out).toBe("undefined\n");
});

// Regression: it had, for the same user's tools to read in /proc.
test("the process that talks to the store has its password neither in its environment nor in its arguments", async () => {
	const port = await silentServer();
	const at = machine({ PI_SESSION_NATIVE_STORE: `postgres://me:s3cret@127.0.0.1:${port}/x`, PI_SESSION_NATIVE_STORE_TIMEOUT: "300000" });
	const [preload, seen] = [join(at.path, "seen.cjs"), join(at.path, "seen")];
	writeFileSync(preload, `
		if (process.argv[1]?.endsWith("follower.mjs")) {
			require("node:fs").writeFileSync(${JSON.stringify(seen)}, JSON.stringify([process.env, process.argv, process.execArgv]));
			process.exit();
		}`);
	await pi({ ...at, env: { ...at.env, NODE_OPTIONS: `--require ${preload}` } }, "");
	expect(readFileSync(seen, "utf8")).toContain(`postgres://me@127.0.0.1:${port}/x`);
	expect(readFileSync(seen, "utf8")).not.toContain("s3cret");
});

test("settings that only their owner may read name the store; what pi starts uses their password", async () => {
	const at = machine({ PI_SESSION_NATIVE_STORE: "" });
	writeFileSync(join(at.agent, "session-store.json"), JSON.stringify({ store: at.address }), { mode: 0o600 });
	const hello = `SessionManager.create(process.cwd()).appendMessage({ role: "user", content: "Hello", timestamp: 1 });`;
	expect((await pi(at, hello)).err).toBe("");
	expect((await reader(at).list()).sessions).toHaveLength(1);
	// A pi that was started by pi has the variable, too.
	const secret = (user: string) => `postgres://${user}@127.0.0.1:1/x`;
	writeFileSync(join(at.agent, "session-store.json"), JSON.stringify({ store: secret("me:s3cret") }));
	const { storeAddress } = createRequire(library)("./machine/settings.js");
	expect(storeAddress(at.agent, secret("me"))).toBe(secret("me:s3cret"));
	expect(storeAddress(at.agent, `${secret("me")}y`)).toBe(`${secret("me")}y`);
	if (process.platform === "win32") return;
	chmodSync(join(at.agent, "session-store.json"), 0o644);
	const { err } = await pi(at, hello);
	expect(err).toContain("no store is used: ");
	expect(err).toContain("others may read or change it: chmod 600");
});

test("a private session is no matter of pi's end", async () => {
	const at = machine();
	writeFileSync(join(at.agent, "session-store.json"), JSON.stringify({ private: [at.work] }), { mode: 0o600 });
	const said = await pi(at, `SessionManager.create(process.cwd()).appendMessage({ role: "user", content: "Hello", timestamp: 1 });`);
	expect(said).toMatchObject({ out: "", err: "" });
	expect((await reader(at).list()).sessions).toEqual([]);
});

test("a timeout that is none is named in one line, and two seconds count", async () => {
	const values = ["soon", "0", "-5", "1.5", "1e99"];
	const at = machine();
	const { err } = await pi(at, `for (const value of ${JSON.stringify(["", "7", ...values])}) {
		process.env.PI_SESSION_NATIVE_STORE_TIMEOUT = value;
		storeOfEnvironment();
	}`);
	const said = (value: string) => `pi-session-native: PI_SESSION_NATIVE_STORE_TIMEOUT must be a whole number of milliseconds, 1 or more, not "${value}"; 2000 is used`;
	expect(err.trim().split("\n")).toEqual(values.map(said));
	const waiting = machine({ PI_SESSION_NATIVE_STORE_TIMEOUT: "soon", ...(await silentStore()) });
	expect((await pi(waiting, "")).err.trim().split("\n")).toEqual([
		said("soon"),
		"pi-session-native: the store did not answer within 2 s; pi starts with the sessions that are here",
	]);
});

test("what did not come before the store's process was stopped is counted, with the command that gets it; what came is kept, the newest sessions first", async () => {
	const at = machine();
	const desktop = new DirectoryStore({ path: at.address, host: "desktop" });
	const put = (session: string, lines: Buffer[]) => desktop.append(session, { header: header(session), lines, project: "shop" });
	await put("endless", entries("n", 500));
	await put("small", entries("n", 2));
	const log = join(at.address, logOf("desktop", { session: "endless", project: "shop" }));
	const preload = join(at.path, "slow.cjs");
	// The process is stopped while it reads the large one, once it has said that the small one is there.
	writeFileSync(preload, `
		const fs = require("node:fs");
		const { promises, writeSync } = fs;
		const { open } = promises;
		const forEver = () => new Promise(() => setInterval(() => {}, 1000));
		promises.open = (path, ...rest) => (String(path) === ${JSON.stringify(log)} ? forEver() : open.call(promises, path, ...rest));
		fs.writeSync = (to, what, ...rest) => {
			const written = writeSync(to, what, ...rest);
			if (String(what).includes('"left":1')) process.exit(1);
			return written;
		};
		require("node:module").syncBuiltinESMExports();`);
	const slow = { ...at, env: { ...at.env, NODE_OPTIONS: `--require ${preload}` } };
	expect((await pi(slow, "")).err).toBe("pi-session-native: what is new in 1 of 2 stored sessions did not come (exit code 1); pi starts without it, and pi-sessions pull gets it\n");
	expect(readdirSync(at.dir)).toEqual([expect.stringContaining("_small.jsonl")]);
	expect((await pi({ ...at, env: { ...at.env, PI_SESSION_NATIVE_STORE_TIMEOUT: MINUTES } }, "")).err).toBe("");
	expect(readdirSync(at.dir)).toHaveLength(2);
});

test("what a store holds is said in lines that are fit for a terminal", async () => {
	const at = machine();
	const evil = "\u001b]52;c;ZXZpbA==\u0007\u001b[2J\r\nmore";
	const preload = join(at.path, "evil.cjs");
	// A row that somebody put into the database of a team.
	writeFileSync(preload, `
		const { DirectoryStore } = require(${JSON.stringify(join(root, "packages/sync/lib/index.js"))});
		const evil = ${JSON.stringify(evil)};
		DirectoryStore.prototype.list = async () => ({ sessions: [{ session: ${JSON.stringify(SESSION)}, project: "shop", hosts: ["x"], bytes: 1, modified: new Date(0), redactions: 0, presence: [\`desktop\${evil}\`] }], deleted: [], problems: [{ session: evil, where: evil, message: evil }] });`);
	const { err } = await pi({ ...at, env: { ...at.env, NODE_OPTIONS: `--require ${preload}` } }, "");
	// eslint-disable-next-line no-control-regex
	expect(err.replaceAll("\n", "")).not.toMatch(/[\u0000-\u001f]/);
	const lines = err.trimEnd().split("\n");
	expect(lines.every((line) => line.startsWith("pi-session-native: "))).toBe(true);
	expect(lines[0]).toBe(`pi-session-native: session ${SESSION} is in use on desktop more`);
});

test.each([["--no-session"], ["-p", "--no-session", "Hi"], ["list"], ["install", "x"], ["auth", "print-api-key"], ["--export", "x.jsonl"], ["--help"]])("pi %s waits for no store", async (...args) => {
	const at = machine({ PI_SESSION_NATIVE_STORE: "/not/there", PI_SESSION_NATIVE_STORE_TIMEOUT: "1" });
	const starts = (args: string[]) => `storeOfEnvironment().pullBefore(${JSON.stringify(args)});`;
	const only = `import { storeOfEnvironment } from ${JSON.stringify(pathToFileURL(join(root, "packages/sync/lib/follower/in-pi.mjs")).href)};`;
	expect((await node(at, ["--input-type=module", "-e", only + starts(args)])).err).toBe("");
	expect((await node(at, ["--input-type=module", "-e", only + starts(["-p", "--", ...args])])).err).toContain("did not answer");
});

test("a session that was deleted from the store is said once, and is not put back when pi ends", async () => {
	const at = machine();
	const { out } = await pi(at, `const manager = SessionManager.create(process.cwd()); manager.appendMessage({ role: "user", content: "Hello", timestamp: 1 }); console.log(manager.getSessionFile());`);
	const [stored] = (await reader(at).list()).sessions;
	const session = stored?.session as string;
	await append(reader(at), [entry("another session, so that the store stays what it is")]);
	await reader(at).delete(session);
	const { err } = await pi(at, `SessionManager.open(${JSON.stringify(out.trim())}).appendMessage({ role: "user", content: "And on", timestamp: 2 });`);
	expect(err).toBe(`pi-session-native: session ${session} is not stored: Session ${session} was deleted from the store, and stays here: pi-sessions fork ${session} makes a session of it that is stored\n`);
	expect((await reader(at).list({ session })).sessions).toEqual([]);
});

test("git that fails is said at pi's start, with what follows", async () => {
	const at = machine({ PI_SESSION_NATIVE_PROJECT: "", GIT_TEST_ASSUME_DIFFERENT_OWNER: "1" });
	execFileSync("git", ["init", "-q", at.work]);
	const { err } = await pi(at, "");
	expect(err).toMatch(/^pi-session-native: git failed: detected dubious ownership in repository at \S+ in \S+, so its sessions are shared with no other machine \(PI_SESSION_NATIVE_PROJECT names a project\)\n$/);
});

test("a timeout that is set counts, at the start and at the end", async () => {
	const at = machine({ PI_SESSION_NATIVE_STORE_TIMEOUT: "1", ...(await silentStore()) });
	const { end, err } = await pi(at, `SessionManager.create(process.cwd()).appendMessage({ role: "user", content: "Hello", timestamp: 1 });`);
	expect(end).toBe(0);
	expect(err.trim().split("\n")).toEqual([
		"pi-session-native: the store did not answer within 0.001 s; pi starts with the sessions that are here",
		"pi-session-native: not all is stored yet (the store did not answer within 0.001 s); the next start goes on with it, or pi-sessions push",
	]);
});

test("of many damaged sessions in a store five are named when pi starts, and the others counted", async () => {
	const at = machine();
	const desktop = new DirectoryStore({ path: at.address, host: "desktop" });
	for (let n = 0; n < 7; n++) {
		await desktop.append(`s${n}`, { header: header(`s${n}`), lines: [entry("a")], project: "shop" });
		writeFileSync(join(at.address, logOf("desktop", { session: `s${n}`, project: "shop" })), "no batch\n");
	}
	const lines = (await pi(at, "")).err.trim().split("\n");
	expect(lines.slice(0, 5)).toEqual(Array(5).fill(expect.stringMatching(/^pi-session-native: session s\d: .*it is not a batch/)));
	expect(lines.slice(5)).toEqual(["pi-session-native: 2 more problems; pi-sessions pull names them"]);
});

test("a mistake in the settings leaves no password to what pi starts", async () => {
	const at = machine({ PI_SESSION_NATIVE_STORE: "postgres://me:s3cret@127.0.0.1:1/x" });
	const show = `console.log(String(process.env.PI_SESSION_NATIVE_STORE));`;
	writeFileSync(join(at.agent, "session-store.json"), "{", { mode: 0o600 });
	const { out, err } = await pi(at, show);
	expect([out, err]).toEqual(["postgres://me@127.0.0.1:1/x\n", expect.stringContaining("must be a JSON object")]);
	const unreadable = { ...at, env: { ...at.env, PI_SESSION_NATIVE_STORE: "postgres//me:s3cret@x/y" } };
	expect((await pi(unreadable, show)).out).toBe("undefined\n");
});

test("a session that another host uses is said in a line, and opens, alone on this machine, too", async () => {
	const at = machine({ PI_SESSION_NATIVE_LOCK: "exclusive" });
	const desktop = new DirectoryStore({ path: at.address, host: "desktop" });
	await append(desktop, entries("n", 1));
	await desktop.setPresence(SESSION, true);
	expect(await pi(at, `SessionManager.open(${JSON.stringify(join(at.dir, NAME))}).close();`)).toMatchObject({ out: "", err: `pi-session-native: session ${SESSION} is in use on desktop\n` });
});

test("what failed last is noted for pi-sessions remote status until the store answers", async () => {
	const at = machine();
	const noted = () => new LastErrors(join(at.agent, "session-stores"), at.address).all();
	renameSync(at.address, `${at.address}.away`);
	await pi(at, "");
	expect(noted()).toMatchObject([{ session: undefined, code: "unreachable" }]);
	renameSync(`${at.address}.away`, at.address);
	await pi(at, "");
	expect(noted()).toEqual([]);
	const silent = await silentStore();
	const waiting = machine({ ...silent, PI_SESSION_NATIVE_STORE_TIMEOUT: "200" });
	await pi(waiting, "");
	expect(new LastErrors(join(waiting.agent, "session-stores"), silent.PI_SESSION_NATIVE_STORE).all()).toMatchObject([{ code: "unreachable", message: "the store did not answer within 0.2 s" }]);
});
