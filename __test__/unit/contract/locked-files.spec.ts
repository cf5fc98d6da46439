// `tryLockFile`: one holder at a time, in all threads and processes. The lock ends with its holder, and the file stays.
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { ended, saying, start } from "../../support/children.js";
import { gc, runtime } from "../../support/runtime.js";
import { api, caught, LOAD, scratch } from "../../support/scratch.js";
import { testIf, testWith } from "../../support/windows.js";

const { tryLockFile } = api;

/** Locks a file that nobody has locked. */
function locked(path: string): () => void {
	const release = tryLockFile(path);
	if (release === null) throw new Error(`${path} is locked`);
	return release;
}

/** Waits until a file can be locked, and unlocks it. */
async function isFree(path: string): Promise<boolean> {
	for (let tries = 0; tries < 500; tries++) {
		const release = tryLockFile(path);
		release?.();
		if (release) return true;
		await new Promise((resolve) => setTimeout(resolve, 10));
	}
	return false;
}

test("one caller has the lock, and the file stays", () => {
	const path = join(scratch(), "lock");
	const release = locked(path);
	expect([tryLockFile(path), tryLockFile(path)]).toEqual([null, null]);
	release();
	expect(readFileSync(path, "utf8")).toBe("");
	writeFileSync(path, "a note");
	locked(path)();
	expect(readFileSync(path, "utf8")).toBe("a note");
});

test("a lock that was released twice is not somebody else's", () => {
	const path = join(scratch(), "lock");
	const release = locked(path);
	release();
	const next = locked(path);
	release();
	expect(tryLockFile(path)).toBeNull();
	next.call(5);
	locked(path)();
});

test("a path that cannot be locked is an error", () => {
	const dir = scratch();
	const told = (path: unknown) => {
		const { code, path: about } = caught(() => tryLockFile(path as string)) as { code?: string; path?: string };
		return [code, about];
	};
	const getters = {
		get toString() {
			throw new Error("it was called");
		},
	};
	for (const path of [undefined, null, 5, {}, [], getters, "a\0b"])
		expect(told(path)).toEqual(["ERR_INVALID_ARGUMENT", undefined]);
	mkdirSync(join(dir, "folder"));
	expect(told(join(dir, "nowhere", "lock"))).toEqual(["ENOENT", join(dir, "nowhere", "lock")]);
	expect(caught(() => tryLockFile(join(dir, "folder")))).toMatchObject({ path: join(dir, "folder") });
});

testWith("links")("a symbolic link is not followed", () => {
	const dir = scratch();
	symlinkSync(join(dir, "target"), join(dir, "lock"));
	expect(caught(() => tryLockFile(join(dir, "lock")))).toMatchObject({ code: "ELOOP" });
});

test("a killed process leaves no lock, and its child none", async () => {
	const path = join(scratch(), "lock");
	// On Windows a process that is not detached ends with its parent.
	const child = start(
		`
		globalThis.kept = api.tryLockFile(args[0]);
		const sleeper = require("node:child_process").spawn(process.execPath, ["-e", "setTimeout(() => {}, 60_000)"], { stdio: "ignore", detached: true });
		say("holding " + sleeper.pid);
		setInterval(() => {}, 1000);`,
		[path],
	);
	const sleeper = Number((await saying(child, "holding")).split(" ")[1]);
	try {
		expect(tryLockFile(path)).toBeNull();
		child.kill("SIGKILL");
		await ended(child);
		expect(await isFree(path)).toBe(true);
	} finally {
		process.kill(sleeper);
	}
});

test("a lock released while a process starts is free", async () => {
	const path = join(scratch(), "lock");
	for (let round = 0; round < 5; round++) {
		const release = locked(path);
		const child = spawn(process.execPath, ["-e", "setTimeout(() => {}, 60_000)"], { stdio: "ignore" });
		release();
		locked(path)();
		child.kill();
	}
});

testIf(runtime !== "deno", "Deno does not say that a thread is terminated")(
	"a thread that is terminated leaves no lock",
	async () => {
		const path = join(scratch(), "lock");
		for (let round = 0; round < 3; round++) {
			const code = `
			const { parentPort, workerData } = require("node:worker_threads");
			${LOAD}
			globalThis.kept = api.tryLockFile(workerData);
			parentPort.postMessage(typeof globalThis.kept);
			setInterval(() => {}, 1000);`;
			const worker = new Worker(code, { eval: true, workerData: path });
			expect(await new Promise((resolve) => worker.once("message", resolve))).toBe("function");
			expect(tryLockFile(path)).toBeNull();
			await worker.terminate();
			expect(await isFree(path)).toBe(true);
		}
	},
);

testIf(runtime === "node", "other engines collect when they like")(
	"a lock is released when its function is collected",
	async () => {
		const path = join(scratch(), "lock");
		locked(path);
		for (let tries = 0; tries < 100; tries++) {
			gc();
			await new Promise((resolve) => setImmediate(resolve));
			const release = tryLockFile(path);
			if (release) return release();
		}
		throw new Error("it is still locked");
	},
);
