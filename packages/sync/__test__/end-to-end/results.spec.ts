// Results of `pi-sync` for programs, and calls that name no session.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { SessionManager } from "pi-session-native";
import { expect, onTestFinished, test } from "vitest";
import { message, root, user } from "../../../../__test__/support/scratch.js";
import { testIf } from "../../../../__test__/support/windows.js";
import { brokenGit } from "../support/broken-git.js";
import { add, good, put, run, runInTerminal, team, type World, withEnv } from "../support/cli.js";
import { library, openDirectory, writeSettings } from "../support/lines.js";

const { isConfirmed, shownHosts } = await import(join(library, "../cli/terminal.mjs"));
const { linesOf } = await import(join(library, "../cli/push-and-pull.mjs"));

const ID = "0194aaaa-1111-7000-8000-000000000001";
const OTHER = "0194bbbb-1111-7000-8000-000000000002";

const resultsOf = async (at: World, args: string[]) => JSON.parse((await run(at, [...args, "--json"])).out).sessions;

// Regression: only an English sentence contained the numbers.
test("--json has numbers, states and codes", async () => {
	const { store, laptop, desktop } = team();
	const file = put(laptop, ID, [message("a", null, user("hello"))]);
	const bytes = readFileSync(file).length;
	const one = { session: ID, file };
	expect(await resultsOf(laptop, ["push", "--dry-run"])).toEqual([{ ...one, state: "pushed", bytes }]);
	expect(await resultsOf(laptop, ["push"])).toEqual([{ ...one, state: "pushed", bytes }]);
	expect(await resultsOf(desktop, ["pull", "--dry-run"])).toEqual([
		{ session: ID, file: "", state: "pulled", bytes: expect.any(Number) },
	]);
	const [pulled] = await resultsOf(desktop, ["pull"]);
	expect(pulled).toEqual({ session: ID, file: expect.any(String), state: "pulled", added: 1, redacted: 0 });
	await good(laptop, ["redact", ID, "--text", "hello"]);
	expect(await resultsOf(desktop, ["pull"])).toEqual([{ ...pulled, added: 0, redacted: 1 }]);
	await openDirectory(store, "reader").delete(ID);
	expect(await resultsOf(laptop, ["push"])).toEqual([{ ...one, state: "deleted" }]);
	expect(await resultsOf(laptop, ["push", ID])).toEqual([
		{ ...one, state: "failed", bytes: 0, error: expect.stringContaining("was deleted"), code: "deleted" },
	]);
});

// Regression: they were stored for ever under a project of this machine, with a warning.
testIf(process.platform !== "win32", "Windows: a script is not a program")(
	"sessions whose project git does not tell are not stored",
	async () => {
		const { store, laptop } = team();
		put(laptop, ID, [message("a", null, user("hello"))]);
		await good(laptop, ["push"]);
		const git = brokenGit();
		const at = withEnv(laptop, git.env);
		const other = put(at, OTHER, [message("a", null, user("hello"))]);
		const reader = openDirectory(store, "reader");
		const why = /^git failed in .*: fatal: cannot read .git\/config: Input\/output error$/;
		const failed = { session: OTHER, file: other, state: "failed", error: expect.stringMatching(why), code: "failed" };
		for (const args of [["push"], ["push", OTHER], ["push", "--all"], ["push", "--dry-run"]]) {
			const { code, out } = await run(at, [...args, "--json"]);
			expect({ code, sessions: JSON.parse(out).sessions }).toMatchObject({ code: 1, sessions: [failed] });
		}
		expect((await reader.list()).sessions).toMatchObject([{ session: ID }]);
		expect(await run(at, ["status"])).toMatchObject({ code: 1, out: expect.stringMatching(/failed .*output error/) });
		// Regression: the store had nothing new.
		expect(await run(at, ["pull"])).toMatchObject({
			code: 1,
			out: "",
			err: expect.stringMatching(/^Error: git failed .*output error$/m),
		});
		// The store knows the project of a session that it contains.
		add(put(at, ID, [message("a", null, user("hello"))]), message("b", "a", user("and on")));
		expect(await run(at, ["push", ID])).toMatchObject({ code: 0 });
		// A project that is named needs no git.
		expect(await resultsOf(withEnv(at, { PI_SYNC_PROJECT: "shop" }), ["push", "--dry-run"])).toMatchObject([
			{ session: OTHER, state: "pushed" },
		]);
		git.mend();
		await good(at, ["push"]);
		expect((await reader.list({ session: OTHER })).sessions).toMatchObject([{ project: "example.org/me/shop" }]);
		await good(at, ["status"]);
	},
);

