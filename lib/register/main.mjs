// The two entry points that run pi on this manager from its start: `--import …/register.mjs`, and the command
// `pi-native`. Both import pi's exports before pi's own command does, and take over its class. A program that imports
// pi's SDK is not changed: it passes our manager to `createAgentSession`.
import { existsSync, realpathSync, statSync } from "node:fs";
import module from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isMainThread } from "node:worker_threads";
import { takeOver } from "../takeover/take-over.mjs";
import { BUNDLE, Packages, print, readEnvironment, UNBUNDLED, Unfit } from "./package.mjs";

const require = module.createRequire(import.meta.url);

/** @typedef {import("./package.mjs").Pi} Pi */
/** @typedef {import("./package.mjs").Settings} Settings */

/** Runs `work`; if pi cannot be started, prints why and ends the process. @template T @param {() => T} work */
function orStop(work) {
	try {
		return work();
	} catch (error) {
		if (!(error instanceof Unfit)) throw error;
		print(error.message);
		process.exit(1);
	}
}

/**
 * Takes over the class of a pi before one of its programs runs, bundled or not. pi then shares the loaded modules.
 * @param {Pi} pi @param {string} folder
 */
function takeBefore(pi, folder) {
	// As in pi's own command: V8 stores compiled code in the same directory.
	module.enableCompileCache?.();
	try {
		takeOver(require(pi.path(`${folder}index.js`)), {
			warn: print,
			onTaken: () => {
				if (!readEnvironment().verbose) return;
				const { name, version } = require("../../package.json");
				print(`${name} ${version}: the session manager of ${pi.title} (${pi.dir}) is replaced`);
			},
		});
	} catch (error) {
		const [reason] = (error instanceof Error ? error.message : String(error)).split("\n", 1);
		print(
			`pi-session-native: ${pi.title} runs on its own session manager, because its ${folder}index.js cannot be ` +
				`loaded: ${reason}`,
		);
	}
}

/** Options with which Node runs code from its command line, so that the first argument is no script. */
const EVALUATES = /^(?:-e|-p|-pe|--eval(?:=.*)?|--print(?:=.*)?)$/s;

/** The script that Node was started with, if it is a file: its `given` path, and its `real` path. */
function mainScript() {
	const given = process.argv[1];
	if (!isMainThread || given === undefined || given === "-") return undefined;
	if (process.execArgv.some((option) => EVALUATES.test(option))) return undefined;
	const path = [given, `${given}.js`].map((path) => resolve(path)).find((path) => existsSync(path));
	return path !== undefined && statSync(path).isFile() ? { given: path, real: realpathSync(path) } : undefined;
}

/** Takes over the class of the pi that this process was started with, before it starts. */
export function registerMain() {
	const settings = readEnvironment();
	const main = mainScript();
	if (!main) return;
	const pi = new Packages(settings).around(main.real);
	if (!pi || !main.real.endsWith(".js")) orStop(() => startOthers(main, settings));
	const name = pi?.nameOf(main.real) ?? "";
	if (pi && name.startsWith(UNBUNDLED)) takeBefore(pi, name.startsWith(BUNDLE) ? BUNDLE : UNBUNDLED);
	else if (pi && name.startsWith("src/"))
		print(`pi-session-native: ${pi.title} runs on its own session manager, because it was started from its source`);
}

/**
 * Starts a pi that is no script of Node's. Does nothing for scripts without the name of a pi.
 * @param {{ given: string, real: string }} script
 * @param {Settings} settings
 */
function startOthers({ given, real }, settings) {
	const { canReplaceProcess, isBinary, isNamedAsPi, refuseLauncher, startBinary } = require("./find-pi.mjs");
	const isNamed = [given, real].some((path) => isNamedAsPi(path, settings));
	if (isNamed && !real.endsWith(".node") && isBinary(real)) {
		// As a child it would run beside Node, which loads its file as a script after this module.
		if (!canReplaceProcess)
			throw new Unfit(`${real} is a single-binary build of pi, which this Node cannot run. Start ${real} itself`);
		startBinary(real);
	}
	refuseLauncher(real, settings.names);
}

/**
 * Finds the installed pi and starts it in this process with this process's arguments: the bundle if there is one.
 */
export async function startPi() {
	module.enableCompileCache?.();
	const settings = readEnvironment();
	const { findPi } = require("./find-pi.mjs");
	const pi = /** @type {Pi} */ (orStop(() => findPi(new Packages(settings), settings)));
	const url = orStop(() => {
		const folder = [BUNDLE, UNBUNDLED].find((folder) => pi.has(`${folder}cli.js`));
		if (folder === undefined) throw new Unfit(`${pi.title} (${pi.dir}) has no dist/cli.js to start. Install pi again`);
		takeBefore(pi, folder);
		return pathToFileURL(pi.path(`${folder}cli.js`)).href;
	});
	await import(url);
}
