// What the extension registers, and what it does in each mode of pi.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { loadReference } from "../../support/reference.js";
import { root } from "../../support/scratch.js";

const { SessionManager, CURRENT_SESSION_VERSION } = (await loadReference()) as any;
vi.doMock("@earendil-works/pi-coding-agent", () => ({
	SessionManager,
	VERSION: "1.6.0",
	CURRENT_SESSION_VERSION,
	getAgentDir: () => "/nowhere",
}));
vi.doMock("@earendil-works/pi-tui", () => ({
	Input: class {},
	matchesKey: () => false,
	truncateToWidth: String,
	wrapTextWithAnsi: (text: string) => [text],
}));

const { default: extension } = await import(pathToFileURL(join(root, "lib/extension/pi-session-native.mjs")).href);

/** The extension's registrations. */
function registered(settings: unknown = {}) {
	const commands: Record<string, { handler(args: string, ctx: unknown): Promise<void> }> = {};
	const events: Record<string, (event: unknown, ctx: unknown) => Promise<void>> = {};
	extension({
		getSettings: () => settings,
		registerCommand: (name: string, command: any) => (commands[name] = command),
		on: (name: string, handler: any) => (events[name] = handler),
	});
	return { commands, events };
}

// Regression: the name was shown as it is.
test("an unknown setting is shown without control and direction characters", async () => {
	const ctx = { mode: "tui", hasUI: true, ui: { notify: vi.fn() } };
	const { events } = registered({ "pi-session-native": { "a\u009b31m\u202eb": true } });
	await events.session_start?.({ reason: "startup" }, ctx);
	expect(ctx.ui.notify).toHaveBeenCalledWith(expect.stringContaining('unknown setting "a?31m?b"'), "warning");
	await events.session_shutdown?.({ reason: "quit" }, ctx);
});

test("a session takes pi's class over until it ends", async () => {
	const { create } = SessionManager;
	const { events } = registered();
	for (const mode of ["rpc", "print", "json", "tui"]) {
		await events.session_start?.({}, { mode, hasUI: mode === "tui", ui: {} });
		expect(SessionManager.create).not.toBe(create);
		await events.session_start?.({}, { mode, hasUI: mode === "tui", ui: {} });
		await events.session_shutdown?.({}, {});
		expect(SessionManager.create).toBe(create);
	}
});

// Regression: the class stayed taken over for ever.
test("a session that ends while starting takes nothing over", async () => {
	const { create } = SessionManager;
	for (const reason of ["quit", "reload"]) {
		const { events } = registered();
		const start = events.session_start?.({ reason: "startup" }, { mode: "rpc" });
		await events.session_shutdown?.({ reason }, {});
		await start;
		expect(SessionManager.create).toBe(create);
	}
	// The second start begins before the first one has finished its import.
	const { events } = registered();
	const starts = [1, 2].map(() => events.session_start?.({ reason: "startup" }, { mode: "rpc" }));
	await Promise.all(starts);
	expect(SessionManager.create).not.toBe(create);
	await events.session_shutdown?.({ reason: "quit" }, {});
	expect(SessionManager.create).toBe(create);
});

// Regression: if another extension had wrapped a static, the first /new ended the takeover, which then could not begin
// again.
test("a static wrapped by another extension stays ours", async () => {
	const { list } = SessionManager;
	const ctx = { mode: "tui", hasUI: true, ui: { notify: vi.fn() } };
	let { events } = registered();
	await events.session_start?.({ reason: "startup" }, ctx);
	const ours = SessionManager.list;
	const wrapped = vi.fn((...args) => ours.apply(SessionManager, args));
	SessionManager.list = wrapped;
	for (const reason of ["new", "resume", "fork", "reload"]) {
		const { create } = SessionManager;
		await events.session_shutdown?.({ reason }, ctx);
		expect(SessionManager.create).toBe(create);
		({ events } = registered());
		await events.session_start?.({ reason }, ctx);
		expect(SessionManager.create).toBe(create);
		expect(SessionManager.list).toBe(wrapped);
	}
	expect(ctx.ui.notify).not.toHaveBeenCalled();
	SessionManager.list = ours;
	await events.session_shutdown?.({ reason: "quit" }, ctx);
	expect(SessionManager.list).toBe(list);
});

test("a reload without the extension returns the class to pi", async () => {
	const { create } = SessionManager;
	const ctx = { mode: "rpc" };
	const first = registered();
	await first.events.session_start?.({}, ctx);
	await first.events.session_shutdown?.({ reason: "reload" }, ctx);
	expect(SessionManager.create).not.toBe(create);
	const off = registered({ "pi-session-native": { sessions: false } });
	await off.events.session_start?.({}, ctx);
	expect(SessionManager.create).toBe(create);

	vi.useFakeTimers();
	onTestFinished(() => void vi.useRealTimers());
	const removed = registered();
	await removed.events.session_start?.({}, ctx);
	await removed.events.session_shutdown?.({ reason: "reload" }, ctx);
	expect(SessionManager.create).not.toBe(create);
	vi.runAllTimers();
	expect(SessionManager.create).toBe(create);
});

test("a command of an ended session fails silently", async () => {
	const { commands } = registered();
	const stale = (): never => {
		throw new Error("This extension ctx is stale");
	};
	const ctx = Object.defineProperties({}, { mode: { get: stale }, hasUI: { get: stale }, ui: { get: stale } });
	await expect(commands.find?.handler("quince", ctx)).resolves.toBeUndefined();
});
