// A host that is to have its sessions alone (PI_SESSION_NATIVE_LOCK=exclusive), and another one that claims them.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type LineStore, SessionSync, loadAll } from "../../../lib/store/index.js";
import { SESSION, emptyDirectory, entry, header, ids } from "../../support/lines.js";
import { NAME, text } from "../../support/machines.js";
import { type SharedStore, inBucket, inDirectory, inPostgres } from "../../support/shared-stores.js";

const root = resolve(__dirname, "../../..");

/** A session of one entry that is stored, and a process that has it open until it reads a line. */
async function setup({ address, env, open: storeOf }: SharedStore, before: (desktop: LineStore, file: string) => unknown, open: string) {
	const path = emptyDirectory();
	const [agent, work] = [join(path, "agent"), join(path, "shop")];
	const dir = join(agent, "sessions", `--${work.slice(1).replaceAll("/", "-")}--`);
	for (const one of [work, dir]) mkdirSync(one, { recursive: true });
	const file = join(dir, NAME);
	writeFileSync(file, text(header(), entry("stored")));
	const [laptop, desktop] = [storeOf("laptop"), storeOf("desktop")];
	const own = { store: laptop, address, notes: join(agent, "session-stores"), dir, cwd: work, project: "shop" };
	expect(await new SessionSync(own).push()).toMatchObject([{ lag: 0 }]);
	await before(desktop, file);
	const program = `
		import { createRequire } from "node:module";
		import { appendFileSync } from "node:fs";
		import { storeOfEnvironment } from ${JSON.stringify(pathToFileURL(join(root, "lib/follower/in-pi.mjs")).href)};
		const { SessionManager } = createRequire(${JSON.stringify(join(root, "index.js"))})("./index.js");
		const store = storeOfEnvironment();
		store.pullBefore([]);
		store.watch(SessionManager);
		const file = ${JSON.stringify(file)};
		${open}
		process.stdin.once("data", () => {
			appendFileSync(file, ${JSON.stringify(text(entry("late")))});
			process.exit();
		});`;
	const names = { PI_SESSION_NATIVE_STORE: address, PI_SESSION_NATIVE_HOST: "laptop", PI_SESSION_NATIVE_PROJECT: "shop", PI_SESSION_NATIVE_STORE_TIMEOUT: "300000", PI_SESSION_NATIVE_LOCK: "exclusive" };
	const child = spawn(process.execPath, ["--input-type=module", "-e", program], { cwd: work, env: { ...process.env, PI_CODING_AGENT_DIR: agent, HOME: path, ...env, ...names } as NodeJS.ProcessEnv, stdio: ["pipe", "inherit", "pipe"] });
	onTestFinished(() => void child.kill("SIGKILL"));
	let said = "";
	child.stderr.setEncoding("utf8").on("data", (part: string) => (said += part));
	const end = async () => {
		const ended = once(child, "close");
		child.stdin.end("\n");
		await ended;
		return said;
	};
	/** As if the laptop's claim had ended; gives when the process, which renews it now and then, has heard of that. */
	const takeOver = async () => {
		await vi.waitFor(async () => {
			await laptop.claim?.(SESSION, { ttl: 0 });
			await desktop.claim?.(SESSION, { ttl: 600_000 });
		}, { timeout: 300_000 });
		await vi.waitFor(() => expect(said).toContain("is claimed by host desktop"), { timeout: 300_000 });
	};
	return { desktop, takeOver, end, stored: async () => ids(await loadAll(desktop, SESSION)) };
}

const OPEN = "globalThis.kept = SessionManager.open(file, { lock: 'none' });";

describe.each([["PostgreSQL", inPostgres], ["a bucket", inBucket], ["a directory", inDirectory]])("%s", (_, start) => {
	test("what was appended after another host had taken the session over is not stored at the end", async () => {
		const { desktop, takeOver, end, stored } = await setup(await start(), () => {}, OPEN);
		await vi.waitFor(async () => expect((await desktop.list()).sessions).toMatchObject([{ claim: { host: "laptop" } }]), { timeout: 300_000 });
		await takeOver();
		expect(await end()).toContain(`not all is stored yet (Session ${SESSION} is claimed by host desktop)`);
		expect(await stored()).toEqual(["stored"]);
	});

	test("what an earlier process left of a session that another host has is not stored", async () => {
		const before = async (desktop: LineStore, file: string) => {
			appendFileSync(file, text(entry("left")));
			await desktop.claim?.(SESSION, { ttl: 600_000 });
		};
		const { end, stored } = await setup(await start(), before, "");
		const said = await end();
		expect(said).toContain(`session ${SESSION} is in use on desktop\n`);
		expect(said).toContain(`not all is stored yet (Session ${SESSION} is claimed by host desktop)`);
		expect(await stored()).toEqual(["stored"]);
	});

	test("what waits without a claim is claimed before it is stored, and given up afterwards", async () => {
		const { desktop, end, stored } = await setup(await start(), (_, file) => appendFileSync(file, text(entry("left"))), "");
		expect(await end()).toBe("");
		// No manager of this process has the file: "late" is stored at the end only if "left" was not stored before it.
		expect((await stored()).slice(0, 2)).toEqual(["stored", "left"]);
		const [{ claim } = {}] = (await desktop.list()).sessions;
		expect(claim).toBeUndefined();
	});
});
