// The module under test, and temporary files and sessions for it.
import {
	appendFileSync,
	chmodSync,
	lstatSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	readlinkSync,
	realpathSync,
	type Stats,
	statSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, vi } from "vitest";
import type { SessionEntry, SessionManager } from "../../index.js";
import { loadSubject } from "./reference.js";
import { remove } from "./remove.js";

export type Api = typeof import("../../index.js");
export type Json = Record<string, unknown>;
/** A manager whose methods accept anything, for arguments and payloads that no type allows. */
export type Loose = Record<string, (...args: unknown[]) => any>;

export const root = resolve(__dirname, "../..");
/**
 * The first line of a script in another process or thread: it has the module under test as `api`, and `SessionManager`.
 */
export const LOAD = `const api = require(${JSON.stringify(process.env.PSN_MODULE ?? join(root, "index.js"))}), { SessionManager } = api;`;
export const api = (await loadSubject()) as unknown as Api;
/** `SessionManager` with statics that accept anything. */
export const anyManager = api.SessionManager as unknown as Loose & { prototype: Loose };

export const loose = (manager: SessionManager): Loose => manager as unknown as Loose;

// ---- Scratch -------------------------------------------------------------------------------------------------

/** A directory for the running test. It is removed after the test. */
export function scratch(): string {
	const dir = realpathSync(mkdtempSync(join(tmpdir(), "psn-contract-")));
	// Other users may read it, so that `lockedOut` locks only the given path.
	chmodSync(dir, 0o755);
	onTestFinished(() => remove(dir));
	return dir;
}

/** Sets environment variables (undefined: not set) until the test is over. */
export function setEnv(values: Record<string, string | undefined>): void {
	const before = Object.fromEntries(Object.keys(values).map((key) => [key, process.env[key]]));
	const put = (all: Record<string, string | undefined>): void => {
		for (const [key, value] of Object.entries(all)) {
			if (value === undefined) delete process.env[key];
			else process.env[key] = value;
		}
	};
	put(values);
	onTestFinished(() => put(before));
}

/** Sets JavaScript's clock to this time until the test is over. */
export function clockAt(iso: string): void {
	vi.useFakeTimers({ now: new Date(iso), toFake: ["Date"] });
	onTestFinished(() => {
		vi.useRealTimers();
	});
}

/** Changes the working directory until the test is over. */
export function enter(dir: string): void {
	const before = process.cwd();
	process.chdir(dir);
	onTestFinished(() => process.chdir(before));
}

/** An agent directory and a home for one test. */
export function ownAgent(): { agent: string; home: string } {
	const dir = scratch();
	const agent = join(dir, "agent");
	const home = join(dir, "home");
	mkdirSync(home);
	// Windows uses another variable.
	setEnv({ PI_CODING_AGENT_DIR: agent, HOME: home, USERPROFILE: home });
	// Others look elsewhere.
	setEnv({ PI_CODING_AGENT_SESSION_DIR: undefined, PI_SESSION_NATIVE_CATALOG: undefined });
	// The pi that an earlier test set (lib/takeover/library.mjs).
	Reflect.deleteProperty(globalThis, Symbol.for("pi-session-native.app"));
	return { agent, home };
}

export const modeOf = (path: string): number => statSync(path).mode & 0o777;

/** Runs as a user who may not read `locked` and the files below it. */
export async function lockedOut<T>(locked: string, work: () => T | Promise<T>): Promise<T> {
	const before = modeOf(locked);
	chmodSync(locked, 0);
	// Modes do not restrict a privileged process.
	const isRoot = process.geteuid?.() === 0;
	if (isRoot) process.seteuid?.(65534);
	try {
		return await work();
	} finally {
		if (isRoot) process.seteuid?.(0);
		chmodSync(locked, before);
	}
}

/** All files below a directory: kinds, modes and bytes. If two results are equal, nothing has changed. */
export function snapshot(dir: string): Record<string, string> {
	const all: Record<string, string> = {};
	const visit = (path: string, name: string): void => {
		const stats: Stats = lstatSync(path);
		const mode = (stats.mode & 0o777).toString(8);
		if (stats.isSymbolicLink()) all[name] = `link to ${readlinkSync(path)}`;
		else if (stats.isDirectory()) {
			all[name] = `dir ${mode}`;
			for (const child of readdirSync(path)) visit(join(path, child), `${name}/${child}`);
		} else all[name] = `file ${mode} ${readFileSync(path, "latin1")}`;
	};
	visit(dir, ".");
	return all;
}

// ---- Session files -------------------------------------------------------------------------------------------

export const BORN = "2025-01-01T00:00:00.000Z";

export const header = (fields: Json = {}): Json => ({
	type: "session",
	version: 3,
	id: "s-1",
	timestamp: BORN,
	cwd: "/somewhere",
	...fields,
});

export const user = (text: unknown = "hello", fields: Json = {}): any => ({
	role: "user",
	content: text,
	timestamp: 1735689600000,
	...fields,
});

export const assistant = (text = "hi", fields: Json = {}): any => ({
	role: "assistant",
	content: [{ type: "text", text }],
	api: "faux",
	provider: "faux-provider",
	model: "faux-model",
	usage: usage(),
	stopReason: "stop",
	timestamp: 1735689601000,
	...fields,
});

