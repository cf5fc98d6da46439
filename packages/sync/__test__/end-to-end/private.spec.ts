// `/private` in the real pi.
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { inRpc, inTerminal, print } from "../../../../__test__/end-to-end/extension/pi.js";
import type { Json } from "../../../../__test__/support/scratch.js";
import { type DirectoryStore, loadAll } from "../../lib/index.js";
import { emptyDirectory } from "../support/lines.js";
import { extension, machine, reader, WAYS } from "../support/pi.js";

const LONG = { timeout: 300_000, interval: 50 };
const contentsOf = async (store: DirectoryStore, session: string) =>
	(await loadAll(store, session)).lines.map(({ line }) => line.toString()).join("\n");
const notices = ({ records }: { records: Json[] }) =>
	records
		.filter(({ method }) => method === "notify")
		.map(({ message, notifyType }) => `${notifyType}: ${message}`)
		.join("\n");

test.each(WAYS)("/private stops storing and names stored lines, on %s", async (_, options) => {
	const address = join(emptyDirectory(), "store");
	const at = await machine(address, [{ text: "Hello." }, { text: "I see." }]);
	const store = reader(address);
	await inRpc(
		at,
		async (client) => {
			await client.prompt("Hi");
			await vi.waitFor(async () => expect((await store.list()).sessions).toHaveLength(1), LONG);
			const session = (await store.list()).sessions[0]?.session ?? "";
			await vi.waitFor(async () => expect(await contentsOf(store, session)).toContain("Hello."), LONG);
			await client.send({ type: "prompt", message: "/private" });
			await vi.waitFor(() => expect(notices(client)).toContain(`pi-sync delete ${session}`), LONG);
			expect(JSON.parse(readFileSync(at.settings, "utf8"))).toMatchObject({
				projects: { [at.work]: "shop" },
				private: [session],
			});
			await client.prompt("The code is 4711");
		},
		{ ...options, env: at.env },
	);
	const session = (await store.list()).sessions[0]?.session ?? "";
	expect(await contentsOf(store, session)).toContain("Hello.");
	expect(await contentsOf(store, session)).not.toContain("4711");
});

// Regression: any argument made the session private.
test("/private understands only on, off and status", async () => {
	const address = join(emptyDirectory(), "store");
	const at = await machine(address, [{ text: "Hello." }]);
	await inRpc(
		at,
		async (client) => {
			await client.prompt("Hi");
			const says = async (message: string, text: string) => {
				await client.send({ type: "prompt", message });
				await vi.waitFor(() => expect(notices(client).split("\n").at(-1)).toContain(text), LONG);
			};
			await says("/private status", "info: This session is not private.");
			await says("/private maybe", "error: Usage: /private [on|off|status]");
			expect(JSON.parse(readFileSync(at.settings, "utf8")).private).toBeUndefined();
			await client.send({ type: "prompt", message: "/private on" });
			await vi.waitFor(() => expect(notices(client)).toContain("info: This session is private"), LONG);
			await says("/private off", "info: This session is not private");
			expect(JSON.parse(readFileSync(at.settings, "utf8")).private).toEqual([]);
			// Its directory is private, too, not only the session itself.
			writeFileSync(at.settings, JSON.stringify({ store: address, private: [at.work] }), { mode: 0o600 });
			await client.send({ type: "prompt", message: "/private off" });
			await vi.waitFor(() => expect(notices(client)).toContain("error: This session is still private"), LONG);
		},
		{ extension, env: at.env },
	);
});

// Regression: only the error in the file was printed, and the exit code was 0.
test("/private fails with exit code 1 if settings are unusable", async () => {
	const at = await machine(join(emptyDirectory(), "store"), []);
	chmodSync(at.settings, 0o644);
	const failed = await print(at, "/private", { extension, env: at.env });
	expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining("This session is NOT private: ")]);
	chmodSync(at.settings, 0o600);
	const usage = await print(at, "/private please", { extension, env: at.env });
	expect([usage.code, usage.stderr]).toEqual([1, expect.stringContaining("Usage: /private [on|off|status]")]);
	expect(JSON.parse(readFileSync(at.settings, "utf8")).private).toBeUndefined();
	// pi's JSON stream contains events of pi alone.
	const status = await print(at, "/private status", { extension, args: ["--mode", "json"], env: at.env });
	expect(status.stderr).toContain("This session is not private.");
	expect(status.stdout).not.toContain("private");
	const marked = await print(at, "/private", { extension, env: at.env });
	expect([marked.code, marked.stderr]).toEqual([0, expect.stringContaining("This session is private: no store gets")]);
});

// Regression: after the session was made private, the message was "This session is NOT private", with exit code 1.
test("/private works beside an unusable store address", async () => {
	const at = await machine(join(emptyDirectory(), "store"), []);
	writeFileSync(at.settings, JSON.stringify({ store: "mysql://me@host/db" }), { mode: 0o600 });
	const { code, stderr } = await print(at, "/private", { extension, env: at.env });
	expect([code, stderr]).toEqual([0, expect.stringContaining("This session is private: no store gets")]);
	expect(JSON.parse(readFileSync(at.settings, "utf8")).private).toHaveLength(1);
});

// Regression: it said that no store gets the session, but not that no store is configured.
test("/private without a store counts for later stores", async () => {
	const at = await machine(join(emptyDirectory(), "store"), []);
	writeFileSync(at.settings, "{}", { mode: 0o600 });
	const { code, stderr } = await print(at, "/private", { extension, env: at.env });
	expect([code, stderr]).toEqual([0, expect.stringContaining("No store is named now; one that you name later gets")]);
	expect(JSON.parse(readFileSync(at.settings, "utf8")).private).toHaveLength(1);
	const { stderr: status } = await print(at, "/private status", { extension, env: at.env });
	expect(status).toBe("This session is not private.\n");
});

test("pi's status line shows that a session is private", async () => {
	const at = await machine(join(emptyDirectory(), "store"), [{ text: "Hello." }]);
	const terminal = await inTerminal(at, { extension, env: at.env });
	await terminal.enter("/private");
	await terminal.shows("This session is private", /^ *private *$/m);
});

test("a session without a file needs no private mark", async () => {
	const at = await machine(join(emptyDirectory(), "store"), []);
	expect((await print(at, "/private", { extension, args: ["--no-session"], env: at.env })).stderr).toBe(
		"This session has no file, so it is never pushed to a store.\n",
	);
});
