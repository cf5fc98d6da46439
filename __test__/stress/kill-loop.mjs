// A writer that is killed at random moments, again and again, while another process redacts, repairs and merges its
// file, and is killed, too. Each entry that the writer had acknowledged is in its files, and every file is complete.
// `kills.spec.ts` runs a few kills, `npm run kills` thousands.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const modulePath = process.env.PSN_MODULE ?? resolve(dirname(fileURLToPath(import.meta.url)), "../../index.js");

/** A text that the writer sometimes appends, and the other process redacts. */
const SECRET = "hunter2";

/**
 * A line that the other process appends before a repair, as a program without this package would. It begins with a
 * newline, because a killed writer may have left half a line, which would otherwise become one line with it.
 */
export const DAMAGE = '\n{"type":"mess\n';

/** The writer: works on a session, and acknowledges on its output what each call has returned. */
const WRITER = `
	const { SessionManager } = require(${JSON.stringify(modulePath)});
	const fs = require("node:fs");
	const path = require("node:path");
	const { createHash } = require("node:crypto");
	const [dir, seed, durability, lock] = [process.argv[1], Number(process.argv[2]), process.argv[3], process.argv[4]];
	let state = seed;
	const random = (below) => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return Math.floor((state / 2 ** 32) * below);
	};
	const say = (...words) => fs.writeSync(1, words.join(" ") + "\\n");
	const user = (text) => ({ role: "user", content: text, timestamp: 1 });
	const main = path.join(dir, "main.jsonl");
	// The append fails if the other process keeps the lock for long, or replaces the file between each check and write,
	// as it can on a busy machine.
	const append = (text) => {
		try {
			return manager.appendMessage(user(text));
		} catch (error) {
			const isOvertaken = error.code === "ERR_SESSION_CHANGED" && / keep (?:writing|replacing)/.test(error.message);
			if (error.code !== "ERR_SESSION_LOCKED" && !isOvertaken) throw error;
			say("failed");
		}
	};
	const manager = SessionManager.open(main, { sessionDir: dir, durability, lock });
	say("ready");
	for (let n = 0; ; n++) {
		const size = random(20) === 0 ? random(300000) : random(400);
		const appended = append(random(10) === 0 ? ${JSON.stringify(SECRET)} : "x".repeat(size));
		if (appended !== undefined) say("entry", main, appended);
		if (random(30) === 0) {
			const made = SessionManager.create("/somewhere", dir, { durability, lock });
			const id = made.appendMessage(user("new"));
			say("entry", made.getSessionFile(), id);
		}
		if (random(40) === 0) {
			const branch = manager.getBranch().slice(-20);
			if (!fs.existsSync(main)) continue;
			const copy = SessionManager.open(main, dir);
			const file = copy.createBranchedSession(branch[0].id);
			say("entry", file, branch[0].id);
		}
		if (random(40) === 0) {
			const old = path.join(dir, "old-" + seed + "-" + n + ".jsonl");
			const lines = [{ type: "session", id: "old", timestamp: "2024-01-01T00:00:00.000Z", cwd: "/c" }];
			for (let at = 0; at < 50; at++) lines.push({ type: "message", timestamp: "t", message: user("old " + at) });
			fs.writeFileSync(old + ".part", lines.map((line) => JSON.stringify(line) + "\\n").join(""));
			fs.renameSync(old + ".part", old);
			say("old", old);
			SessionManager.open(old);
		}
		if (random(40) === 0) {
			const broken = path.join(dir, "broken-" + seed + "-" + n + ".jsonl");
			// Some are large, so that copying them takes a while.
			const large = random(4) === 0 ? '\\n{"type":"custom","data":"' + "y".repeat(1000000) + '"}' : "";
			const text = fs.readFileSync(main, "utf8").split("\\n").slice(0, 30).join("\\n") + large + '\\n{"type":"mess';
			fs.writeFileSync(broken + ".part", text);
			fs.renameSync(broken + ".part", broken);
			say("broken", broken, createHash("sha256").update(text).digest("hex"));
			SessionManager.repair(broken);
		}
		if (random(25) === 0) {
			fs.rmSync(main, { force: true });
			const again = append("after the file was deleted");
			if (again !== undefined) say("entry", main, again);
		}
	}
`;

