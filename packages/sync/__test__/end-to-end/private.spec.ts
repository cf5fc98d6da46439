// `/private` in the real pi, with a store that the settings alone name.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { DirectoryStore, loadAll } from "../../lib/index.js";
import type { Json } from "../../../../__test__/support/scratch.js";
import { inRpc, print, world, type World } from "../../../../__test__/end-to-end/extension/pi.js";

/** A store of this project's sessions. */
function shared(at: World): { store: DirectoryStore; settings: string } {
	const path = join(at.root, "store");
	mkdirSync(path);
	const settings = join(at.home, "agent/session-store.json");
	writeFileSync(settings, JSON.stringify({ store: path, projects: { [at.work]: "shop" } }), { mode: 0o600 });
	return { store: new DirectoryStore({ path, host: "reader" }), settings };
}

const contentsOf = async (store: DirectoryStore, session: string) => (await loadAll(store, session)).lines.map(({ line }) => line.toString()).join("\n");
const notices = ({ records }: { records: Json[] }) => records.filter(({ method }) => method === "notify").map(({ message }) => String(message)).join("\n");

test("what is said after /private is not stored, and what was stored before is named", async () => {
	const at = await world([{ text: "Hello." }, { text: "I see." }]);
	const { store, settings } = shared(at);
	await inRpc(at, async (client) => {
		await client.prompt("Hi");
		await vi.waitFor(async () => expect((await store.list()).sessions).toHaveLength(1), { timeout: 300_000 });
		const session = (await store.list()).sessions[0]?.session ?? "";
		await vi.waitFor(async () => expect(await contentsOf(store, session)).toContain("Hello."), { timeout: 300_000 });
		await client.send({ type: "prompt", message: "/private" });
		await vi.waitFor(() => expect(notices(client)).toContain(`pi-sessions remote delete ${session}`), { timeout: 300_000 });
		expect(JSON.parse(readFileSync(settings, "utf8"))).toMatchObject({ projects: { [at.work]: "shop" }, private: [session] });
		await client.prompt("The code is 4711");
	}, { hooked: true });
	const session = (await store.list()).sessions[0]?.session ?? "";
	expect(await contentsOf(store, session)).toContain("Hello.");
	expect(await contentsOf(store, session)).not.toContain("4711");
});

test("a session that is private from its beginning is not stored, also not by later starts, and another one is", async () => {
	const at = await world([{ text: "I see." }, { text: "Hello." }]);
	const { store } = shared(at);
	await inRpc(at, async (client) => {
		await client.send({ type: "prompt", message: "/private" });
		await client.prompt("The code is 4711");
	}, { hooked: true });
	expect((await store.list()).sessions).toEqual([]);
	expect(await print(at, "Hi", { hooked: true, env: { PI_SESSION_NATIVE_STORE_TIMEOUT: "300000" } })).toMatchObject({ code: 0, stderr: "" });
	const { sessions } = await store.list();
	expect(sessions).toMatchObject([{ project: "shop" }]);
	expect(await contentsOf(store, sessions[0]?.session ?? "")).toContain("Hello.");
});

test("a session that is kept in no file needs no mark", async () => {
	const at = await world();
	expect((await print(at, "/private", { args: ["--no-session"] })).stdout).toBe("This session is kept in no file, and is pushed to no store.\n");
});
