// The process beside pi, without pi: which entries it stores and pulls while a session is open, and after it was
// closed.
import { appendFileSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { runProgram } from "../../../../__test__/support/cli.js";
import { testIf } from "../../../../__test__/support/windows.js";
import { loadAll } from "../../lib/index.js";
import { LONG, machine } from "../support/beside.js";
import { brokenGit } from "../support/broken-git.js";
import { piSync } from "../support/cli.js";
import { emptyDirectory, entry, header, ids, openDirectory, writeSettings } from "../support/lines.js";
import { idsIn } from "../support/machines.js";

const stored = (address: string) => {
	const store = openDirectory(address, "reader");
	return {
		ids: async (session: string) => ids(await loadAll(store, session)),
		sessions: async () => (await store.list()).sessions.map(({ session }) => session),
		append: async (session: string, ...lines: Buffer[]) =>
			store.append(session, {
				header: header(session),
				lines,
				project: "shop",
				after: (await loadAll(store, session)).cursor,
			}),
	};
};

test("an open session is stored while it grows", async () => {
	const address = emptyDirectory();
	const at = machine(address);
	const beside = at.open("s1");
	// A session gets its file with its first message.
	const file = at.put("s1", entry("a"));
	await vi.waitFor(async () => expect(await stored(address).ids("s1")).toEqual(["a"]), LONG);
	appendFileSync(file, `${entry("b")}\n`);
	await vi.waitFor(async () => expect(await stored(address).ids("s1")).toEqual(["a", "b"]), LONG);
	expect(at.pending()).toHaveLength(1);
	appendFileSync(file, `${entry("c")}\n`);
	expect(await beside.close()).toBe("done\n");
	expect(await stored(address).ids("s1")).toEqual(["a", "b", "c"]);
	expect(at.pending()).toEqual([]);
});

test("others' lines come into a session once it is closed", async () => {
	const address = emptyDirectory();
	const at = machine(address);
	const file = at.put("s1", entry("a"));
	const beside = at.open("s1");
	await vi.waitFor(async () => expect(await stored(address).ids("s1")).toEqual(["a"]), LONG);
	await stored(address).append("s1", entry("theirs"));
	await stored(address).append("s2", entry("x"));
	await vi.waitFor(() => expect(at.here()).toHaveLength(2), LONG);
	expect(idsIn(file)).toEqual(["a"]);
	expect(await beside.close()).toBe("done\n");
	expect(idsIn(file)).toEqual(["a", "theirs"]);
});

test("nothing is pulled into a session that another pi opened", async () => {
	const address = emptyDirectory();
	const at = machine(address);
	for (const session of ["s1", "s2"]) at.put(session, entry("a"));
	const [first, second] = [at.open("s1"), at.open("s2")];
	await vi.waitFor(async () => expect((await stored(address).sessions()).sort()).toEqual(["s1", "s2"]), LONG);
	await stored(address).append("s2", entry("theirs"));
	await stored(address).append("s3", entry("x"));
	await vi.waitFor(() => expect(at.here()).toHaveLength(3), LONG);
	await first.close();
	expect(idsIn(at.fileOf("s2"))).toEqual(["a"]);
	await second.close();
	expect(idsIn(at.fileOf("s2"))).toEqual(["a", "theirs"]);
});

test("the next process stores the lines of a killed one", async () => {
	const address = emptyDirectory();
	const at = machine(address);
	const away = `${address}-away`;
	renameSync(address, away);
	const file = at.put("s1", entry("a"));
	const killed = at.open("s1");
	await vi.waitFor(() => expect(at.pending()).toHaveLength(1), LONG);
	killed.kill();
	// It is not stored either if the store is not there.
	expect(await at.open("s1").close()).toBe("");
	renameSync(away, address);
	at.put("s2", entry("b"));
	const next = at.open("s2");
	await vi.waitFor(async () => expect((await stored(address).sessions()).sort()).toEqual(["s1", "s2"]), LONG);
	expect(await next.close()).toBe("done\n");
	expect(at.pending()).toEqual([]);
	// The killed process does not prevent its session from being pulled, either.
	await stored(address).append("s1", entry("theirs"));
	const last = at.open("s2");
	await vi.waitFor(() => expect(idsIn(file)).toEqual(["a", "theirs"]), LONG);
	await last.close();
});

test("a failed push is repeated while the session is open", async () => {
	const address = emptyDirectory();
	const at = machine(address);
	renameSync(address, `${address}-away`);
	at.put("s1", entry("a"));
	const beside = at.open("s1");
	await vi.waitFor(() => expect(existsSync(join(at.agent, "session-stores"))).toBe(true), LONG);
	await vi.waitFor(() => expect(readdirSync(join(at.agent, "session-stores")).join()).toContain("errors-"), LONG);
	renameSync(`${address}-away`, address);
	await vi.waitFor(async () => expect(await stored(address).ids("s1")).toEqual(["a"]), LONG);
	expect(await beside.close()).toBe("done\n");
});

// Regression: if git failed once, the session was stored for ever under a project of this machine, and nobody was told.
testIf(process.platform !== "win32", "Windows: a script is not a program")(
	"a failure of git does not determine the project",
	async () => {
		const address = emptyDirectory();
		const git = brokenGit();
		const at = machine(address, git.env);
		at.put("s1", entry("a"));
		// A process that ends before git works again leaves the session to a later one.
		expect(await at.open("s1").close()).toBe("");
		expect(at.pending()).toHaveLength(1);
		const beside = at.open("s1");
		await vi.waitFor(() => expect(readdirSync(join(at.agent, "session-stores")).join()).toContain("errors-"), LONG);
		const status = () => runProgram(process.execPath, [piSync, "status"], { cwd: at.work, env: at.env });
		expect(await status()).toMatchObject({
			code: 1,
			out: expect.stringMatching(/failed .* session s1: git failed in .*: Input\/output error\n/),
		});
		expect(await stored(address).sessions()).toEqual([]);
		git.mend();
		await vi.waitFor(async () => expect(await stored(address).ids("s1")).toEqual(["a"]), LONG);
		expect(await beside.close()).toBe("done\n");
		expect((await openDirectory(address, "reader").list()).sessions).toMatchObject([
			{ session: "s1", project: "example.org/me/shop" },
		]);
		expect(at.pending()).toEqual([]);
		expect(await status()).toMatchObject({ code: 0, err: "" });
	},
);

test("settings say that nothing is pushed, or pulled", async () => {
	const address = emptyDirectory();
	const at = machine(address);
	writeSettings(at.agent, { push: false });
	await stored(address).append("s2", entry("x"));
	at.put("s1", entry("a"));
	const beside = at.open("s1");
	await vi.waitFor(() => expect(at.here()).toHaveLength(2), LONG);
	await beside.close();
	expect(await stored(address).sessions()).toEqual(["s2"]);
	writeSettings(at.agent, { pull: false });
	await stored(address).append("s3", entry("x"));
	expect(await at.open("s1").close()).toBe("done\n");
	expect(at.here()).toHaveLength(2);
	expect((await stored(address).sessions()).sort()).toEqual(["s1", "s2", "s3"]);
});

// Regression: if the session could not be stored, each opening left two files for ever.
test("a session that cannot be stored leaves no files", async () => {
	const address = emptyDirectory();
	const at = machine(address);
	writeSettings(at.agent, { secrets: true });
	at.put("s1", entry("a"), `{"type":"message","id":"b","parentId":"a","text":"ghp_${"a".repeat(36)}"}`);
	for (const _ of [1, 2]) {
		const killed = at.open("s1");
		await vi.waitFor(() => expect(at.pending()).toHaveLength(1), LONG);
		killed.kill();
	}
	expect(at.pending()).toHaveLength(1);
	expect(await at.open("s1").close()).toBe("refused\n");
	expect(at.pending()).toEqual([]);
	const file = at.put("s2", entry("a"));
	expect(await at.open("s2").close()).toBe("done\n");
	await openDirectory(address, "reader").delete("s2");
	appendFileSync(file, `${entry("b")}\n`);
	expect(await at.open("s2").close()).toBe("done\n");
	expect(at.pending()).toEqual([]);
	expect(readdirSync(join(at.agent, "session-stores/locks/open"))).toEqual([]);
});

// Regression: it was forgotten, and only `pi-sync push` in its project stored it.
test("a session is stored once its store is mended", async () => {
	const address = emptyDirectory();
	const at = machine(address);
	await stored(address).append("s3", entry("x"));
	const layout = join(address, "store.json");
	const text = readFileSync(layout, "utf8");
	writeFileSync(layout, text.replace(/"version":\d+/, '"version":99'));
	at.put("s1", entry("a"));
	expect(await at.open("s1").close()).toBe("refused\n");
	const left = at.pending();
	expect(left).toHaveLength(1);
	writeFileSync(layout, text);
	const next = at.open("s2");
	await vi.waitFor(async () => expect(await stored(address).sessions()).toEqual(["s1", "s3"]), LONG);
	// The file is removed after the lines are stored.
	await vi.waitFor(() => expect(at.pending()).not.toEqual(expect.arrayContaining(left)), LONG);
	expect(await next.close()).toBe("done\n");
	expect(at.pending()).toEqual([]);
});

// Regression: the process reported to nobody that the session was deleted, and pi-sync push printed nothing.
test("pi and a command report a deletion from the store", async () => {
	const address = emptyDirectory();
	const at = machine(address);
	const file = at.put("s1", entry("a"));
	expect(await at.open("s1").close()).toBe("done\n");
	await openDirectory(address, "reader").delete("s1");
	// Nothing is added.
	expect(await at.open("s1").close()).toBe("done\n");
	const beside = at.open("s1");
	// Regression: if pi wrote before the process had started, its answer was that nothing is left to store.
	appendFileSync(file, `${entry("b")}\n`);
	expect(await beside.close()).toBe("deleted\n");
	const push = () => runProgram(process.execPath, [piSync, "push"], { cwd: at.work, env: at.env });
	expect((await push()).out).toMatch(/deleted.*s1/);
	expect((await push()).out).not.toContain("s1");
});