/** Redacts, repairs and merges the writer's file, without a pause. */
const REWRITER = `
	const { SessionManager } = require(${JSON.stringify(modulePath)});
	const fs = require("node:fs");
	const [main, seed] = [process.argv[1], Number(process.argv[2])];
	let state = seed;
	const random = (below) => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return Math.floor((state / 2 ** 32) * below);
	};
	// The writer has an exclusive lock, or the file is deleted at this moment.
	const REFUSED = ["ERR_SESSION_LOCKED", "ERR_SESSION_INVALID", "ERR_SESSION_CHANGED", "ENOENT"];
	const damage = () => {
		const file = fs.openSync(main, fs.constants.O_WRONLY | fs.constants.O_APPEND);
		fs.writeSync(file, ${JSON.stringify(DAMAGE)});
		fs.closeSync(file);
	};
	const works = {
		redact: () => SessionManager.redact(main, { text: ${JSON.stringify(SECRET)} }),
		repair: () => {
			damage();
			const { backup } = SessionManager.repair(main);
			if (backup) fs.rmSync(backup, { force: true });
		},
		merge: () => {
			const id = random(2 ** 32).toString(16).padStart(8, "0");
			const line = JSON.stringify({ type: "custom", id, parentId: null, timestamp: "2025-01-01T00:00:00.000Z", customType: "stored" });
			SessionManager.merge(main, { session: "main", lines: Buffer.from(line + "\\n") });
		},
	};
	fs.writeSync(1, "ready\\n");
	fs.readSync(0, Buffer.alloc(1));
	for (;;) {
		const [name, work] = Object.entries(works)[random(3)];
		try {
			work();
			fs.writeSync(1, name + "\\n");
		} catch (error) {
			if (!REFUSED.includes(error.code)) throw error;
		}
	}
`;