// Regression: "Everything is stored" was printed.
test("a push of nothing names the mistake", async () => {
	const { laptop } = team();
	put(laptop, ID, [message("a", null, user("hello"))]);
	const missing = join(laptop.cwd, "no-such");
	for (const option of ["--cwd", "--dir"])
		for (const command of ["push", "status"])
			expect(await run(laptop, [command, option, missing])).toMatchObject({
				code: 1,
				out: "",
				err: `Error: The directory of ${option} does not exist: ${missing}\n`,
			});
	for (const command of ["push", "sync"])
		expect(await good({ ...laptop, cwd: laptop.agent }, [command])).toBe(
			"This project (shop) has no sessions on this machine\n",
		);
});

// Regression: the session was deleted at once, even for the beginning of an id.
test("delete shows the session and asks", async () => {
	const { store, laptop, desktop } = team();
	put(laptop, ID, [message("a", null, user("hello"))]);
	await good(laptop, ["push"]);
	const shown = /^0194aaaa\S+ {2}project shop {2}by laptop {2}\d+ B, last changed now\n/;
	expect(await run(desktop, ["delete", "01"])).toMatchObject({
		code: 2,
		out: expect.stringMatching(shown),
		err: "Error: Nothing was changed: there is no terminal to ask for confirmation. Add --yes\n",
	});
	expect(await run(desktop, ["delete", "01", "--json"])).toMatchObject({ code: 2, out: "" });
	const stored = async () => (await openDirectory(store, "reader").list()).sessions.length;
	// Regression: the JSON of a dry run named neither the project nor the hosts.
	expect(JSON.parse(await good(desktop, ["delete", "01", "--json", "--dry-run"]))).toEqual({
		...{ store, session: ID, project: "shop", hosts: ["laptop"], bytes: expect.any(Number), dryRun: true },
	});
	const asked = (answer: string) => runInTerminal(desktop, ["delete", "01"], answer);
	expect(await asked("n\n")).toMatchObject({
		code: 1,
		out: expect.stringMatching(/for everybody who uses the store\? \[y\/N\][\s\S]*Nothing was changed/),
	});
	expect(await stored()).toBe(1);
	expect(await asked("y\n")).toMatchObject({ code: 0, out: expect.stringContaining("deleted  0194aaaa") });
	expect(await stored()).toBe(0);
});

// Regression: the command waited for an answer to a question that nobody saw.
test("nothing is asked where the question is not shown", async () => {
	for (const [stream, isTTY] of [
		[process.stdin, true],
		[process.stderr, false],
	] as const) {
		const before = Object.getOwnPropertyDescriptor(stream, "isTTY");
		Object.defineProperty(stream, "isTTY", { value: isTTY, configurable: true });
		onTestFinished(
			() => void Object.defineProperty(stream, "isTTY", before ?? { value: undefined, configurable: true }),
		);
	}
	await expect(isConfirmed("Delete it?", {})).rejects.toThrow("there is no terminal to ask for confirmation");
});

// Regression: the path was printed three times, and nothing was named that helps.
test("status names a missing store, or a file, once", async () => {
	const { store, laptop } = team();
	const status = async (path: string) => (await run(laptop, ["status"], { PI_SYNC_STORE: path })).out.split("\n");
	const missing = join(store, "missing");
	expect(await status(missing)).toContain(
		`Store    ${missing}  there is no such directory: make it, or mount its drive (ENOENT)`,
	);
	const file = join(store, "file");
	writeFileSync(file, "");
	expect((await status(file))[0]).toContain(
		`Store    ${file}  it is a file, or a part of its path is: name a directory`,
	);
});

test("an error of the store has its code", async () => {
	const { laptop } = team({ address: join(team().store, "missing") });
	const { code, out, err } = await run(laptop, ["move", "a", "b", "--json"]);
	expect([code, out, JSON.parse(err)]).toEqual([
		1,
		"",
		{ error: { message: expect.stringContaining("no such directory"), code: "unreachable" } },
	]);
	expect(JSON.parse((await run(laptop, ["move", "a", "a", "--json"])).err)).toEqual({
		error: { message: expect.stringContaining("already the name") },
	});
});

