// Classes of pi, new ones for each test, and takeovers that end with the test.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, onTestFinished, vi } from "vitest";
import { earlierPackage, referencePackage } from "../../../scripts/demo/pi.mjs";
import { nativeImport } from "../../support/reference.js";
import { api, root } from "../../support/scratch.js";

export const native = (path: string): Promise<any> => import(/* @vite-ignore */ pathToFileURL(path).href);
const { takeOver } = await native(join(root, "lib/takeover/take-over.mjs"));
export const STATICS = ["create", "open", "continueRecent", "inMemory", "forkFrom", "findById", "list", "listAll"];
export const modules = { "of the reference": referencePackage, "of the release before it": earlierPackage };
export const SAID = Symbol.for("pi-session-native.takeover.2");

/** A new copy of a release's module, so that each test has its own class. */
let copies = 0;
export async function freshPi(dir = referencePackage, more: Record<string, unknown> = {}): Promise<any> {
	const url = pathToFileURL(join(dir, "dist/core/session-manager.js")).href;
	const { SessionManager, CURRENT_SESSION_VERSION } = (await nativeImport(`${url}?copy=${++copies}`)) as any;
	return {
		SessionManager,
		CURRENT_SESSION_VERSION,
		VERSION: "1.6.0",
		getAgentDir: () => process.env.PI_CODING_AGENT_DIR,
		...more,
	};
}

/** Takes over a pi for the duration of a test. */
export function taken(pi: any, more: Record<string, unknown> = {}) {
	const warn = vi.fn();
	const undo = takeOver(pi, { warn, ...more });
	onTestFinished(undo);
	return { warn, undo, lines: () => warn.mock.calls.map(([line]) => line) };
}

export const isOurs = (manager: unknown): boolean => manager instanceof api.SessionManager;
export const because = (reason: string): string =>
	`pi-session-native: pi 1.6.0 runs on its own session manager, because ${reason}`;

afterEach(() => {
	// A process prints each line only once.
	(globalThis as any)[SAID].said.clear();
	Reflect.deleteProperty(globalThis, Symbol.for("pi-session-native.app"));
});