const header = { type: "session", version: 3, id: "main", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/somewhere" };

/** While the first writer lives, a second one is refused, with the first one's process in the error. */
function expectRefused(SessionManager, main, pid) {
	let refusal;
	try {
		SessionManager.open(main, { lock: "exclusive" }).close();
	} catch (error) {
		refusal = error.message;
	}
	if (!refusal?.includes(`locked by process ${pid}`)) throw new Error(`${main} is held by ${pid}: ${refusal}`);
}

/**
 * Prepares a rewriter. It begins when it is started by a line, and is killed after it has printed `lines` lines, or at
 * the end.
 */
async function readyRewriter(main, seed, lines) {
	const child = spawn(process.execPath, ["-e", REWRITER, main, String(seed)], { stdio: ["pipe", "pipe", "pipe"] });
	let said = -1;
	let errors = "";
	const ended = new Promise((done) =>
		child.on("close", (_, signal) => done({ said, error: signal === "SIGKILL" ? undefined : errors })),
	);
	child.stdin.on("error", () => {});
	child.stderr.setEncoding("utf8").on("data", (text) => (errors += text));
	const ready = new Promise((done) =>
		child.stdout.setEncoding("utf8").on("data", (text) => {
			said += text.split("\n").length - 1;
			done();
			if (said >= lines) child.kill("SIGKILL");
		}),
	);
	await Promise.race([ready, ended]);
	return {
		begin: () => child.stdin.write("x"),
		end() {
			child.kill("SIGKILL");
			return ended;
		},
	};
}

/**
 * Starts a writer, kills it after it has printed `lines` lines, and returns what it has acknowledged.
 */
async function round(SessionManager, dir, { seed, durability, lock, lines, asks, rewrites }) {
	const rewriter = await readyRewriter(join(dir, "main.jsonl"), seed, rewrites);
	const child = spawn(process.execPath, ["-e", WRITER, dir, String(seed), durability, lock], {
		stdio: ["ignore", "pipe", "pipe"],
	});
	let failure;
	let left = lines;
	let said = "";
	let errors = "";
	child.stdout.setEncoding("utf8").on("data", (text) => {
		if (said === "") {
			try {
				if (asks) expectRefused(SessionManager, join(dir, "main.jsonl"), child.pid);
				rewriter.begin();
			} catch (error) {
				failure = error;
			}
		}
		said += text;
		left -= text.split("\n").length - 1;
		if (left <= 0) child.kill("SIGKILL");
	});
	child.stderr.setEncoding("utf8").on("data", (text) => (errors += text));
	return new Promise((done, fail) =>
		child.on("close", async (code, signal) => {
			const rewritten = await rewriter.end();
			if (failure) fail(failure);
			else if (rewritten.error !== undefined)
				fail(new Error(`seed ${seed}: the rewriter ended by itself: ${rewritten.error}`));
			else if (signal !== "SIGKILL") fail(new Error(`seed ${seed}: the writer ended by itself (${code}): ${errors}`));
			// The kill may have cut the last line, which then acknowledges nothing.
			else
				done({
					words: said
						.split("\n")
						.slice(0, -1)
						.map((line) => line.split(" ")),
					rewritten: Math.max(0, rewritten.said),
				});
		}),
	);
}

/**
 * All possible lines of the writer, character by character: `#` is a hexadecimal digit, `9` a digit, `*` any number of
 * x.
 */
const LINES = ["null", '"########"'].flatMap((parent) =>
	["*", "new", "after the file was deleted", SECRET, "[redacted]"].map(
		(content) =>
			`{"type":"message","id":"########","parentId":${parent},"timestamp":"9999-99-99T99:99:99.999Z",` +
			`"message":{"role":"user","content":"${content}","timestamp":1}}`,
	),
);
const letter = (one) => ({ "#": "[0-9a-f]", 9: "\\d", "*": "x*" })[one] ?? one.replace(/[^\w]/, "\\$&");
/** Matches the beginnings of a line: each character, and all after it, may be missing. */
const BEGINNINGS = LINES.map(
	(line) => new RegExp(`^${[...line].reduceRight((rest, one) => `(?:${letter(one)}${rest})?`, "")}$`),
);

/** Whether a text is the beginning of a line of the writer, without any other text. */
export const isCut = (text) => BEGINNINGS.some((beginning) => beginning.test(text)) && !text.endsWith("}}");

/** The errors in the files of a directory, compared with the acknowledged entries. */
function check(SessionManager, dir, { acknowledged, main, kills }) {
	for (const [file, ids] of acknowledged) {
		if (SessionManager.isLocked(file)) throw new Error(`${file}: the dead have its lock`);
		// The kill came between its deletion and the append that writes it again, when there is no file.
		const names = readdirSync(dir);
		if (!names.includes(file.slice(dir.length + 1)) && file === main) return "deleted";
		const there = new Set(
			SessionManager.open(file, dir)
				.getEntries()
				.map((entry) => entry.id),
		);
		for (const id of ids) if (!there.has(id)) throw new Error(`${file}: entry ${id} was acknowledged and is lost`);
		const report = SessionManager.verify(file);
		// A kill may cut the write of a large line, which was not acknowledged. It stays in a line of its own, at most one
		// for each kill. The other process writes such a line before each repair.
		const bytes = readFileSync(file);
		const torn = report.damaged.filter(({ start, end }) => !isCut(bytes.subarray(start, end).toString("utf8")));
		const tooMany = report.damaged.length > (file === main ? 2 * kills : 0);
		if (
			torn.length > 0 ||
			tooMany ||
			report.duplicateIds.length > 0 ||
			report.orphans.length > 0 ||
			report.sessionId === null
		) {
			throw new Error(`${file}: ${JSON.stringify({ ...report, torn })}`);
		}
	}
	return "whole";
}

function checkOld(SessionManager, file) {
	const entries = SessionManager.open(file).getEntries();
	if (entries.length !== 50) throw new Error(`${file}: ${entries.length} of 50 entries are left`);
	const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
	if (lines.length !== 51 || JSON.parse(lines[0]).version !== 3) throw new Error(`${file}: half migrated`);
}

/**
 * A copy that a repair kept, or was about to keep, contains all of the original, or does not exist. Returns whether it
 * exists.
 */
function checkKept(dir, name, sum) {
	const kept = readdirSync(dir).filter((one) => one.startsWith(`${name}.bak`));
	for (const one of kept) {
		const found = createHash("sha256")
			.update(readFileSync(join(dir, one)))
			.digest("hex");
		if (found !== sum) throw new Error(`${join(dir, one)}: the kept original is not what was repaired`);
	}
	if (kept.length > 1) throw new Error(`${dir}: one repair kept ${kept.join(", ")}`);
	return kept.length > 0;
}

/** Kills `kills` writers, several in one directory one after the other. Returns the number of checks. */
export async function killLoop({ kills, seed, scratch, each = 25, progress = () => {} }) {
	const { SessionManager } = createRequire(import.meta.url)(modulePath);
	const total = {
		kills: 0,
		acknowledged: 0,
		files: 0,
		deleted: 0,
		locked: 0,
		refused: 0,
		rewritten: 0,
		cut: 0,
		kept: 0,
		failed: 0,
	};
	let state = seed >>> 0;
	const random = (below) => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return Math.floor((state / 2 ** 32) * below);
	};
	for (let world = 0; total.kills < kills; world++) {
		const dir = join(scratch, `world-${world}`);
		mkdirSync(dir);
		const main = join(dir, "main.jsonl");
		const acknowledged = new Map([[main, []]]);
		const old = [];
		writeFileSync(main, `${JSON.stringify(header)}\n`);
		for (let n = 0; n < each && total.kills < kills; n++) {
			const seed = random(2 ** 31);
			const durability = random(4) === 0 ? "fsync" : "os";
			// The holder of the lock is dead. So the next writer gets the lock, or would end with an error.
			const lock = random(3) === 0 ? "exclusive" : "none";
			const asks = lock === "exclusive" && random(2) === 0;
			const [lines, rewrites] = [1 + random(80), 1 + random(40)];
			const { words, rewritten } = await round(SessionManager, dir, { seed, durability, lock, asks, lines, rewrites });
			total.kills++;
			total.rewritten += rewritten;
			if (lock === "exclusive") total.locked++;
			if (asks) total.refused++;
			for (const [what, file, id] of words) {
				if (what === "entry") {
					if (!acknowledged.has(file)) acknowledged.set(file, []);
					acknowledged.get(file).push(id);
					total.acknowledged++;
				}
				if (what === "failed") total.failed++;
				if (what === "old") old.push(file);
				if (what === "broken" && checkKept(dir, basename(file), id)) total.kept++;
			}
			if (check(SessionManager, dir, { acknowledged, main, kills: n + 1 }) === "deleted") {
				// The writer deleted its file itself, and was killed before it wrote it again. We begin with a new session.
				total.deleted++;
				acknowledged.clear();
				acknowledged.set(main, []);
				writeFileSync(main, `${JSON.stringify(header)}\n`);
			}
			progress(total);
		}
		for (const file of old) checkOld(SessionManager, file);
		total.cut += SessionManager.verify(main).damaged.length;
		total.files += acknowledged.size + old.length;
		// The next writer here removes the files of dead processes.
		const last = createRequire(import.meta.url)("node:child_process");
		const script = `
			const { SessionManager } = require(${JSON.stringify(modulePath)});
			SessionManager.create("/somewhere", process.argv[1]).appendMessage({ role: "user", content: "x", timestamp: 1 });`;
		last.execFileSync(process.execPath, ["-e", script, dir]);
		const left = readdirSync(dir).filter((name) => name.endsWith(".tmp") || name.endsWith(".lock"));
		if (left.length > 0) throw new Error(`left behind: ${left.join(", ")}`);
	}
	return total;
}
