// pi with a store in its environment, without code: two machines, one project.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { appendFileSync, chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startModelServer } from "../../../../scripts/demo/model-server.mjs";
import * as pi from "../../../../scripts/demo/pi.mjs";
import { DirectoryStore, loadAll } from "../../lib/index.js";
import { piNative, register } from "../../../../__test__/end-to-end/register/fake-pi.js";
import { emptyDirectory } from "../support/lines.js";
import { PASSWORD } from "../support/servers.js";
import { inBucket, inPostgres } from "../support/shared-stores.js";

interface Outcome {
	code: number | null;
	stdout: string;
	stderr: string;
}

// The first start of a pi reads its bundle, and says so where that takes long: here before the tests, for all machines.
let cache: string;
beforeAll(() => {
	cache = mkdtempSync(join(tmpdir(), "psn-cache-"));
	execFileSync(pi.nodeBin, [piNative, "--version"], { env: { ...pi.isolatedEnv(cache), PI_SESSION_NATIVE_PACKAGE: pi.piPackage, XDG_CACHE_HOME: cache } as NodeJS.ProcessEnv, stdio: "pipe" });
});
afterAll(() => rmSync(cache, { recursive: true, force: true }));

/** A machine: a home, and a clone of the project in a folder of its own. */
async function machine(path: string, name: string, answers: unknown[]) {
	const home = join(path, name);
	const work = join(home, `shop-of-${name}`);
	mkdirSync(work, { recursive: true });
	execFileSync("git", ["init", "-q", work]);
	execFileSync("git", ["-C", work, "remote", "add", "origin", "https://git.example/me/shop.git"]);
	const server = await startModelServer(answers as never);
	onTestFinished(() => server.close());
	pi.writeAgentDir(home, server.baseUrl);
	const sessions = join(home, "agent/sessions", `--${work.slice(1).replaceAll("/", "-")}--`);
	const run = (args: string[], env: Record<string, string> = {}): Promise<Outcome> => {
		const command = [...(env.HOOK ? ["--import", register, join(pi.piPackage, "dist/bundle/cli.js")] : [piNative]), ...args];
		const child: ChildProcess = spawn(pi.nodeBin, command, {
			cwd: work,
			env: { ...pi.isolatedEnv(home), XDG_CACHE_HOME: cache, PI_SESSION_NATIVE_PACKAGE: pi.piPackage, PI_SESSION_NATIVE_HOST: name, PI_SESSION_NATIVE_STORE_TIMEOUT: "120000", ...env } as NodeJS.ProcessEnv,
			stdio: ["ignore", "pipe", "pipe"],
			timeout: 300_000,
		});
		const said = { stdout: "", stderr: "" };
		for (const one of ["stdout", "stderr"] as const) child[one]?.setEncoding("utf8").on("data", (text) => (said[one] += text));
		return new Promise((resolve) => child.on("close", (code) => resolve({ code, ...said })));
	};
	const files = () => (existsSync(sessions) ? readdirSync(sessions).map((file) => join(sessions, file)) : []);
	return { home, work, run, files };
}

const entriesOf = (file: string) => readFileSync(file, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));

const WAYS: { by: string; env: Record<string, string> }[] = [
	{ by: "pi-native", env: {} },
	{ by: "the register hook", env: { HOOK: "1" } },
];

test.each(WAYS)("settings alone name the store, for $by", async ({ env }) => {
	const path = emptyDirectory();
	const [address, laptop] = [join(path, "store"), await machine(path, "laptop", [{ text: "Hello" }])];
	mkdirSync(address);
	writeFileSync(join(laptop.home, "agent/session-store.json"), JSON.stringify({ store: address }), { mode: 0o600 });
	expect(await laptop.run(["-p", "Hi"], env)).toMatchObject({ code: 0, stdout: "Hello\n", stderr: "" });
	expect((await new DirectoryStore({ path: address, host: "reader" }).list()).sessions).toHaveLength(1);
	chmodSync(join(laptop.home, "agent/session-store.json"), 0o644);
	expect((await laptop.run(["--list-models"], env)).stderr).toContain("others may read or change it: chmod 600");
});