// Regression: the output did not name the store, and a dry run claimed that the store had redacted the line.
test("redact counts lines here and in the store", async () => {
	const { laptop } = team();
	put(laptop, ID, [message("a", null, user("hunter2"))]);
	await good(laptop, ["push"]);
	const redact = ["redact", ID, "--text", "hunter2"];
	expect(await good(laptop, [...redact, "--dry-run"])).toContain(": 1 line here, 1 in the store\n");
	const [planned] = JSON.parse(await good(laptop, [...redact, "--dry-run", "--json"])).files;
	expect(planned).toMatchObject({ lines: 1, stored: 1, isStored: false });
	const offline = await good(laptop, [...redact, "--dry-run"], { PI_SYNC_STORE: undefined });
	expect(offline).toMatch(/: 1 line\n[\s\S]*No store was searched\n$/);
	expect(await good(laptop, redact)).toContain(": 1 line here, 1 in the store\n");
	expect(await good(laptop, redact, { PI_SYNC_STORE: undefined })).toMatch(
		/^Nothing to redact in .*\nNo store was searched\n$/,
	);
});

// Regression: when the store disappeared, each session had a line with the same error.
test("sessions that fail alike share a line", () => {
	const failed = (session: string, error: string, code: string) => ({
		...{ session, file: `/sessions/${session}.jsonl`, state: "failed", error, code },
	});
	const stored = { session: "a", file: "/sessions/a.jsonl", state: "pushed", bytes: 5 };
	const missing = "/store: there is no such directory";
	const rows = [
		failed("b", `${missing} (ENOENT: open '/store/lines/b.logs')`, "unreachable"),
		stored,
		failed("c", missing, "unreachable"),
		// A sync pulls and pushes a session.
		failed("c", missing, "unreachable"),
		failed("d", "Session d: entry 1 contains a key", "held-back"),
		failed("e", "Session e: entry 1 contains a key", "held-back"),
		failed("f", "permission denied for table entries", "denied"),
		failed("g", "permission denied for table entries", "denied"),
	];
	expect(linesOf(rows, false).map(stripVTControlCharacters)).toEqual([
		`failed  2 sessions: ${missing}`,
		"5 B stored  a  a.jsonl",
		// Regression: the id was printed twice.
		"failed  d  d.jsonl: entry 1 contains a key",
		"failed  e  e.jsonl: entry 1 contains a key",
		"failed  2 sessions: permission denied for table entries",
	]);
});

// Regression: the session's id was printed twice.
test("status names the session of a secret once", async () => {
	const { laptop } = team();
	put(laptop, ID, [message("a", null, user(`AKIA${"ABCDEFGHIJ234567"}`))]);
	writeSettings(laptop.agent, { secrets: true });
	const pushed = await run(laptop, ["push"]);
	expect(pushed.out).toMatch(/^failed {2}0194aaaa\S+ {2}\S+\.jsonl: entry a contains /);
	const { out } = await run(laptop, ["status"]);
	expect(out).toMatch(/^failed .*, session 0194aaaa\S+: entry a contains /m);
	expect(out).not.toContain("Session");
});

/** Fields of the tables that only PostgreSQL has in a list of one project. */
const ONLY_IN_POSTGRES = ["session", "where", "message"].map((field) => `projects[].problems[].${field}: string`);

