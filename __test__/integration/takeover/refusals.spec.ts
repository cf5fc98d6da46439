// When pi runs on its own manager, and the line that says why.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { referencePackage } from "../../../scripts/demo/pi.mjs";
import { api, scratch, setEnv } from "../../support/scratch.js";
import { agentDir } from "../../unit/catalog/agent-dir.js";
import { because, freshPi, isOurs, SAID, STATICS, taken } from "./pi.js";

describe("pi runs on its own manager, and one line says why,", () => {
	async function refused(pi: any, reason: string | RegExp, more: Record<string, unknown> = {}) {
		const own = pi.SessionManager && { ...Object.getOwnPropertyDescriptors(pi.SessionManager) };
		const { lines, undo } = taken(pi, more);
		if (pi.SessionManager?.inMemory) expect(isOurs(pi.SessionManager.inMemory())).toBe(false);
		// A second session, for which an extension takes over again.
		taken(pi, more);
		pi.SessionManager?.inMemory?.();
		undo();
		if (typeof reason === "string") expect(lines()).toEqual([because(reason)]);
		else expect(lines().join("\n")).toMatch(reason);
		if (own)
			for (const name of STATICS) expect(Object.getOwnPropertyDescriptor(pi.SessionManager, name)).toEqual(own[name]);
	}

	test("where it exports no class", async () => {
		await refused({ ...(await freshPi()), SessionManager: undefined }, "it exports no class SessionManager");
	});

	test("where its class lacks a static, or has one more", async () => {
		for (const name of STATICS) {
			const pi = await freshPi();
			delete pi.SessionManager[name];
			const { lines } = taken(pi);
			expect(lines()).toEqual([because(`SessionManager.${name} is not as expected`)]);
			(globalThis as any)[SAID].said.clear();
		}
		const pi = await freshPi();
		Object.assign(pi.SessionManager, { teleport() {} });
		await refused(pi, "SessionManager.teleport is not known");
	});

	test("where its class is frozen or sealed", async () => {
		for (const close of [Object.freeze, Object.seal, Object.preventExtensions]) {
			const pi = await freshPi();
			close(pi.SessionManager);
			await refused(pi, "SessionManager cannot be changed");
			(globalThis as any)[SAID].said.clear();
		}
	});

	test("where another program replaced a static before", async () => {
		const replacements = [
			(cwd: string) => cwd,
			async (...args: unknown[]) => args,
			function list(_a: 1, _b: 2, _c: 3, _d: 4) {},
			null,
		];
		for (const list of replacements) {
			const pi = await freshPi();
			pi.SessionManager.list = list;
			await refused(pi, "SessionManager.list is not as expected");
			(globalThis as any)[SAID].said.clear();
		}
	});

	// Regression: the takeover threw.
	test("where its class refuses a change", async () => {
		const refusals: [string, (holder: any) => any][] = [
			[
				"SessionManager[Symbol.hasInstance] cannot be replaced",
				(holder) => Object.defineProperty(holder, Symbol.hasInstance, { value: () => false }),
			],
			["SessionManager.create cannot be replaced", (holder) => new Proxy(holder, { defineProperty: () => false })],
			[
				"SessionManager.forkFrom cannot be replaced",
				(holder) =>
					new Proxy(holder, {
						defineProperty: (target, key, property) =>
							key !== "forkFrom" && Reflect.defineProperty(target, key, property),
					}),
			],
			[
				"SessionManager.create cannot be replaced",
				(holder) =>
					new Proxy(holder, {
						defineProperty() {
							throw new Error("no");
						},
					}),
			],
			[
				"it is guarded",
				(holder) =>
					new Proxy(holder, {
						isExtensible() {
							throw new Error("it is guarded\nby a proxy");
						},
					}),
			],
			[
				"open is guarded",
				(holder) =>
					new Proxy(holder, {
						get(target, key, receiver) {
							if (key === "open") throw new Error("open is guarded");
							return Reflect.get(target, key, receiver);
						},
					}),
			],
		];
		for (const [reason, guarded] of refusals) {
			const pi = await freshPi();
			pi.SessionManager = guarded(pi.SessionManager);
			await refused(pi, reason);
			(globalThis as any)[SAID].said.clear();
		}
	});

	test("where its sessions have another version", async () => {
		await refused(await freshPi(referencePackage, { CURRENT_SESSION_VERSION: 4 }), "its sessions have version 4");
	});

	test("where its managers have more than ours", async () => {
		for (const [name, property] of Object.entries({
			rewrite: { value() {} },
			live: { get: () => 1 },
		})) {
			const pi = await freshPi();
			Object.defineProperty(pi.SessionManager.prototype, name, { configurable: true, ...property });
			await refused(pi, `its managers have a member ${name} that this package does not have`);
			(globalThis as any)[SAID].said.clear();
		}
	});

	// Regression: the line said that this package lacks the method.
	test("where a manager's method has another number of arguments", async () => {
		for (const [name, value, counts] of [
			["getLeafId", (_one: 1) => null, "1 instead of 0"],
			["branch", () => {}, "0 instead of 1"],
		] as const) {
			const pi = await freshPi();
			Object.defineProperty(pi.SessionManager.prototype, name, { configurable: true, value });
			await refused(pi, `its managers' ${name} has another number of arguments: ${counts}`);
			(globalThis as any)[SAID].said.clear();
		}
	});

	test("where it keeps its sessions elsewhere", async () => {
		const { agent } = agentDir(1);
		const pi = await freshPi();
		pi.SessionManager.prototype.usesDefaultSessionDir = () => false;
		const { lines } = taken(pi);
		expect(isOurs(pi.SessionManager.create("/project"))).toBe(false);
		expect(lines()).toEqual([because(`it does not store its sessions in ${join(agent, "sessions/--project--")}`)]);
	});

	// Regression: if the working directory had no sessions, listAll listed this package's directory.
	test("where listAll finds sessions elsewhere, which creates no directory", async () => {
		const { agent } = agentDir(3);
		const sessions = join(agent, "sessions");
		const before = readdirSync(sessions);
		const pi = await freshPi();
		pi.SessionManager.prototype.usesDefaultSessionDir = () => false;
		const { lines } = taken(pi);
		expect(await pi.SessionManager.listAll()).toHaveLength(3);
		expect(lines()).toEqual([
			expect.stringMatching(/because it does not store its sessions in .*--(project|other)--$/),
		]);
		expect(readdirSync(sessions)).toEqual(before);
		// Without a directory to compare, pi answers, and no directory is created.
		const empty = scratch();
		setEnv({ PI_CODING_AGENT_DIR: empty });
		const fresh = await freshPi();
		taken(fresh);
		const list = vi.spyOn(api.SessionManager, "listAll");
		onTestFinished(() => list.mockRestore());
		expect(await fresh.SessionManager.listAll()).toEqual([]);
		expect(list).not.toHaveBeenCalled();
		expect(readdirSync(empty)).toEqual([]);
	});

	test("where the addon does not load", async () => {
		const load = () => {
			throw new Error("pi-session-native: no addon for plan9\nbuild it");
		};
		await refused(await freshPi(), "no addon for plan9", { load });
	});

	test("where the process serves a pi with another directory", async () => {
		agentDir(1);
		const [pi, second] = [await freshPi(), await freshPi(referencePackage, { getAgentDir: () => "/elsewhere" })];
		taken(pi);
		expect(isOurs(pi.SessionManager.inMemory())).toBe(true);
		await refused(second, /this process already serves a pi that stores its sessions in .*, not in \/elsewhere$/);
		expect(isOurs(pi.SessionManager.inMemory())).toBe(true);
	});
});
