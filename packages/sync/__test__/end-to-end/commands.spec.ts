// `pi-sync push`, `pull`, `sync` and `status`, with a store in a directory that two machines share.
import {
	appendFileSync,
	chmodSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { Result } from "../../../../__test__/support/cli.js";
import { message, snapshot, user } from "../../../../__test__/support/scratch.js";
import { add, good, lines, put, run, team, type World, withEnv } from "../support/cli.js";
import { fakeBucket } from "../support/fake-s3.js";
import { hangingDrive } from "../support/hanging-drive.js";
import { headerFileOf, library, logOf, writeSettings } from "../support/lines.js";
import { linesIn } from "../support/machines.js";

const ID = "0194aaaa-1111-7000-8000-000000000001";

const filesOf = ({ agent }: World) => {
	const root = join(agent, "sessions");
	return existsSync(root)
		? readdirSync(root).flatMap((dir) => readdirSync(join(root, dir)).map((file) => join(root, dir, file)))
		: [];
};

test("sessions reach another machine through the store", async () => {
	const { store, laptop, desktop } = team();
	const file = put(laptop, ID, [message("a", null, user("hello"))]);
	const before = snapshot(store);
	expect(await good(laptop, ["push", "--dry-run"])).toMatch(/ to be stored {2}0194aaaa/);
	expect(snapshot(store)).toEqual(before);
	expect(await good(laptop, ["push"])).toMatch(/ stored {2}0194aaaa/);
	expect(await good(laptop, ["push"])).toBe("Everything is stored\n");
	expect(await good(laptop, ["status", "--sessions"])).toMatch(
		/^SESSION +PROJECT +HOSTS +SIZE +AGE( +IN USE BY)?\n0194aaaa\S+ +shop +laptop +\d+ B/,
	);
	expect(await good(desktop, ["pull", "--dry-run"])).toContain("to be pulled");
	expect(filesOf(desktop)).toEqual([]);
	expect(await good(desktop, ["pull"])).toMatch(/^1 line added {2}0194aaaa/);
	const [pulled] = filesOf(desktop) as [string];
	const [head, ...entries] = readFileSync(pulled, "utf8").trimEnd().split("\n");
	expect(JSON.parse(head as string)).toMatchObject({ id: ID, cwd: desktop.cwd });
	expect(entries).toEqual(linesIn(file));
	expect(await good(desktop, ["list"])).toContain("hello");
	add(pulled, message("b", "a", user("and on")));
	const synced = JSON.parse(await good(desktop, ["sync", ID.slice(0, 8), "--json"]));
	expect(synced).toMatchObject({ store, host: "desktop", sessions: [{ session: ID, file: pulled }] });
	expect(await good(laptop, ["sync", "--all"])).toMatch(/^1 line added/);
	expect(linesIn(file)).toEqual(linesIn(pulled));
	expect(await good(laptop, ["sync"])).toContain("Nothing to do");
});

test("a push that failed is continued by the next one", async () => {
	const { laptop, desktop } = team();
	put(
		laptop,
		ID,
		["a", "b", "c"].map((id) => message(id, null, user(id.repeat(1 << 20)))),
	);
	const preload = join(laptop.cwd, "flaky.cjs");
	writeFileSync(
		preload,
		`
		const { DirectoryStore, StoreError } = require(${JSON.stringify(library)});
		const { append } = DirectoryStore.prototype;
		let calls = 0;
		DirectoryStore.prototype.append = function (...args) {
			return calls++ > 0 ? Promise.reject(new StoreError("unreachable", "away")) : append.apply(this, args);
		};`,
	);
	const failed = await run(laptop, ["push"], { NODE_OPTIONS: `--require ${preload}` });
	expect(failed).toMatchObject({ code: 1, out: expect.stringMatching(/^failed .*: away\n$/) });
	expect(await good(laptop, ["push"])).toMatch(/^2\.0 MiB stored {2}0194aaaa/);
	expect(await good(desktop, ["pull"])).toMatch(/^3 lines added/);
});

test("a private settings file may name the store", async () => {
	const { store, laptop } = team();
	put(laptop, ID, [message("a", null, user("hello"))]);
	const file = join(laptop.agent, "session-store.json");
	const at = withEnv(laptop, { PI_SYNC_STORE: undefined });
	writeFileSync(file, JSON.stringify({ store }), { mode: 0o600 });
	expect(await good(at, ["push"])).toMatch(/ stored {2}0194aaaa/);
	expect(await good(laptop, ["push"])).toBe("Everything is stored\n");
	writeFileSync(file, "[]");
	expect((await run(at, ["push"])).err).toContain(
		'must be a JSON object such as {"store": "postgres://me@host/database"}',
	);
	if (process.platform === "win32") return;
	chmodSync(file, 0o640);
	expect(await run(at, ["push"])).toMatchObject({
		code: 1,
		err: `Error: ${file} may contain a password, and others may read or change it: chmod 600 ${file}\n`,
	});
});

// Regression: they were skipped without a message.
test("a push names files that it does not store", async () => {
	const { laptop } = team();
	const file = put(laptop, ID, [message("a", null, user("hello"))]);
	const beside = (name: string, text: string) => writeFileSync(join(dirname(file), name), `${text}\n`);
	beside("old.jsonl", '{"type":"session","version":2,"id":"x","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}');
	beside("later.jsonl", '{"type":"session","version":4,"id":"y","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}');
	beside("odd.jsonl", '{"type":"session","version":3,"id":"../z","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}');
	beside("notes.jsonl", "not a session");
	const { code, out, err } = await run(laptop, ["push"]);
	expect(out).toMatch(/ stored {2}0194aaaa/);
	expect(code).toBe(0);
	const told = err.trimEnd().split("\n").sort();
	expect(told).toHaveLength(4);
	for (const [index, why] of [
		/later\.jsonl: .*install a newer/,
		/notes\.jsonl: .*no header/,
		/odd\.jsonl: Not an id of a session/,
		/old\.jsonl: .*open it once/,
	].entries())
		expect(told[index]).toMatch(why);
	// The result for a named session does not depend on the others.
	expect((await run(laptop, ["push", ID])).err).toBe("");
	// If a named session cannot be stored, the command says why.
	const dir = dirname(file);
	for (const [name, why] of [
		["later", "install a newer"],
		["notes", "no header"],
		["odd", "Not an id of a session"],
		["old", "open it once"],
	])
		expect((await run(laptop, ["push", join(dir, `${name}.jsonl`)])).err).toMatch(
			new RegExp(`A store cannot contain .*${name}\\.jsonl: .*${why}`),
		);
});

test("a named pull restores a deleted session file", async () => {
	const { laptop, desktop } = team();
	put(laptop, ID, [message("a", null, user("hello"))]);
	await good(laptop, ["push"]);
	await good(desktop, ["pull"]);
	for (const file of filesOf(desktop)) rmSync(file);
	expect(await good(desktop, ["pull"])).toBe("The store has nothing new\n");
	const other = withEnv(desktop, { PI_SYNC_PROJECT: "another" });
	expect(await good(other, ["pull"])).toBe("The store has nothing new\n");
	expect(await good(other, ["status", "--sessions"])).toContain("--all lists the sessions of every project");
	expect(await good(other, ["status", "--sessions", "--all"])).toContain("shop");
	expect(await good(desktop, ["pull", "0194"])).toMatch(/1 line added/);
});

// Regression: the headers of all sessions of all projects were requested.
test("a short id asks for no headers of other sessions", async () => {
	const bucket = await fakeBucket(() => 0);
	for (const id of ["first", "second", "third"]) bucket.put(`${id}-session`, { at: Date.now() });
	const { laptop } = team();
	const at = withEnv(laptop, { ...bucket.env, PI_SYNC_STORE: bucket.address });
	const headers = async (...args: string[]) => {
		bucket.asked.length = 0;
		await good(at, args);
		// The argument may be the beginning of an id.
		return new Set(bucket.asked.filter((key) => key.startsWith("headers/")));
	};
	for (const args of [
		["status", "--sessions"],
		["status", "--sessions", "--all"],
	])
		expect(await headers(...args)).toEqual(new Set());
	expect(await headers("pull", "--all", "--dry-run")).toEqual(new Set());
	expect(await headers("delete", "sec", "--dry-run")).toEqual(new Set());
	expect(await headers("pull", "sec", "--dry-run")).toEqual(new Set());
	expect(await headers("sync", "sec")).toEqual(new Set(["headers/second-session"]));
});

test("a pull creates the directory that --dir names", async () => {
	const { laptop } = team();
	put(laptop, ID, [message("a", null, user("hello"))]);
	mkdirSync(join(laptop.cwd, "store"));
	await good(laptop, ["push", ID, "--store", "./store"]);
	expect(await good(laptop, ["pull", ID, "--store", "./store", "--dir", "./pulled"])).toContain(ID);
	expect(readdirSync(join(laptop.cwd, "pulled"))).toHaveLength(1);
});

// Regression: a dry run reported that everything was stored.
test("pushing a named private session fails, even in dry runs", async () => {
	const { laptop } = team();
	const file = put(laptop, ID, [message("a", null, user("hello"))]);
	writeSettings(laptop.agent, { private: [ID] });
	for (const args of [[ID], [ID, "--dry-run"], [file]])
		expect(await run(laptop, ["push", ...args])).toMatchObject({
			code: 1,
			out: "",
			err: expect.stringContaining(
				"is private and is not pushed: private in session-store.json lists the session, its directory",
			),
		});
	// Regression: it reported that everything was stored.
	for (const args of [["push"], ["push", "--dry-run"]])
		expect(await good(laptop, args)).toBe("Everything is stored, except 1 private session\n");
	expect(await good(laptop, ["status", "--sessions"])).toContain("No sessions in ");
});

test("pulls and syncs accept the path of a session", async () => {
	const { laptop, desktop } = team();
	const file = put(laptop, ID, [message("a", null, user("hello"))]);
	await good(laptop, ["sync", file]);
	await good(desktop, ["pull"]);
	const [pulled] = filesOf(desktop) as [string];
	for (const [id, command] of [
		["b", "sync"],
		["c", "pull"],
	] as const) {
		add(pulled, message(id, "a", user("and on")));
		await good(desktop, ["push"]);
		expect(await good(laptop, [command, file])).toMatch(/^1 line added/);
	}
	expect(linesIn(file)).toEqual(linesIn(pulled));
});

// Regression: for each working directory with sessions here, git ran and a warning was printed.
test("a named pull runs git for one directory only", async () => {
	const { laptop, desktop } = team();
	put(laptop, "s-1", [message("a", null, user("hello"))]);
	await good(laptop, ["push"]);
	await good(desktop, ["pull"]);
	const file = filesOf(desktop)[0] as string;
	for (const name of ["x", "y"]) {
		const dir = join(desktop.agent, "sessions", `--${name}--`);
		mkdirSync(dir);
		writeFileSync(
			join(dir, `${name}.jsonl`),
			`${JSON.stringify({ type: "session", version: 3, id: name, cwd: `/nowhere/${name}` })}\n`,
		);
	}
	const at = withEnv(desktop, { PI_SYNC_PROJECT: undefined });
	writeSettings(at.agent, { projects: { [at.cwd]: "shop" } });
	rmSync(file);
	for (const first of [true, false]) {
		const pulled = await run(at, ["pull", "s-1"]);
		expect(pulled).toMatchObject({
			code: 0,
			err: "",
			out: first ? expect.stringMatching(/^1 line added {2}s-1/) : "The store has nothing new\n",
		});
		expect(filesOf(at)).toContain(file);
	}
	expect((await run(at, ["pull", "--all"])).err).toContain("git failed in /nowhere/x, so");
});

// Regression: the sessions of every directory were stored as sessions of that project.
test("PI_SYNC_PROJECT names the working directory's project alone", async () => {
	const { laptop } = team();
	const elsewhere = join(laptop.cwd, "../elsewhere");
	mkdirSync(elsewhere);
	put(laptop, "s-1", [message("a", null, user("hello"))]);
	put(laptop, "s-2", [message("b", null, user("hello"))], { cwd: elsewhere });
	expect((await run(laptop, ["push", "--all"])).err).toContain(`${elsewhere} has no git remote`);
	const status = JSON.parse(await good(laptop, ["status", "--all", "--sessions", "--json"]));
	const projects = status.sessions.map(({ session, project }: { session: string; project: string }) => [
		session,
		project,
	]);
	expect(Object.fromEntries(projects)).toEqual({ "s-1": "shop", "s-2": `laptop:${elsewhere}` });
});

test("a named unreadable session is reported as unreadable", async () => {
	const { store, laptop, desktop } = team();
	put(laptop, "s-1", [message("a", null, user("hello"))]);
	await good(laptop, ["push"]);
	const head = join(store, headerFileOf("s-1"));
	writeFileSync(head, readFileSync(head, "utf8").replace('"id":"s-1"', '"id":"s-9"'));
	const all = await run(desktop, ["pull"]);
	expect(all).toMatchObject({
		code: 1,
		out: expect.stringMatching(/^failed {2}s-1: headers\/s-1: the header belongs to session "s-9"\n$/),
	});
	for (const args of [
		["pull", "s-1"],
		["pull", "s-"],
		["sync", "s-1"],
	])
		expect(await run(desktop, args)).toEqual({ ...all, err: "" });
	// If the file exists, the header is not needed.
	expect(await run(laptop, ["pull", "s-1"])).toMatchObject({ code: 0, out: "The store has nothing new\n" });
	expect(await run(desktop, ["pull", "s-2"])).toMatchObject({
		code: 1,
		err: 'Error: No stored session has an id that begins with "s-2"; pi-sync status --all --sessions shows them\n',
	});
	expect(filesOf(desktop)).toEqual([]);
});

// Regression: they waited for the drive, and could not even be killed.
test("no command waits for a drive that hangs", async () => {
	const { laptop } = team();
	const file = put(laptop, ID, [message("a", null, user("hello"))]);
	const drive = await hangingDrive();
	const at = withEnv(laptop, { PI_SYNC_STORE: drive });
	const why = "the store did not answer within 10 s";
	const said = `${drive}: ${why}`;
	// Each waits for ten seconds.
	const [status, json, redacted, ...others] = (await Promise.all(
		[
			["status"],
			["status", "--json"],
			["redact", ID, "--text", "hello"],
			["push"],
			["pull"],
			["status", "--sessions"],
		].map((args) => run(at, args)),
	)) as [Result, Result, Result, ...Result[]];
	expect(status).toMatchObject({ code: 1, out: expect.stringContaining(`Store    ${drive}  ${why}\n`) });
	expect(status.out).toMatch(
		/^Project {2}shop: its stored sessions are not known\n {2}1 session to be stored\n {4}0194aaaa/m,
	);
	expect(JSON.parse(json.out)).toMatchObject({
		unreachable: said,
		projects: [{ project: "shop", toPush: [{ session: ID }] }],
	});
	for (const one of others) expect(one).toMatchObject({ err: expect.stringContaining(said), out: "" });
	// The text is redacted on the machine where it was written.
	expect(redacted).toMatchObject({
		code: 1,
		err: expect.stringContaining(said),
		out: expect.stringContaining(
			"the one that is named did not answer: run this command again when the store answers; the next push or pull",
		),
	});
	expect(readFileSync(file, "utf8")).not.toContain("hello");
});

// Regression: they reported that everything was stored, by the notes of this machine.
test("dry pushes and status notice an emptied store", async () => {
	const { store, laptop } = team();
	const [other, secret, gone] = ["2", "3", "4"].map((end) => ID.replace(/1$/, end)) as [string, string, string];
	for (const id of [ID, other, secret, gone]) put(laptop, id, [message("a", null, user("hello"))]);
	await good(laptop, ["push"]);
	await good(laptop, ["delete", gone, "--yes"]);
	await good(laptop, ["push"]);
	writeSettings(laptop.agent, { private: [secret] });
	const toStore = async (args: string[], env = {}) =>
		JSON.parse(await good(laptop, [...args, "--json"], env)).sessions.map((one: { session: string }) => one.session);
	const dryRuns = [["push"], ["push", "--all"], ["sync"]].map((args) => [...args, "--dry-run"]);
	// Also under another name of its project.
	for (const env of [{}, { PI_SYNC_PROJECT: "renamed" }]) {
		for (const args of dryRuns.slice(0, 2)) expect(await toStore(args, env)).toEqual([]);
		expect(await good(laptop, ["status"], env)).not.toContain("to be stored");
	}
	expect(await good(laptop, ["push", gone, "--dry-run"])).toContain("deleted from the store");
	renameSync(store, `${store}-away`);
	mkdirSync(store);
	for (const args of dryRuns) expect(await toStore(args)).toEqual([ID, other, gone]);
	expect(await toStore(["push", other, "--dry-run"])).toEqual([other]);
	const shown = /3 sessions to be stored\n {4}0194aaaa\S+ {2}\d+ B: the store does not contain it any more/;
	expect(await good(laptop, ["status", "--all"])).toMatch(shown);
	expect(await toStore(["push"])).toEqual([ID, other, gone]);
});

// Regression: it reported a change, although no other machine had stored anything.
test("a dry pull says that sessions may have changed", async () => {
	const { laptop } = team();
	put(laptop, ID, [message("a", null, user("hello"))]);
	await good(laptop, ["push"]);
	expect(await good(laptop, ["pull", "--dry-run"])).toMatch(/^may have changed since the last pull {2}0194aaaa/);
	expect(await good(laptop, ["pull"])).toBe("The store has nothing new\n");
	expect(await good(laptop, ["pull", "--dry-run"])).toBe("The store has nothing new\n");
});

test("a damaged file in the store delays no other session", async () => {
	const { store, laptop, desktop } = team();
	put(laptop, ID, [message("a", null, user("hello"))]);
	put(laptop, ID.replace(/1$/, "2"), [message("a", null, user("hello too"))]);
	await good(laptop, ["push"]);
	appendFileSync(join(store, logOf("laptop", { session: ID, project: "shop" })), "no batch\n");
	mkdirSync(join(store, dirname(logOf("laptop", { session: "no-such-session", project: "shop" }))), {
		recursive: true,
	});
	const { code, out } = await run(desktop, ["pull"]);
	expect(code).toBe(1);
	expect(lines(out).join("\n")).toContain("it is not a batch");
	expect(filesOf(desktop)).toHaveLength(2);
});
