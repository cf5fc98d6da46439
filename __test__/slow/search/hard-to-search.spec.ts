// SessionManager.search over directories that are hard to search: full disks, files that keep changing, sessions that go away.
import { spawn, spawnSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { agentDir, namesIn, session, settled, tick } from "../../unit/catalog/agent-dir.js";
import { api, entry, header, message, root, setEnv, user, writeSession } from "../../support/scratch.js";

const { SessionManager } = api;

const ids = async (query: string): Promise<string[]> =>
	(await SessionManager.search(query, { limit: 1_000 })).map((hit) => hit.id).sort();

/** Runs a script in a process of its own that says what became of its search, and that it ended. */
const script = (query: string): string => `
	process.on("exit", () => console.log("ended"));
	const { SessionManager } = require(${JSON.stringify(join(root, "index.js"))});
	SessionManager.search(${JSON.stringify(query)}).then((hits) => console.log("hits", hits.length), (why) => console.log("why", String(why)));
`;

// Regression: a search on a full disk never settled.
test("a search on a full disk settles", async () => {
	const at = agentDir(0);
	for (let n = 0; n < 30; n++) session(at.dir, n, [message(`f${n}`, "c", user(`word${n} `.repeat(3_000)))]);
	await tick();
	for (const most of [64, 300, 1_000]) {
		for (const name of namesIn(at.agent)) if (name.startsWith("session-catalog")) rmSync(join(at.agent, name));
		const shell = `trap "" XFSZ; ulimit -f ${most}; exec "$0" -e "$1"`;
		const ran = spawnSync("bash", ["-c", shell, process.execPath, script("word7")], { encoding: "utf8" });
		expect(ran.stdout, `${most} blocks: ${ran.stderr}`).toBe("hits 1\nended\n");
	}
	expect(await ids("word7")).toEqual(["s-7"]);
});

// Regression: a search among files that kept changing never settled, and its process ended before.
test("a search among files that keep changing settles, and keeps its process alive until then", async () => {
	const at = agentDir();
	await tick();
	const source = `
		const fs = require("node:fs");
		const head = ${JSON.stringify(`${JSON.stringify(header({ id: "hot" }))}\n`)};
		const line = ${JSON.stringify(`${JSON.stringify(message("x", null, user("hot text")))}\n`)};
		for (let n = 0; ; n++) {
			const file = ${JSON.stringify(at.dir)} + "/hot" + (n % 4) + ".jsonl";
			fs.writeFileSync(file + ".t", head + line.repeat(3000 + (n % 3)));
			fs.renameSync(file + ".t", file);
			if (n === 4) console.log("going");
		}`;
	const writer = spawn(process.execPath, ["-e", source], { stdio: ["ignore", "pipe", "inherit"] });
	try {
		await new Promise((resolve) => writer.stdout.once("data", resolve));
		for (let n = 0; n < 3; n++) expect(await ids("question")).toHaveLength(12);
		const ran = spawnSync(process.execPath, ["-e", script("question")], { encoding: "utf8" });
		expect(ran.stdout, ran.stderr).toBe("hits 12\nended\n");
		// What changes is found, too: as it is, or was a moment ago.
		expect((await ids("hot")).length).toBeGreaterThan(0);
	} finally {
		const ended = new Promise((resolve) => writer.once("exit", resolve));
		writer.kill("SIGKILL");
		await ended;
	}
});

// Regression: each hit held a copy of its session's first message.
test("no hit holds a copy of its session's first message", async () => {
	const at = agentDir(0);
	const large = `${"many words ".repeat(1 << 20)}${"x".repeat(1 << 20)}`;
	const hits = Array.from({ length: 400 }, (_, n) => message(`h${n}`, null, user(`needle ${n}`)));
	writeSession(at.dir, [header({ id: "large" }), message("a", null, user(large)), ...hits], "large.jsonl");
	await tick();
	const asked = `
		const { SessionManager } = require(${JSON.stringify(join(root, "index.js"))});
		SessionManager.search("needle", { limit: 1_000 }).then((hits) => console.log(hits.length, process.resourceUsage().maxRSS >> 10));`;
	for (const PI_SESSION_CATALOG of ["", "off"]) {
		const ran = spawnSync(process.execPath, ["-e", asked], { encoding: "utf8", env: { ...process.env, PI_SESSION_CATALOG } });
		const [count, peakMB] = ran.stdout.split(" ").map(Number);
		expect(count, ran.stderr).toBe(400);
		// 400 copies of 12 MB would be 4.8 GB.
		expect(peakMB).toBeLessThan(1_000);
	}
});

// Regression: a search held the whole line of a giant text.
test("a search does not hold the whole line of a giant text", async () => {
	const at = agentDir(0);
	const giant = `needle ${"many words ".repeat(300 * 95_000)}`;
	for (const role of ["user", "assistant"]) {
		const said = { role, content: [{ type: "text", text: giant }], timestamp: 1 };
		writeSession(at.dir, [header({ id: role }), message("a", null, said)], `${role}.jsonl`);
	}
	await tick();
	const asked = `
		const { SessionManager } = require(${JSON.stringify(join(root, "index.js"))});
		SessionManager.search("needle").then((hits) => console.log(hits.length, process.resourceUsage().maxRSS >> 10));`;
	for (const PI_SESSION_CATALOG of ["", "off"]) {
		const ran = spawnSync(process.execPath, ["-e", asked], { encoding: "utf8", env: { ...process.env, PI_SESSION_CATALOG } });
		const [count, peakMB] = ran.stdout.split(" ").map(Number);
		expect(count, ran.stderr).toBe(2);
		expect(peakMB).toBeLessThan(400);
	}
});

// Regression: the texts of a deleted session stayed in the catalog's files.
test("the texts of a deleted session leave the catalog's files", async () => {
	const at = agentDir();
	const secret = "sk-Zq81secretTOKENabc";
	const path = session(at.dir, 77, [message("s", "c", user(`my password is ${secret} `.repeat(40)))]);
	await tick();
	expect(await ids("zq81")).toEqual(["s-77"]);
	await settled(at);
	const bytes = (): string =>
		["", "-wal"].map((end) => (existsSync(at.catalog + end) ? readFileSync(at.catalog + end, "latin1") : "")).join().toLowerCase();
	expect(bytes()).toContain(secret.toLowerCase());
	rmSync(path);
	// Once by a list that sees it gone, once by a search.
	await SessionManager.listAll();
	await settled(at);
	expect(await ids("zq81")).toEqual([]);
	await settled(at);
	for (const what of [secret, "zq81secrettokenabc", "my password", "question 77"]) {
		expect(bytes().includes(what.toLowerCase()), what).toBe(false);
	}
	expect(await ids("question")).toHaveLength(12);
});

// Regression: the texts of a deleted session stayed in the catalog if the process ended while others were taken.
test("the texts of a deleted session leave the catalog, though the process ends while others are taken", async () => {
	const at = agentDir();
	const secret = "sk-Zq81secretTOKENabc";
	const path = session(at.dir, 77, [message("s", "c", user(`my password is ${secret} `.repeat(3)))]);
	await tick();
	expect(await ids("zq81")).toEqual(["s-77"]);
	await settled(at);
	const texts = Array.from({ length: 400 }, (_, n) => message(`x${n}`, "c", user(`new words ${n} `.repeat(400))));
	session(at.dir, 0, texts);
	rmSync(path);
	const { status, stderr } = spawnSync(process.execPath, [
		"-e",
		`require(${JSON.stringify(join(root, "index.js"))}).SessionManager.listAll()`,
	]);
	expect(status, String(stderr)).toBe(0);
	await SessionManager.listAll();
	await settled(at);
	const bytes = ["", "-wal"].map((end) => (existsSync(at.catalog + end) ? readFileSync(at.catalog + end, "latin1") : "")).join();
	for (const what of [secret, "zq81secrettokenabc", "my password", "question 77"]) {
		expect(bytes.toLowerCase().includes(what.toLowerCase()), what).toBe(false);
	}
});

// Regression: the catalog of an agent whose sessions come and go grew for ever.
test("the catalog of an agent whose sessions come and go stops growing", async () => {
	const at = agentDir();
	let made = 0;
	const random = (): string => (((made = (made * 48_271 + 11) % 2_147_483_647) >>> 0) + 36 ** 5).toString(36);
	const sizes: number[] = [];
	for (let round = 0; round < 6; round++) {
		const paths = [0, 1, 2].map((n) => {
			const texts = Array.from({ length: 20 }, (_, at) => message(`x${at}`, "c", user(Array.from({ length: 100 }, random).join(" "))));
			return session(at.dir, 100 + n, texts);
		});
		await tick();
		expect(await ids("question")).toHaveLength(15);
		await settled(at);
		for (const path of paths) rmSync(path);
		expect(await ids("question")).toHaveLength(12);
		await settled(at);
		sizes.push(statSync(at.catalog).size);
	}
	expect(sizes.at(-1) as number, sizes.join()).toBeLessThanOrEqual((sizes[1] as number) * 1.5);
});

// Regression: hits in files came in another order where nothing decides, and only their number was compared.
test("hits in files come in the order of the index where nothing decides", async () => {
	const at = agentDir();
	const words = ["alpha", "beta", "gamma", "delta", "eps", "zeta"];
	let state = 7;
	const random = (below: number): number => (state = (state * 48_271) % 2_147_483_647) % below;
	for (let n = 0; n < 20; n++) {
		const texts = Array.from({ length: 5 }, (_, at) => {
			const said = Array.from({ length: 3 + random(50) }, () => words[random(6)]).join(" ");
			return message(`x${at}`, "c", user(said));
		});
		session(at.dir, 100 + n, texts);
	}
	session(at.dir, 200, [1, 2, 3].map((n) => message(`o${n}`, "c", user("same omega text"))));
	await tick();
	const hits = async (query: string, limit: number): Promise<string[]> =>
		(await SessionManager.search(query, { limit })).map((hit) => `${hit.id} ${hit.entryId} ${hit.snippet}`);
	const inFiles = async (query: string, limit: number): Promise<string[]> => {
		setEnv({ PI_SESSION_CATALOG: "off" });
		const found = await hits(query, limit);
		setEnv({ PI_SESSION_CATALOG: undefined });
		return found;
	};
	for (const query of ["alpha", "alpha beta", "beta alpha", "lph", "ta gam", "eps zeta delta", "question 7", "none"]) {
		const found = await hits(query, 10_000);
		expect((await inFiles(query, 10_000)).sort(), query).toEqual(found.sort());
	}
	for (const query of ["omega", "same omega", "meg"]) {
		for (const limit of [1, 2, 3]) {
			const found = await hits(query, limit);
			expect(found.map((hit) => hit.split(" ")[1])).toEqual(["o3", "o2", "o1"].slice(0, limit));
			expect(await inFiles(query, limit)).toEqual(found);
		}
	}
});

test("names, labels and forks are searched as they are now", async () => {
	const at = agentDir(1);
	const file = join(at.dir, "0.jsonl");
	const append = (...lines: unknown[]) => appendFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
	append(entry("session_info", "n1", "c", { name: "firstname" }), entry("label", "l1", "n1", { targetId: "a", label: "marked" }));
	await tick();
	expect([await ids("firstname"), await ids("marked")]).toEqual([["s-0"], ["s-0"]]);
	const manager = SessionManager.open(file);
	manager.appendSessionInfo("second title");
	manager.appendLabelChange("a", undefined);
	await tick();
	const [hit] = await SessionManager.search("second");
	expect([hit?.name, hit?.role, hit?.snippet]).toEqual(["second title", "session_info", "«second» title"]);
	// What was said once was said: the file has it.
	expect([await ids("firstname"), await ids("marked")]).toEqual([["s-0"], ["s-0"]]);
	const fork = SessionManager.forkFrom(file, "/elsewhere");
	expect(await ids("question")).toEqual([fork.getSessionId(), "s-0"].sort());
	expect((await SessionManager.search("question", { cwd: "/elsewhere" })).map((one) => one.path)).toEqual([fork.getSessionFile()]);
	rmSync(fork.getSessionFile() as string);
	expect(await ids("question")).toEqual(["s-0"]);
});

test("a query of signs alone finds them, newest first, and can be aborted", async () => {
	const at = agentDir();
	writeSession(at.dir, [header({ id: "signs" }), message("m", null, user("a => b; {x} && y"))], "signs.jsonl");
	await tick();
	for (const query of ["=>", "&&", "{ }", "; =>"]) expect(await ids(query), query).toEqual(["signs"]);
	expect(await ids("=> ||")).toEqual([]);
	const reason = new Error("enough");
	const controller = new AbortController();
	const promise = SessionManager.search("=>", { signal: controller.signal });
	controller.abort(reason);
	await expect(promise).rejects.toBe(reason);
	await settled(at);
});

// Regression: a query of thousands of terms took seconds for each thousand, deaf to its signal.
test("a query of thousands of terms is answered in time, and can be aborted", async () => {
	const at = agentDir();
	const many = Array.from({ length: 5_000 }, (_, n) => `w${n}`);
	writeSession(at.dir, [header({ id: "many" }), message("m", null, user(many.join(" ")))], "many.jsonl");
	await tick();
	expect(await ids(many.join(" "))).toEqual(["many"]);
	expect(await ids(`${many.join(" ")} w5000`)).toEqual([]);
	expect(await ids(many.slice(0, 300).map((word) => word.slice(1)).join(" "))).toEqual(["many"]);
	const controller = new AbortController();
	const promise = SessionManager.search(many.join(" "), { signal: controller.signal });
	controller.abort("enough");
	await expect(promise).rejects.toBe("enough");
	await settled(at);
});
