// Tells our session manager which application it serves. pi's own config module knows the agent's directory:
// its environment variable, its directory below the home directory and its name differ in renamed builds.
import { Unfit } from "./package.mjs";

const APP = Symbol.for("pi-session-native.app");

/** `config` is the namespace of a pi's `dist/config.js`. */
export function setApp(dir, config) {
	const { getAgentDir, APP_NAME: name = "pi" } = config;
	const served = globalThis[APP];
	if (served && served.dir !== dir && (served.name !== name || served.getAgentDir() !== getAgentDir())) {
		throw new Unfit(
			`one process cannot serve two pis that keep their sessions in different places: ${served.dir} and ${dir}`,
		);
	}
	globalThis[APP] ??= { dir, name, getAgentDir };
}
