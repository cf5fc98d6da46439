// What never leaves a machine: private sessions, and lines that hold a secret.
import { appendFileSync, chmodSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SessionSync, loadAll } from "../../../lib/store/index.js";
import { SESSION, emptyDirectory, entry, header, ids } from "../../support/lines.js";
import { text, world } from "../../support/machines.js";

const { makePrivate, pushRules, projectIn, readSettings } = createRequire(import.meta.url)("../../../lib/store/settings.js");
const said = (id: string, content: string) => Buffer.from(JSON.stringify({ type: "message", id, parentId: null, message: { role: "user", content } }));
const settingsOf = (value: unknown, agent = emptyDirectory()) => {
	writeFileSync(join(agent, "session-store.json"), JSON.stringify(value), { mode: 0o600 });
	return agent;
};
/** Put together, so that nobody takes them for keys. */
const KEYS = [`AKIA${"ABCDEFGHIJ234567"}`, `sk-${"ant-"}${"a1".repeat(24)}`, `ghp_${"a1B2".repeat(9)}`, `AIza${"a1B2c".repeat(7)}`, `xoxb-${"1234567890-abc"}`, `-----BEGIN ${"OPENSSH PRIVATE KEY"}-----`, `hf_${"aB".repeat(17)}`, `npm_${"a1B2".repeat(9)}`, `glpat-${"a1B2".repeat(5)}`, `sk_live_${"a1B2".repeat(6)}`];

test("a line that holds a key of a provider stays here with what follows it, is told, and goes once it is redacted", async () => {
	for (const key of KEYS) {
		const { machine, begin } = world();
		const a = machine("a");
		const { secretIn } = pushRules(settingsOf({ secrets: true }));
		const sync = () => new SessionSync({ store: a.store, address: "/x", notes: a.notes, dir: a.dir, cwd: "/", project: "shop", secretIn });
		begin(a, entry("a"), said("b", `export KEY=${key}\nmore`), entry("c"));
		expect(await sync().push(), key).toMatchObject([{ error: { code: "held-back", message: expect.stringMatching(/entry b holds .*pi-sessions redact/) } }]);
		expect(ids(await loadAll(a.store, SESSION))).toEqual(["a"]);
		appendFileSync(a.file, text(entry("d")));
		expect(await sync().push()).toMatchObject([{ error: { code: "held-back" } }]);
		expect(ids(await loadAll(a.store, SESSION))).toEqual(["a"]);
		writeFileSync(a.file, readFileSync(a.file, "utf8").replace(key, "gone"));
		expect(await sync().push()).toMatchObject([{ lag: 0 }]);
		expect(ids(await loadAll(a.store, SESSION))).toEqual(["a", "b", "c", "d"]);
	}
});

test("without the setting everything is pushed, and a file has rules of the user's own", async () => {
	expect(pushRules(settingsOf({})).secretIn).toBeUndefined();
	const agent = settingsOf({ secrets: "rules.json" });
	writeFileSync(join(agent, "rules.json"), JSON.stringify({ "a customer's number": "\\bC-\\d{6}\\b" }));
	const { secretIn } = pushRules(agent);
	expect([secretIn(said("a", "it is C-123456.")), secretIn(said("a", KEYS[0] as string))]).toEqual(["a customer's number", undefined]);
	for (const [rules, message] of [["[]", /names and regular expressions/], ['{"x": "("}', /the rule "x" cannot be used/], ['{"x": 5}', /must be text/]] as const) {
		writeFileSync(join(agent, "rules.json"), rules);
		expect(() => pushRules(agent)).toThrow(message);
	}
	expect(() => pushRules(settingsOf({ secrets: "none.json" }))).toThrow(/cannot be read/);
});

test("private sessions are neither pushed nor followed, by directory and by id", async () => {
	const { machine, begin } = world();
	const a = machine("a");
	begin(a, entry("a"));
	const rules = (value: object) => pushRules(settingsOf(value));
	for (const own of [rules({ private: ["/work/secret"] }), rules({ private: [SESSION] })]) {
		const dir = a.dir;
		const sync = new SessionSync({ store: a.store, address: "/x", notes: a.notes, dir, cwd: "/work/secret/app", project: "shop", ...own });
		writeFileSync(a.file, text(header().toString().replace("/home/me/shop", "/work/secret/app"), entry("a")));
		expect(await sync.push()).toEqual([]);
		await expect(sync.push({ session: SESSION })).rejects.toThrow(/is private/);
		sync.follow({ session: SESSION, file: a.file });
		expect([await sync.flush({ timeout: 1000 }), sync.lagOf({ session: SESSION, file: a.file })]).toEqual([true, 0]);
		await sync.stop();
		expect((await a.store.list()).sessions).toEqual([]);
	}
	const { isPrivate } = rules({ private: ["~/secret", "/work/app"] });
	const of = (cwd: string) => isPrivate({ session: "x", cwd });
	expect([of(join(homedir(), "secret", "deep")), of("/work/app"), of("/work/app2"), of("/work")]).toEqual([true, true, false, false]);
});

