// Other files among the sessions, and strange ones: pipes, sockets, huge files of zeros.
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { api, header, scratch, setEnv, text } from "../../support/scratch.js";
import { testWith } from "../../support/windows.js";
import { agentDir, listedByReference, run, session } from "./agent-dir.js";

const { SessionManager } = api;

/** The session with number 1. Its time is later than all others, even if all were written in one tick of the clock. */
function newestSession(dir: string): string {
	const path = session(dir, 1);
	utimesSync(path, 4_000_000_000, 4_000_000_000);
	return path;
}

/** The results of all ways to find sessions. */
const everything = `
	const here = process.env.PSN_DIR;
	const found = {
		all: (await SessionManager.listAll()).map((info) => info.id).sort(),
		list: (await SessionManager.list("/project")).map((info) => info.id).sort(),
		search: (await SessionManager.search("question 1")).map((hit) => hit.id).sort(),
		id: SessionManager.findById("/project", "s-1", here),
		none: SessionManager.findById("/project", "none", here),
		recent: SessionManager.continueRecent("/project", here).getSessionFile(),
	};
	console.log(JSON.stringify(found));`;

// Regression: if a pipe, a socket or a device had a session's name, findById and continueRecent never returned.
testWith("pipes")("no call waits for pipes, sockets or devices", async () => {
	const { dir } = agentDir(2);
	const link = join(dir, "..", "elsewhere.jsonl");
	writeFileSync(link, text([header({ id: "linked", cwd: "/project" })]));
	symlinkSync(link, join(dir, "link.jsonl"));
	execFileSync("mkfifo", [join(dir, "a.jsonl"), join(dir, "z.jsonl")]);
	symlinkSync(join(dir, "z.jsonl"), join(dir, "y.jsonl"));
	symlinkSync("/dev/zero", join(dir, "zero.jsonl"));
	const server = createServer().listen(join(dir, "socket.jsonl"));
	onTestFinished(() => void server.close());
	mkdirSync(join(dir, "folder.jsonl"));
	const newest = newestSession(dir);
	const found = JSON.parse(await run(everything, { PSN_DIR: dir }));
	expect(found).toEqual({
		all: ["linked", "s-0", "s-1"],
		list: ["linked", "s-0", "s-1"],
		search: ["s-1"],
		id: newest,
		recent: newest,
	});
	expect(SessionManager.findById("/project", "linked")).toBe(join(dir, "link.jsonl"));
});

// Regression: findById did so on the caller's thread.
test("a file without a newline is not read whole", async () => {
	const { dir } = agentDir(2);
	for (const [name, begins] of [
		["zeros", ""],
		["object", '{"type":"session","id":"none","x":"'],
		["text", '"'],
		["list", "["],
	] as const) {
		writeFileSync(join(dir, `${name}.jsonl`), begins);
		truncateSync(join(dir, `${name}.jsonl`), 600 << 20);
	}
	const newest = newestSession(dir);
	// The sources of a read, and the largest part that is in memory.
	const script = `
		const fs = require("node:fs");
		const bytesRead = () => process.platform === "linux" ? Number(/rchar: (\\d+)/.exec(fs.readFileSync("/proc/self/io", "utf8"))[1]) : 0;
		const start = [process.resourceUsage().maxRSS, bytesRead()];
		SessionManager.findById("/project", "none", process.env.PSN_DIR);
		SessionManager.continueRecent("/project", process.env.PSN_DIR);
		const finding = bytesRead() - start[1];
		${everything}
		console.log(finding, process.resourceUsage().maxRSS - start[0]);`;
	const [found, numbers] = (await run(script, { PSN_DIR: dir })).split("\n") as [string, string];
	expect(JSON.parse(found)).toEqual({
		all: ["s-0", "s-1"],
		list: ["s-0", "s-1"],
		search: ["s-1"],
		id: newest,
		recent: newest,
	});
	const [finding, growth] = numbers.split(" ").map(Number);
	// findById stops reading each of the four after 64 MiB.
	expect(finding).toBeLessThan(280 << 20);
	// In KB.
	expect(growth).toBeLessThan(90_000);
	for (const name of ["zeros", "object", "text", "list"]) rmSync(join(dir, `${name}.jsonl`));
});

test("a header's line of any length is found", async () => {
	const { dir } = agentDir(0);
	const path = join(dir, "long.jsonl");
	const head = JSON.stringify(header({ id: "long", cwd: "/project" })).slice(0, -1);
	writeFileSync(path, `junk\n\n{"torn\n${head},"before":"${"x".repeat(24 << 20)}"}\n`);
	session(dir, 1);
	const script = `
		const before = process.resourceUsage().maxRSS;
		const found = [SessionManager.findById("/project", "long"), (await SessionManager.listAll()).length];
		console.log(JSON.stringify([...found, process.resourceUsage().maxRSS - before]));`;
	const [found, count, growth] = JSON.parse(await run(script)) as [string, number, number];
	expect([found, count]).toEqual([path, 2]);
	expect(growth).toBeLessThan(20_000);
	expect(((await listedByReference()) as unknown[]).length).toBe(2);
});

// Regression: `list` did not show the other sessions, and findById and continueRecent threw.
test.each(["file://host/x", "file://host/%zz", "file:///%zz", "file:///a%2fb"])(
	"a session with the cwd %s hides no other",
	async (cwd) => {
		agentDir(0);
		const dir = scratch();
		const odd = join(dir, "odd.jsonl");
		const here = session(dir, 1);
		for (const setting of [undefined, "off"]) {
			setEnv({ PI_SESSION_NATIVE_CATALOG: setting });
			writeFileSync(odd, text([header({ id: "odd", cwd })]));
			utimesSync(odd, 4_000_000_000, 4_000_000_000);
			expect((await SessionManager.list("/project", dir)).map((info) => info.id)).toEqual(["s-1"]);
			expect(
				(await SessionManager.search("question", { cwd: "/project", sessionDir: dir })).map((hit) => hit.id),
			).toEqual(["s-1"]);
			expect(SessionManager.findById("/project", "odd", dir)).toBeUndefined();
			expect(SessionManager.findById("/project", "s-1", dir)).toBe(here);
			expect(api.findMostRecentSession(dir, "/project")).toBe(here);
			expect(SessionManager.continueRecent("/project", dir).getSessionFile()).toBe(here);
			// The only session.
			expect((await SessionManager.listAll(dir)).map((info) => info.id).sort()).toEqual(["odd", "s-1"]);
		}
	},
);