test("--json prints the fields of the documentation", async () => {
	const { store, laptop, desktop } = team();
	const printed = new Map<string, Set<string>>();
	const json = async (at: World, command: string, args: string[] = [], env: NodeJS.ProcessEnv = {}) => {
		const { out } = await run(at, [...command.split(" "), ...args, "--json"], env);
		const fields = printed.get(command) ?? new Set();
		printed.set(command, new Set([...fields, ...fieldsOf(JSON.parse(out))]));
	};
	const everywhere = async (at: World) => {
		for (const command of ["push", "pull", "sync"]) await json(at, command);
	};
	const file = put(laptop, ID, [message("a", null, user("hunter2"))]);
	const other = put(laptop, OTHER, [message("a", null, user("hello"))]);
	await json(laptop, "status");
	await everywhere(laptop);
	await json(desktop, "status");
	await json(desktop, "pull", ["--dry-run"]);
	await everywhere(desktop);
	await json(desktop, "sync", ["--dry-run"]);
	await json(laptop, "status --sessions");
	await json(laptop, "move", ["shop", "new", "--dry-run"]);
	// A push that fails, and a private session.
	writeSettings(laptop.agent, { secrets: true });
	add(other, message("b", "a", user(`AKIA${"ABCDEFGHIJ234567"}`)));
	await everywhere(laptop);
	await json(laptop, "status");
	writeSettings(laptop.agent, { private: [OTHER] });
	await json(laptop, "status");
	await json(laptop, "status", [], { PI_SYNC_STORE: join(store, "missing") });
	await json(desktop, "delete", [OTHER, "--yes"]);
	await json(laptop, "status");
	// Redactions: of a backup and temporary files, of a locked session, and in a damaged store.
	const text = readFileSync(file);
	writeFileSync(`${file}.bak`, text);
	writeFileSync(join(dirname(file), `.pi-session-${"0123456789abcdef".repeat(2)}.tmp`), text);
	await json(laptop, "redact", [ID, "--text", "hunter2"]);
	const manager = SessionManager.open(file, { lock: "exclusive" });
	await json(laptop, "redact", [ID, "--text", "redacted"]);
	manager.close();
	writeFileSync(join(store, "sessions", ID), "");
	await json(laptop, "redact", [ID, "--text", "hello", "--dry-run"]);
	await json(laptop, "status --sessions", ["--all"]);
	const tables = tablesInDocs();
	for (const { commands, fields } of tables)
		expect(new Set(commands.flatMap((command) => [...(printed.get(command) ?? [])])), commands.join()).toEqual(
			new Set(fields.filter((field) => commands[0] !== "status" || !ONLY_IN_POSTGRES.includes(field))),
		);
	expect(tables.flatMap(({ commands }) => commands).sort()).toEqual([...printed.keys()].sort());
});

/** The fields of a value with their types, as in the tables of the documentation. */
function fieldsOf(value: unknown, path = ""): string[] {
	if (Array.isArray(value)) return value.flatMap((one) => fieldsOf(one, `${path}[]`));
	if (typeof value === "object" && value !== null)
		return Object.entries(value).flatMap(([key, one]) => fieldsOf(one, path === "" ? key : `${path}.${key}`));
	const isDate = typeof value === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value);
	return [`${path}: ${isDate ? "date" : typeof value}`];
}

/** The tables of the documentation: the commands in the heading, and the fields with their types. */
function tablesInDocs() {
	const tables: { commands: string[]; fields: string[] }[] = [];
	const docs = readFileSync(join(root, "packages/sync/docs/store-adapters.md"), "utf8");
	for (const [, commands = "", rows = ""] of docs.matchAll(/^\| field of (.+?) \|.*\n\| --- .*\n((?:\|.*\n)+)/gm)) {
		const fields = [...rows.matchAll(/^\| (.+?) \| (\w+) \|/gm)].flatMap(([, names = "", type]) =>
			quoted(names).map((name) => `${name}: ${type}`),
		);
		tables.push({ commands: quoted(commands), fields });
	}
	return tables;
}

const quoted = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);

test("ids of cloud machines stay distinguishable", () => {
	const start = Array.from({ length: 5 }, (_, at) => `worker-in-eu-central-1-of-shop-${at}`);
	expect(shownHosts(start)).toBe("worker-in-eu…tral-1-of-shop-0, worker-in-eu…tral-1-of-shop-1 and 3 more");
	const end = ["laptop", "ip-10-1-2-3.eu-central-1.compute.internal", "ip-10-1-2-4.eu-central-1.compute.internal"];
	expect(shownHosts(end.slice(1))).toBe("ip-10-1-2-3.…compute.internal, ip-10-1-2-4.…compute.internal");
	expect(shownHosts(end)).toBe("laptop, ip-10-1-2-3.…compute.internal and 1 more");
	// Regression: both were shown alike.
	const middle = [3, 4].map((at) => `ip-10-101-102-${at}.eu-central-1.compute.internal`);
	expect(shownHosts(middle)).toBe(middle.join(", "));
	expect(shownHosts([`${"a".repeat(60)}-${"b".repeat(59)}`])).toBe(`${"a".repeat(12)}…${"b".repeat(16)}`);
	expect(shownHosts(["a", "b", "c"])).toBe("a, b, c");
});
