// What the extension registers, and what it does in which mode of pi.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test, vi } from "vitest";
import { root } from "../../support/scratch.js";

class SessionManager {
	static async list(_cwd: string, _dir: string, _onProgress: unknown, _signal: unknown) {}
	static async listAll(_dir: string, _onProgress: unknown, _signal: unknown) {}
}
vi.mock("@earendil-works/pi-coding-agent", () => ({ SessionManager, VERSION: "1.5.2", CURRENT_SESSION_VERSION: 3, getAgentDir: () => "/nowhere", SessionSelectorComponent: undefined }));
vi.mock("@earendil-works/pi-tui", () => ({ Input: class {}, matchesKey: () => false, truncateToWidth: String, wrapTextWithAnsi: (text: string) => [text] }));

const { default: extension } = await import(pathToFileURL(join(root, "lib/extension/index.mjs")).href);

/** What the extension has registered. */
function registered() {
	const commands: Record<string, { handler(args: string, ctx: unknown): Promise<void> }> = {};
	const events: Record<string, (event: unknown, ctx: unknown) => Promise<void>> = {};
	extension({ registerCommand: (name: string, command: any) => (commands[name] = command), on: (name: string, handler: any) => (events[name] = handler) });
	return { commands, events };
}

test("only in a terminal are pi's lists replaced", async () => {
	const { list } = SessionManager;
	const { events } = registered();
	const sessionManager = { usesDefaultSessionDir: () => false };
	for (const mode of ["rpc", "print", "json"]) {
		await events.session_start?.({}, { mode, hasUI: mode === "rpc", ui: {}, sessionManager });
		expect(SessionManager.list).toBe(list);
	}
	await events.session_start?.({}, { mode: "tui", hasUI: true, ui: {}, sessionManager });
	expect(SessionManager.list).not.toBe(list);
	await events.session_shutdown?.({}, {});
	expect(SessionManager.list).toBe(list);
});

test("a command that fails once its session has ended ends without an error", async () => {
	const { commands } = registered();
	const stale = (): never => {
		throw new Error("This extension ctx is stale");
	};
	const ctx = Object.defineProperties({}, { mode: { get: stale }, hasUI: { get: stale }, ui: { get: stale } });
	await expect(commands.find?.handler("quince", ctx)).resolves.toBeUndefined();
});

test("a command that fails says why", async () => {
	const { commands } = registered();
	const notify = vi.fn();
	const ctx = Object.defineProperties({ hasUI: true, ui: { notify } }, { mode: { get: () => { throw new Error("no mode"); } } });
	await commands.find?.handler("quince", ctx);
	expect(notify).toHaveBeenCalledWith("pi-session-native: no mode", "warning");
});
