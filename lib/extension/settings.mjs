// Reads the extension's settings, the object `pi-session-native` in pi's settings, and its keys. A project's settings
// override the user's.
import { join } from "node:path";
import { readSmall } from "../shared/read-small.mjs";

/** @typedef {{ sessions: boolean, tools: boolean }} Settings */

/** @type {Settings} */
const DEFAULTS = { sessions: true, tools: false };

/**
 * Reads the settings. Reports and ignores unknown names, and values other than true and false.
 * @param {import("@earendil-works/pi-coding-agent").ExtensionAPI} api
 * @param {(text: string) => void} warn
 * @returns {Settings}
 */
export function readExtensionSettings(api, warn) {
	// pi before 1.0 has no `getSettings`.
	const given = /** @type {Record<string, unknown> | undefined} */ (api.getSettings?.())?.["pi-session-native"];
	const settings = { ...DEFAULTS };
	if (given === undefined) return settings;
	if (typeof given !== "object" || given === null || Array.isArray(given)) {
		warn(`pi-session-native: the setting "pi-session-native" must be an object, such as { "sessions": false }`);
		return settings;
	}
	for (const [name, value] of Object.entries(given)) {
		if (!Object.hasOwn(DEFAULTS, name))
			warn(
				// A name may contain invisible characters and control characters.
				`pi-session-native: unknown setting ${JSON.stringify(name.slice(0, 100)).replace(/[^ -~]/gu, "?")}. ` +
					`Settings are ${Object.keys(DEFAULTS).join(", ")}`,
			);
		else if (typeof value !== "boolean")
			warn(`pi-session-native: the setting ${JSON.stringify(name)} must be true or false`);
		else settings[/** @type {keyof Settings} */ (name)] = value;
	}
	return settings;
}

/** The name of `/find` in pi's `keybindings.json`. pi ignores names that it does not know. */
const FIND_KEYS = "pi-session-native.find";

/**
 * The keys that open `/find`. Returns none if the file cannot be read, because pi ignores such a file as well.
 * @param {{ getAgentDir(): string }} pi
 * @returns {import("@earendil-works/pi-tui").KeyId[]}
 */
export function findKeys(pi) {
	try {
		const keys = JSON.parse(
			readSmall(join(pi.getAgentDir(), "keybindings.json"))
				.toString()
				.replace(/^\ufeff/, ""),
		)[FIND_KEYS];
		return [keys].flat().filter((key) => typeof key === "string" && key !== "");
	} catch {
		return [];
	}
}