export const toolResult = (text = "output"): any => ({
	role: "toolResult",
	toolCallId: "call_1",
	toolName: "read",
	content: [{ type: "text", text }],
	isError: false,
	timestamp: 1735689602000,
});

export const system = (fields: Json): any => ({ role: "system", content: "", timestamp: 7, ...fields });

export function usage(): any {
	const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
	return { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3, cost };
}

/** The fields of an entry, `type`, `id` and `parentId` first. */
export const entry = (type: string, id: string, parentId: unknown, fields: Json = {}): Json => ({
	type,
	id,
	parentId,
	timestamp: BORN,
	...fields,
});

export const message = (id: string, parentId: unknown, body: unknown = user(), fields: Json = {}): Json =>
	entry("message", id, parentId, { message: body, ...fields });

/** Lines as text: values as JSON, texts unchanged. Each line is terminated. */
export function text(lines: readonly (Json | string)[]): string {
	return lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("");
}

/** Appends so many bytes of a text that is repeated, in pieces: a file may have more than a string or the memory. */
export function appendRepeated(path: string, text: string, bytes: number): void {
	const piece = Buffer.alloc(Math.min(bytes, 16 << 20), text);
	for (let left = bytes; left > 0; left -= piece.length) appendFileSync(path, piece.subarray(0, left));
}

/** Writes a session file to a directory. Returns its path. */
export function writeSession(dir: string, lines: readonly (Json | string)[], name = "session.jsonl"): string {
	const path = join(dir, name);
	writeFileSync(path, text(lines));
	return path;
}

/** A session file of version 1 with one message. */
export const oldSession = (name?: string, dir = scratch()): string =>
	writeSession(
		dir,
		[
			{ type: "session", id: "old" },
			{ type: "message", message: user() },
		],
		name,
	);

/** Opens a session file with these lines after the usual header. */
export function opened(lines: readonly (Json | string)[]): { manager: SessionManager; file: string } {
	const file = writeSession(scratch(), [header(), ...lines]);
	return { manager: api.SessionManager.open(file), file };
}

/** A session in memory. */
export const inMemory = (): SessionManager => api.SessionManager.inMemory("/somewhere");

export const read = (path: string): string => readFileSync(path, "utf8");
export const linesOf = (path: string): string[] => read(path).split("\n").slice(0, -1);
export const jsonLines = (path: string): any[] => linesOf(path).map((line) => JSON.parse(line));
export const ids = (entries: readonly { id: string }[]): string[] => entries.map((one) => one.id);
export const lastLine = (path: string): string => linesOf(path).at(-1) as string;

// ---- Comparing -----------------------------------------------------------------------------------------------

/**
 * A value as text that also shows differences that deep equality ignores: the order of keys, undefined properties, -0,
 * `__proto__` as a key.
 */
export function shape(value: unknown): string {
	if (typeof value === "string") return JSON.stringify(value);
	if (typeof value !== "object" || value === null) return Object.is(value, -0) ? "-0" : String(value);
	if (Array.isArray(value)) return `[${Array.from(value, shape).join(",")}]`;
	// Reading makes a large value plain data; until then it is an accessor.
	Object.values(value);
	const fields = Reflect.ownKeys(value).map((key) => {
		const field = Object.getOwnPropertyDescriptor(value, key)?.value as unknown;
		return `${JSON.stringify(String(key))}:${shape(field)}`;
	});
	return `${Object.getPrototypeOf(value) === Object.prototype ? "" : "odd prototype "}{${fields.join(",")}}`;
}

/** All that a caller can see of a manager, and the files below a directory. */
export function stateOf(manager: SessionManager, dir?: string): unknown {
	return {
		id: manager.getSessionId(),
		file: manager.getSessionFile(),
		header: shape(manager.getHeader()),
		leaf: manager.getLeafId(),
		count: manager.getEntryCount(),
		entries: manager.getEntries().map((one) => `${one.type} ${one.id} below ${one.parentId}`),
		labels: manager.getEntries().map((one) => manager.getLabel(one.id)),
		name: manager.getSessionName(),
		files: dir === undefined ? undefined : snapshot(dir),
	};
}

/** Runs a call that must fail and change nothing. Returns the error. */
export function failing(manager: SessionManager, dir: string | undefined, work: () => unknown): any {
	const before = stateOf(manager, dir);
	const error = caught(work);
	expect(stateOf(manager, dir)).toEqual(before);
	return error;
}

/** The error that a call throws. */
export function caught(work: () => unknown): any {
	try {
		work();
	} catch (error) {
		return error;
	}
	throw new Error("expected an error");
}

/** The reason of a rejection. */
export const rejection = (promise: Promise<unknown>): Promise<any> =>
	promise.then(
		() => "resolved",
		(reason: unknown) => reason,
	);

/** The entries of a tree, each followed by its children. */
export function flat(nodes: readonly { entry: SessionEntry; children: readonly any[] }[]): SessionEntry[] {
	return nodes.flatMap((node) => [node.entry, ...flat(node.children)]);
}
