// `pi-sync redact`, `delete`, `status` and `move`.
import {
	appendFileSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { SessionManager } from "pi-session-native";
import { expect, test } from "vitest";
import { runWithoutRights } from "../../../../__test__/support/cli.js";
import {
	countsOtherFiles,
	countsOtherLines,
	FORK,
	ID,
	redactsEverywhere,
	SECRET,
	tellsOfTheCatalog,
} from "../../../../__test__/support/redaction.js";
import { message, user } from "../../../../__test__/support/scratch.js";
import { loadAll } from "../../lib/index.js";
import { add, good, piSync, put, run, team, withEnv, world } from "../support/cli.js";
import { entry, openDirectory, header as storedHeader, storedLines, writeSettings } from "../support/lines.js";

const command = {
	bin: piSync,
	run,
	good,
	notReached: "stores: none is named",
};

test("a text leaves the session, its backups and copies", async () => {
	const { at, file } = await redactsEverywhere(command);
	// Regression: it did not name the error in the replacement.
	const { code, out } = await run(at, ["redact", "0194aaaa", "--text", "[redacted]", "--replacement", "hunter2"]);
	expect([code, out]).toEqual([
		1,
		expect.stringContaining(
			"a replacement must not restore a line that another redaction removed: choose another replacement",
		),
	]);
	expect(readFileSync(file, "utf8")).not.toContain("hunter2");
});

// Regression: the second run redacted the backup, and did not name it.
test("a repeated redaction names backups", async () => {
	const { laptop } = team();
	const file = put(laptop, ID, [message("a", null, user(SECRET))]);
	writeFileSync(`${file}.bak`, readFileSync(file));
	const manager = SessionManager.open(file, { lock: "exclusive" });
	expect((await run(laptop, ["redact", ID, "--text", "hunter2"])).code).toBe(1);
	manager.close();
	expect(await good(laptop, ["redact", ID, "--text", "hunter2"])).toContain(": 1 line here, 1 backup\n");
	expect(readFileSync(`${file}.bak`, "utf8")).not.toContain("hunter2");
});

// Regression: the exit code was 0, and the second run said that the text was gone.
test("each run fails while the catalog cannot be cleaned", async () => {
	await tellsOfTheCatalog(command);
});

// Regression: only folders with a session file were searched. If the session no longer contained the text, only its own
// folder was searched. A folder whose first file is a broken link was not searched, and a dry run did not name the
// temporary files.
test("temporary files of killed processes are removed everywhere", async () => {
	const { laptop } = team();
	const other = join(dirname(dirname(put(laptop, ID, [message("a", null, user("hello"))]))), "--other--");
	mkdirSync(other);
	symlinkSync("gone", join(other, "a.jsonl"));
	const left = join(other, `.pi-session-${"0123456789abcdef".repeat(2)}.tmp`);
	writeFileSync(left, `${JSON.stringify(message("a", null, user(SECRET)))}\n`);
	expect(await good(laptop, ["redact", "0194aaaa", "--text", "hunter2"])).toContain(`removed  ${other}: 1 temporary`);
	expect(existsSync(left)).toBe(false);
});

// Regression: a dry run always ended with 0, and no line counted the files.
test("files without the text are counted, and are no failures", async () => {
	await countsOtherFiles(command);
});

// Regression: they were counted as "without", because only copies of the redacted entries were searched.
test("files with the text in other entries are only named", async () => {
	await countsOtherLines(command);
});

// Regression: the command ended with ELOOP or EACCES before it had redacted the named session.
test("looping links and unreadable folders keep nothing from being redacted", async () => {
	const { laptop } = team();
	const file = put(laptop, ID, [message("a", null, user(SECRET))]);
	const sessions = dirname(dirname(file));
	symlinkSync("--loop--", join(sessions, "--loop--"));
	symlinkSync("loop.jsonl", join(dirname(file), "loop.jsonl"));
	const locked = join(sessions, "--locked--");
	mkdirSync(locked, { mode: 0 });
	const { code, out } = await runWithoutRights(laptop, ["redact", "0194aaaa", "--text", "hunter2"], piSync);
	expect(out).toContain(`redacted  ${file}: 1 line`);
	expect([code, out.match(/^failed .*/gm)]).toEqual([1, [expect.stringContaining(`failed  ${locked}: `)]]);
	expect(readFileSync(file, "utf8")).not.toContain("hunter2");
});

// Regression: they were not searched, and no line said so.
test("the command and pulls redact sessions of subagents", async () => {
	const { laptop, desktop } = team();
	const below = (path: string, name: string, lines: object[]) => {
		const folder = join(path.replace(/\.jsonl$/, ""), "abc", "run-0");
		mkdirSync(folder, { recursive: true });
		const file = join(folder, `${name}.jsonl`);
		writeFileSync(file, [String(storedHeader(name)), ...lines.map((line) => JSON.stringify(line)), ""].join("\n"));
		return file;
	};
	const [secret, more] = [
		message("b", null, user(SECRET)),
		message("c", "b", user("hunter2, which the subagent was told")),
	];
	const path = put(laptop, ID, [secret]);
	writeSettings(laptop.agent, { projects: { "/home/me/shop": "shop" } });
	const [own, others] = [
		below(path, "own", [secret, more]),
		below(put(laptop, FORK, [message("x", null, user("hello"))]), "others", [secret, more]),
	];
	await good(laptop, ["push", ID]);
	await good(desktop, ["pull"]);
	const [pulled] = JSON.parse(await good(desktop, ["list", "--json"])) as [{ path: string }];
	const theirs = below(pulled.path, "theirs", [secret]);
	const out = await good(laptop, ["redact", ID, "--text", "hunter2"]);
	for (const file of [own, others]) expect(out).toContain(file);
	expect(out).toContain("forks that only the store contains");
	expect([own, others].map((file) => readFileSync(file, "utf8").match(/hunter2[^"]*/g))).toEqual([
		null,
		["hunter2, which the subagent was told"],
	]);
	await good(desktop, ["pull"]);
	expect(readFileSync(theirs, "utf8")).not.toContain("hunter2");
	writeFileSync(own, readFileSync(own, "utf8").replace("[redacted]", "swordfish"));
	expect(await good(laptop, ["redact", ID, "--text", "swordfish"])).toContain(own);
});

// Regression: pi deletes only the file of a session. After that its subagents' sessions were not searched.
test("subagents' sessions are redacted after their main session's deletion", async () => {
	const { laptop } = team();
	const secret = message("a", null, user(SECRET));
	const main = put(laptop, FORK, [secret]);
	const below = join(main.replace(/\.jsonl$/, ""), "r1", "run-0");
	mkdirSync(below, { recursive: true });
	renameSync(main, join(below, "session.jsonl"));
	put(laptop, ID, [secret]);
	expect(await good(laptop, ["redact", ID, "--text", "hunter2"])).toContain(join(below, "session.jsonl"));
	expect(readFileSync(join(below, "session.jsonl"), "utf8")).not.toContain("hunter2");
});

test("a locked session is redacted before the next push", async () => {
	const { store, laptop } = team();
	const file = put(laptop, ID, [message("a", null, user(SECRET))]);
	await good(laptop, ["push"]);
	const manager = SessionManager.open(file, { lock: "exclusive" });
	const { code, out } = await run(laptop, ["redact", "0194aaaa", "--text", "hunter2"]);
	expect([code, out]).toEqual([
		1,
		expect.stringMatching(`locked by process ${process.pid}: [\\s\\S]*another process has locked the session: end it`),
	]);
	manager.close();
	await good(laptop, ["push"]);
	const stored = await loadAll(openDirectory(store, "reader"), ID);
	expect([readFileSync(file, "utf8"), ...stored.lines.map(({ line }) => line.toString())].join()).not.toContain(
		"hunter2",
	);
});

test("text that cannot be replaced makes the command fail", async () => {
	const at = world();
	put(at, ID, [message("a", null, user(SECRET))]);
	const { code, out } = await run(at, ["redact", "0194aaaa", "--text", "0194"]);
	expect([code, out]).toEqual([
		1,
		expect.stringContaining("1 line still contains the text where it cannot be replaced: in a header"),
	]);
});

test("a deleted session keeps its file, and can be forked", async () => {
	const { store, machine, laptop, desktop } = team();
	put(laptop, ID, [message("a", null, user("hello"))]);
	await good(laptop, ["push"]);
	// Regression: it did not say what to do.
	const redacted = await run(desktop, ["redact", ID, "--text", "hello"]);
	expect(redacted).toMatchObject({
		code: 1,
		err: expect.stringMatching(
			/^Error: No session has an id that begins with .*; pi-sessions list --all shows the sessions of this machine, and pi-sync pull <session> adds a stored session\n$/,
		),
	});
	await good(desktop, ["pull"]);
	expect(await good(desktop, ["delete", "0194", "--dry-run"])).toContain("would delete");
	expect(await good(desktop, ["delete", "0194", "--yes"])).toContain(
		`deleted  ${ID} from ${store}; its files on machines stay\n`,
	);
	expect((await openDirectory(store, "reader").list()).sessions).toEqual([]);
	// Regression: it reported that no such session was stored.
	expect(await good(laptop, ["pull", ID])).toMatch(/^deleted from the store, its file stays .* {2}0194aaaa/);
	expect(await run(machine("phone"), ["pull", ID])).toMatchObject({
		code: 1,
		err: `Error: Session ${ID} was deleted from the store, and has no file on this machine\n`,
	});
	const fork = `To store it again, make a fork: pi-sessions fork ${ID}`;
	for (const command of [
		["push", "0194"],
		["sync", "0194"],
	]) {
		const { code, out } = await run(laptop, command);
		expect([code, out]).toEqual([
			1,
			expect.stringContaining(`was deleted from the store, and its file stays. ${fork}`),
		]);
		appendFileSync(
			JSON.parse(await good(laptop, ["list", "--json"]))[0].path,
			`${JSON.stringify(message(`n${command.length}`, "a", user("more")))}\n`,
		);
	}
	// Regression: after that each push and sync of the project failed, or named the session for ever.
	expect(await good(desktop, ["sync"])).toMatch(/^deleted from the store.* {2}0194aaaa\S+.*\n$/);
	for (const at of [laptop, desktop])
		for (const command of ["push", "pull", "sync"])
			expect(await good(at, [command])).not.toContain("deleted from the store");
	expect(await good(desktop, ["status"])).toContain("1 session deleted from the store, with a file on this machine");
	await good(laptop, ["fork", "0194"]);
	expect(await good(laptop, ["push"])).toMatch(/ stored {2}(?!0194aaaa)/);
	expect((await run(desktop, ["delete", "0199", "--yes"])).code).toBe(1);
});

test("status shows stored and waiting sessions, and the last errors", async () => {
	const { store, machine, desktop } = team();
	const laptop = machine("anna-laptop-0a1b2c3d");
	const file = put(laptop, ID, [message("a", null, user("hello"))]);
	const fresh = await good(laptop, ["status"]);
	expect(fresh).toMatch(
		/^Store {4}\S+\nHost {5}anna-laptop-0a1b2c3d\nProject {2}shop: 0 stored sessions, 0 B\n {2}1 session to be stored\n {4}0194aaaa\S+ {2}\d+ B: never pushed\n$/,
	);
	await good(laptop, ["push"]);
	// Regression: status reported a session to pull.
	expect(await good(laptop, ["status"])).toMatch(
		/shop: 1 stored session, \d+ B, by anna-laptop-0a1b2c3d, last changed now\n$/,
	);
	const other = JSON.parse(await good(desktop, ["status", "--json"]));
	expect(other).toMatchObject({
		store,
		host: "desktop",
		errors: [],
		projects: [
			{
				project: "shop",
				stored: { sessions: 1, hosts: ["anna-laptop-0a1b2c3d"] },
				toPush: [],
				toPull: [{ session: ID, why: "not on this machine yet" }],
			},
		],
	});
	expect(await good(desktop, ["status"])).toMatch(
		/, by anna-laptop-0a1b2c3d, last changed now\n {2}1 session to be pulled\n/,
	);
	expect(await good(desktop, ["status", "--sessions"])).toMatch(/shop +anna-laptop-0a1b2c3d +\d+ B +now/);
	// The lines that were not pushed.
	writeSettings(laptop.agent, { secrets: true });
	add(file, message("b", "a", user(`AKIA${"ABCDEFGHIJ234567"}`)));
	expect((await run(laptop, ["push"])).code).toBe(1);
	const held = await run(laptop, ["status"]);
	expect([held.code, held.out]).toEqual([
		1,
		expect.stringMatching(
			/1 session to be stored\n {4}0194aaaa\S+ {2}\d+ B: failed, see below\nfailed {3}now, session 0194aaaa\S+: entry b contains an AWS access key/,
		),
	]);
	writeFileSync(file, readFileSync(file, "utf8").replace(`AKIA${"ABCDEFGHIJ234567"}`, "gone"));
	await good(laptop, ["push"]);
	expect(await good(laptop, ["status"])).not.toContain("failed");
	writeSettings(laptop.agent, { private: [ID] });
	// Regression: status reported that it was never stored.
	expect(await good(laptop, ["status"])).toContain(
		`1 private session, stored before: pi-sync delete removes it from the store\n    ${ID}\n`,
	);
	add(file, message("c", "b", user("never said")));
	expect((await run(laptop, ["push", ID])).code).toBe(1);
	await good(laptop, ["pull"]);
	await good(laptop, ["sync"]);
	expect((await storedLines(openDirectory(store, "reader"), ID)).join()).not.toContain("never said");
	await good(laptop, ["delete", ID, "--yes"]);
	await good(laptop, ["sync"]);
	expect(await good(laptop, ["status"])).toContain("1 private session, never stored");
	expect((await openDirectory(store, "reader").list()).sessions).toEqual([]);
	const away = { PI_SYNC_STORE: join(store, "gone"), PI_SYNC_HOST: "x" };
	expect(await run(laptop, ["status"], away)).toMatchObject({ code: 1, out: expect.stringContaining("Host     x") });
});

// Regression: status reported a failure for ever, with exit code 1.
test("errors of deleted sessions are not shown any more", async () => {
	const { laptop } = team();
	const [file, other] = [ID, FORK].map((id) => put(laptop, id, [message("a", null, user("hello"))]));
	await good(laptop, ["push"]);
	writeSettings(laptop.agent, { secrets: true });
	for (const path of [file, other] as string[]) add(path, message("b", "a", user(`AKIA${"ABCDEFGHIJ234567"}`)));
	expect((await run(laptop, ["push"])).code).toBe(1);
	const failed = await run(laptop, ["status"]);
	expect([failed.code, failed.out.match(/^failed/gm)?.length]).toEqual([1, 2]);
	rmSync(file as string);
	await good(laptop, ["delete", FORK, "--yes"]);
	expect(await good(laptop, ["status"])).not.toContain("failed");
	// A push requests it again.
	expect((await run(laptop, ["push"])).code).toBe(1);
	expect(await good(laptop, ["status"])).toContain("1 session deleted from the store, with a file on this machine");
});

test("the sessions of a remote that was renamed are moved", async () => {
	const { store, laptop, desktop } = team();
	for (const id of [ID, FORK]) put(laptop, id, [message("a", null, user("hello")), message("b", "a", user("and on"))]);
	await good(laptop, ["push"]);
	const reader = openDirectory(store, "reader");
	const before = await storedLines(reader, ID);
	const renamed = withEnv(laptop, { PI_SYNC_PROJECT: "new/shop" });
	// Regression: they were moved to a name that only this machine has, or none was moved, without an error.
	const nameless = withEnv(laptop, { PI_SYNC_PROJECT: undefined });
	expect(await run(nameless, ["move", "shop"])).toMatchObject({
		code: 2,
		err: expect.stringMatching(/has no git remote.*pi-sync move shop <to>/),
	});
	expect(await run(renamed, ["move", "shpo"])).toMatchObject({
		code: 1,
		err: "Error: No session of a project shpo is stored; pi-sync status --all --sessions lists the projects\n",
	});
	expect(await good(renamed, ["move", "shop", "--dry-run"])).toBe("would move  2 sessions from shop to new/shop\n");
	expect(await good(renamed, ["move", "shop"])).toBe("moved  2 sessions from shop to new/shop\n");
	const moved = async () =>
		(await reader.list({ project: "new/shop" })).sessions.map(({ session, project }) => [session, project]);
	expect(await moved()).toEqual([
		[ID, "new/shop"],
		[FORK, "new/shop"],
	]);
	expect(await storedLines(reader, ID)).toEqual(before);
	// Regression: the question before a deletion named the old project.
	const described = JSON.parse(await good(renamed, ["delete", ID, "--dry-run", "--json"]));
	expect(described).toMatchObject({ session: ID, project: "new/shop", dryRun: true });
	const elsewhere = withEnv(desktop, { PI_SYNC_PROJECT: "new/shop" });
	expect(await good(elsewhere, ["pull"])).toMatch(/2 lines added[\s\S]*2 lines added/);
	expect(await good(renamed, ["push"])).toBe("Everything is stored\n");
	expect(await moved()).toEqual([
		[ID, "new/shop"],
		[FORK, "new/shop"],
	]);
	expect((await run(renamed, ["move", "new/shop"])).code).toBe(2);
	// Regression: it moved them again, and a list of all projects contained the old name.
	expect(await run(renamed, ["move", "shop"])).toMatchObject({
		code: 1,
		err: expect.stringContaining("No session of a project shop is stored"),
	});
	expect(await good(renamed, ["status", "--all", "--sessions"])).toMatch(/new\/shop[\s\S]*new\/shop/);
	// Regression: nothing could be moved back, because a directory lists moved sessions under their old project, too.
	expect(await good(renamed, ["move", "new/shop", "typo"])).toBe("moved  2 sessions from new/shop to typo\n");
	expect(await good(renamed, ["move", "typo", "new/shop"])).toBe("moved  2 sessions from typo to new/shop\n");
	expect(await good(renamed, ["move", "new/shop", "shop"])).toBe("moved  2 sessions from new/shop to shop\n");
	expect(await good(renamed, ["move", "shop"])).toBe("moved  2 sessions from shop to new/shop\n");
	await openDirectory(store, "other").append("another", {
		header: storedHeader("another"),
		lines: [entry("x")],
		project: "third",
	});
	expect(await good(nameless, ["move", "third", "new/shop"])).toBe(
		"moved  1 session from third to new/shop, which has 2 sessions already\n",
	);
});

test("copies in other directories are redacted on every machine", async () => {
	const { laptop, desktop } = team();
	const secret = (parent: string) => message("b", parent, user(SECRET));
	const elsewhere = join(desktop.cwd, "..", "elsewhere");
	put(laptop, ID, [message("a", null, user("hello")), secret("a")]);
	const forks = [
		put(laptop, FORK, [secret("x")], { cwd: elsewhere }),
		put(desktop, FORK, [secret("x")], { cwd: elsewhere }),
	];
	for (const { agent } of [laptop, desktop]) writeSettings(agent, { projects: { [elsewhere]: "shop" } });
	await good(laptop, ["push"]);
	await good(desktop, ["pull"]);
	expect(await good(laptop, ["redact", ID, "--entry", "b"])).toMatch(/redacted[\s\S]*redacted/);
	const pulled = await good(desktop, ["pull"]);
	// Regression: the file of the fork was not named.
	for (const id of [ID, FORK]) expect(pulled).toContain(`0 lines added, 1 line redacted, as on other machines  ${id}`);
	for (const fork of forks) expect(readFileSync(fork, "utf8")).not.toContain("hunter2");
});

// Regression: the session counted as not stored.
test("status says that a push compares a redacted session", async () => {
	const { laptop } = team();
	const file = put(laptop, ID, [message("a", null, user(SECRET))]);
	await good(laptop, ["push"]);
	await good(laptop, ["redact", ID, "--text", "hunter2"]);
	expect(await good(laptop, ["status"])).toContain("the next push compares it with the store");
	expect(await good(laptop, ["push"])).toContain("stored");
	expect(await good(laptop, ["status"])).not.toContain("to be stored");
	add(file, message("b", "a", user("more")));
	expect(await good(laptop, ["status"])).toContain("not stored yet");
});

// Regression: the command printed only that it had failed.
test("without the store only the file is redacted", async () => {
	const { store, laptop } = team();
	const file = put(laptop, ID, [message("a", null, user(SECRET))]);
	await good(laptop, ["push"]);
	renameSync(store, `${store}-away`);
	const { code, out } = await run(laptop, ["redact", ID, "--text", "hunter2"]);
	expect([code, out]).toEqual([
		1,
		expect.stringMatching(
			/^redacted {2}\S+: 1 line\n {2}the store may still contain it: .*no such directory.*\n {2}run this command again when the store answers; the next push or pull of the session redacts only the lines that were found here\n/,
		),
	]);
	expect(readFileSync(file, "utf8")).not.toContain("hunter2");
	renameSync(`${store}-away`, store);
	await good(laptop, ["push"]);
	expect(JSON.stringify(await storedLines(openDirectory(store, "reader"), ID))).not.toContain("hunter2");
});

// Regression: the command said that the next push or pull redacts the text in the store, which it did not.
test("nothing is promised for a text that was edited out", async () => {
	const { store, laptop } = team();
	const file = put(laptop, ID, [message("a", null, user(SECRET))]);
	await good(laptop, ["push"]);
	const whole = readFileSync(file, "utf8");
	writeFileSync(file, whole.replace("hunter2", "xx"));
	renameSync(store, `${store}-away`);
	const args = ["redact", ID, "--text", "hunter2"];
	const { code, out } = await run(laptop, args);
	expect([code, out]).toEqual([
		1,
		expect.stringMatching(/the store may still contain it: .*\n {2}run this command again when the store answers\n/),
	]);
	expect(out).not.toContain("next push");
	// Nor without a store, if only a backup contains the text.
	writeFileSync(`${file}.bak`, whole);
	const unnamed = await good(withEnv(laptop, { PI_SYNC_STORE: undefined }), args);
	expect(unnamed).toContain(
		"stores: none is named: if one contains the session, run this command again with --store\n",
	);
	renameSync(`${store}-away`, store);
	await good(laptop, args);
	expect(JSON.stringify(await storedLines(openDirectory(store, "reader"), ID))).not.toContain("hunter2");
	await good(laptop, ["push"]);
	await good(laptop, ["pull"]);
	expect(readFileSync(file, "utf8")).not.toContain("hunter2");
});

// Regression: the exit code was 0, and the only message was that the session may have changed.
test("status names unreadable data until it is readable", async () => {
	const { store, laptop, desktop } = team();
	const file = put(laptop, ID, [message("a", null, user("hello"))]);
	await good(laptop, ["push"]);
	const [log] = readdirSync(store, { recursive: true, encoding: "utf8" })
		.filter((name) => name.endsWith(".lines"))
		.map((name) => join(store, name)) as [string];
	const whole = readFileSync(log, "utf8");
	writeFileSync(log, whole.replace("hello", "jello"));
	expect((await run(desktop, ["pull"])).out).toContain("its checksum is wrong");
	put(desktop, FORK, [message("b", null, user("more"))]);
	await good(desktop, ["push"]);
	const { code, out } = await run(desktop, ["status"]);
	expect([code, out]).toEqual([
		1,
		expect.stringMatching(new RegExp(`failed .*session ${ID}: .*its checksum is wrong`)),
	]);
	// The log's host stores it again.
	rmSync(log);
	await good(laptop, ["push", file]);
	await good(desktop, ["pull"]);
	expect(await good(desktop, ["status"])).not.toContain("failed");
});