test("a session that becomes private while it is followed is not stored any further, and neither is a fork of it", async () => {
	const { machine, begin } = world();
	const a = machine("a");
	begin(a, entry("a"));
	const agent = emptyDirectory();
	const sync = new SessionSync({ store: a.store, address: "/x", notes: a.notes, dir: a.dir, cwd: "/", project: "shop", ...pushRules(agent) });
	const [first, second] = [{ session: "fork-1", file: join(a.dir, "x_fork-1.jsonl") }, { session: "fork-2", file: join(a.dir, "x_fork-2.jsonl") }];
	const forkOf = (parent: string, { session, file }: { session: string; file: string }) =>
		writeFileSync(file, text(JSON.stringify({ ...JSON.parse(header(session).toString()), parentSession: parent }), entry("a"), entry("own")));
	sync.follow({ session: SESSION, file: a.file });
	await sync.flush({ timeout: 300_000 });
	expect(await makePrivate(agent, SESSION)).toBe(true);
	appendFileSync(a.file, text(entry("b")));
	expect([await sync.flush({ timeout: 300_000 }), sync.lagOf({ session: SESSION, file: a.file })]).toEqual([true, 0]);
	expect(ids(await loadAll(a.store, SESSION))).toEqual(["a"]);
	// A fork of a fork, and one whose parent's file is gone.
	forkOf(a.file, first);
	forkOf(first.file, second);
	for (const fork of [first, second]) sync.follow(fork);
	await sync.flush({ timeout: 300_000 });
	expect((await sync.push()).length).toBe(0);
	rmSync(a.file);
	expect([first, second].map((fork) => sync.isPrivate(fork))).toEqual([true, true]);
	await expect(sync.push({ session: "fork-2" })).rejects.toThrow(/forked from, is private/);
	await sync.stop();
	expect((await a.store.list()).sessions.map(({ session }) => session)).toEqual([SESSION]);
	// Forks of forks of each other end, too.
	forkOf(second.file, first);
	expect(pushRules(settingsOf({ private: ["other"] })).isPrivate({ ...first, cwd: "/" })).toBe(false);
});

test("marking sessions keeps the other settings, a link and the rights, and changes no file that is refused", async () => {
	const agent = settingsOf({ store: "/x", secrets: true });
	const path = join(agent, "session-store.json");
	expect((await Promise.all(["a", "b", "c", "a"].map((id) => makePrivate(agent, id)))).sort()).toEqual([false, true, true, true]);
	expect(readSettings(agent)).toMatchObject({ store: "/x", secrets: true });
	expect(readSettings(agent).private.sort()).toEqual(["a", "b", "c"]);
	expect(readdirSync(agent)).not.toContainEqual(expect.stringContaining("session-store.json."));
	if (process.platform !== "win32") {
		expect(statSync(path).mode & 0o777).toBe(0o600);
		renameSync(path, join(agent, "kept.json"));
		symlinkSync("kept.json", path);
		await makePrivate(agent, "d");
		expect(JSON.parse(readFileSync(join(agent, "kept.json"), "utf8")).private.sort()).toEqual(["a", "b", "c", "d"]);
	}
	const bad = settingsOf({ stroe: 1 });
	await expect(makePrivate(bad, "a")).rejects.toThrow(/not known, "stroe"/);
	expect(JSON.parse(readFileSync(join(bad, "session-store.json"), "utf8"))).toEqual({ stroe: 1 });
	const fresh = emptyDirectory();
	await makePrivate(fresh, "a");
	expect(readSettings(fresh).private).toEqual(["a"]);
});

test("settings that are not known, or not what they should be, are named", () => {
	expect(readSettings(emptyDirectory())).toMatchObject({ push: true, pull: true, private: [], secrets: false });
	for (const [value, message] of [[[], /must be a JSON object/], [{ stroe: "x" }, /not known, "stroe"; known are store/], [{ push: "no" }, /setting push cannot/], [{ private: "x" }, /setting private cannot/], [{ projects: { "/x": "" } }, /setting projects cannot/]] as const)
		expect(() => readSettings(settingsOf(value))).toThrow(message);
	if (process.platform === "win32") return;
	const agent = settingsOf({});
	chmodSync(join(agent, "session-store.json"), 0o604);
	expect(() => readSettings(agent)).toThrow(/chmod 600/);
});

test("a directory without a remote is a project of others only under the name that the settings give it", async () => {
	const path = emptyDirectory();
	const [app, other] = [join(path, "acme", "app"), join(path, "other", "app")];
	for (const dir of [join(app, "below"), other]) mkdirSync(dir, { recursive: true });
	const agent = settingsOf({ projects: { [app]: "acme-app" } });
	const named = async (cwd: string) => (await projectIn(cwd, "host", agent, "")).project;
	expect([await named(app), await named(join(app, "below")), await named(other)]).toEqual(["acme-app", "acme-app:below", `host:${other}`]);
	expect((await projectIn(app, "host", agent, "set")).project).toBe("set");
});