test.each(WAYS)("what was said on one machine goes on on another, by $by", async ({ env }) => {
	const path = emptyDirectory();
	const address = join(path, "store");
	mkdirSync(address);
	const store = { PI_SESSION_NATIVE_STORE: address, ...env };
	const laptop = await machine(path, "laptop", [{ text: "Hello from the model" }, { text: "So it is" }]);
	const desktop = await machine(path, "desktop", [{ text: "And again" }]);
	expect(await laptop.run(["-p", "Hello"], store)).toMatchObject({ code: 0, stdout: "Hello from the model\n", stderr: "" });
	const [file] = laptop.files() as [string];
	const [head, ...entries] = entriesOf(file);
	// Nothing that was appended is lacking, and ids are long.
	const reader = new DirectoryStore({ path: address, host: "reader" });
	expect((await loadAll(reader, head.id)).lines.map(({ line }) => JSON.parse(String(line)))).toEqual(entries);
	expect(entries.every(({ id }) => id.length === 36)).toBe(true);
	expect((await reader.list()).sessions).toMatchObject([{ session: head.id, project: "git.example/me/shop", hosts: ["laptop"] }]);
	expect(await desktop.run(["-p", "--continue", "And?"], store)).toMatchObject({ code: 0, stdout: "And again\n", stderr: "" });
	const [theirs] = desktop.files() as [string];
	const [header, ...all] = entriesOf(theirs);
	expect(header).toEqual({ ...head, cwd: desktop.work });
	expect(all.slice(0, entries.length)).toEqual(entries);
	expect(all.length).toBeGreaterThan(entries.length);
	// Back on the first one: all of it is there before anything is asked.
	expect(await laptop.run(["--list-models"], store)).toMatchObject({ code: 0 });
	expect(entriesOf(file).slice(1)).toEqual(entries);
	expect(await laptop.run(["-p", "--continue", "So?"], store)).toMatchObject({ code: 0 });
	expect(entriesOf(file).slice(1, 1 + all.length)).toEqual(all);
});

test("a store that is not there, or does not answer, keeps pi from nothing", async () => {
	const path = emptyDirectory();
	const one = await machine(path, "laptop", Array(3).fill({ text: "Hello" }));
	const gone = join(path, "unmounted");
	const missing = await one.run(["-p", "Hi"], { PI_SESSION_NATIVE_STORE: gone });
	expect(missing).toMatchObject({ code: 0, stdout: "Hello\n" });
	expect(missing.stderr).toContain(gone);
	expect(missing.stderr).toContain("not all is stored yet");
	expect(existsSync(gone)).toBe(false);
	// Somebody who takes connections and says nothing.
	const silent = createServer(() => {});
	await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
	onTestFinished(() => void silent.close());
	const address = `postgres://me:s3cret@127.0.0.1:${(silent.address() as AddressInfo).port}/x`;
	const held = await one.run(["-p", "Hi"], { PI_SESSION_NATIVE_STORE: address, PI_SESSION_NATIVE_STORE_TIMEOUT: "2000" });
	expect(held).toMatchObject({ code: 0, stdout: "Hello\n" });
	expect(held.stderr).toContain("the store did not answer within 2 s; pi starts with the sessions that are here");
	expect(held.stderr).not.toContain("s3cret");
	// What could not be stored goes with the next start: the session that it continues, and the one that nobody opens again.
	mkdirSync(gone);
	expect(await one.run(["-p", "--continue", "Hi"], { PI_SESSION_NATIVE_STORE: gone })).toMatchObject({ code: 0, stderr: "" });
	const { sessions } = await new DirectoryStore({ path: gone, host: "reader" }).list();
	expect(sessions.map(({ session }) => session).sort()).toEqual(one.files().map((file) => entriesOf(file)[0].id).sort());
	expect(sessions).toHaveLength(2);
});

test("a damaged store is said in a line, and what is whole is pulled", async () => {
	const path = emptyDirectory();
	const address = join(path, "store");
	mkdirSync(address);
	const [laptop, desktop] = [await machine(path, "laptop", [{ text: "One" }, { text: "Two" }]), await machine(path, "desktop", [{ text: "Three" }])];
	for (const text of ["a", "b"]) await laptop.run(["-p", text], { PI_SESSION_NATIVE_STORE: address });
	const logs = (readdirSync(address, { recursive: true }) as string[]).filter((name) => name.endsWith(".lines"));
	appendFileSync(join(address, logs.sort()[0] as string), "no batch\n");
	const run = await desktop.run(["-p", "c"], { PI_SESSION_NATIVE_STORE: address });
	expect(run.code).toBe(0);
	expect(run.stderr).toContain("it is not a batch");
	expect(desktop.files().length).toBeGreaterThan(1);
});

test.each([["PostgreSQL", inPostgres], ["a bucket", inBucket]])("%s: a session that another host uses is said in a line", async (_, start) => {
	const store = await start();
	const path = emptyDirectory();
	const env = { PI_SESSION_NATIVE_STORE: store.address, ...store.env };
	const laptop = await machine(path, "laptop", [{ text: "One" }, { text: "Two" }]);
	expect(await laptop.run(["-p", "a"], env)).toMatchObject({ code: 0, stdout: "One\n", stderr: "" });
	const desktop = store.open("desktop");
	const [stored] = (await desktop.list({ presence: true })).sessions;
	const session = stored?.session as string;
	// On the laptop pi has ended.
	expect(stored?.presence).toEqual([]);
	await desktop.setPresence(session, true);
	const shared = await laptop.run(["-p", "--continue", "b"], env);
	expect(shared).toMatchObject({ code: 0, stdout: "Two\n" });
	expect(shared.stderr).toContain(`session ${session} is in use on desktop\n`);
	expect(shared.stderr).not.toContain(PASSWORD);
	expect((await desktop.list({ presence: true })).sessions).toMatchObject([{ presence: ["desktop"], hosts: ["laptop"] }]);
});
