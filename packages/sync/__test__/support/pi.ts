// The reference pi with this package's extension.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type PiOptions, type World, world } from "../../../../__test__/end-to-end/extension/pi.js";
import { root } from "../../../../__test__/support/scratch.js";
import { DirectoryStore } from "../../lib/index.js";

export const extension = join(root, "packages/sync");

/** The ways of running pi: on its own session manager, and on that of `pi-session-native`. */
export const WAYS: [string, PiOptions][] = [
	["pi's own manager", { extension }],
	["pi-session-native", { extension, hooked: true }],
];

/** A machine of a project whose settings name the store in a directory. */
export async function machine(
	address: string,
	answers: Parameters<typeof world>[0],
	host = "laptop",
	more: object = {},
): Promise<World & { settings: string; env: Record<string, string> }> {
	const at = await world(answers);
	mkdirSync(address, { recursive: true });
	const settings = join(at.home, "agent/session-store.json");
	writeFileSync(settings, JSON.stringify({ store: address, projects: { [at.work]: "shop" }, ...more }), {
		mode: 0o600,
	});
	return { ...at, settings, env: { PI_SYNC_HOST: host } };
}

export const reader = (path: string): DirectoryStore => new DirectoryStore({ path, host: "reader" });
