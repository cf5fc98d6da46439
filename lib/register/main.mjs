// The two ways to pi on this manager from the start of the process: `--import …/register.mjs`, and the command
// `pi-native`. Both import what pi exports before pi's own command does, and take over its class. Scripts that import
// pi's SDK get one line more at the end of its index.
import { existsSync, realpathSync, statSync } from "node:fs";
import module from "node:module";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isMainThread } from "node:worker_threads";
import { takeOver } from "../takeover/take-over.mjs";
import { BUNDLE, Packages, print, readEnvironment, UNBUNDLED, Unfit } from "./package.mjs";

const require = module.createRequire(import.meta.url);
/** What is loaded for a script: pi's index, or a program of pi's that the script imports. */
const HOOKED = /^(.*)\/dist\/(?:bundle\/)?(index|cli|rpc-entry)\.js$/;

/** @typedef {import("./package.mjs").Pi} Pi */
/** @typedef {import("./package.mjs").Settings} Settings */
/** @typedef {import("../takeover/library.mjs").Pi} Exported */

/** @type {Packages | undefined} */
let packages;

/** Ends the process with the message of what stops the start. @template T @param {() => T} work */
function orStop(work) {
	try {
		return work();
	} catch (error) {
		if (!(error instanceof Unfit)) throw error;
		print(error.message);
		process.exit(1);
	}
}

/** Takes over the class of a pi. @param {Exported} exported @param {Pi} pi */
function take(exported, pi) {
	const { name, version } = require("../../package.json");
	takeOver(exported, {
		warn: print,
		// A worker has the main thread's pi, which was reported already.
		onTaken: () =>
			readEnvironment().verbose &&
			isMainThread &&
			print(`${name} ${version}: the session manager of ${pi.title} (${pi.dir}) is replaced`),
	});
}

/**
 * Takes over the class of a pi before one of its programs runs, the bundled one or the other; pi then shares what was
 * loaded. @param {Pi} pi @param {string} folder
 */
function takeBefore(pi, folder) {
	// As pi's own command does: V8 keeps what it compiled, in the same place.
	module.enableCompileCache?.();
	try {
		take(require(pi.path(`${folder}index.js`)), pi);
	} catch (error) {
		const [reason] = (error instanceof Error ? error.message : String(error)).split("\n", 1);
		print(
			`pi-session-native: ${pi.title} runs on its own session manager, because its ${folder}index.js cannot be loaded: ${reason}`,
		);
	}
}

/**
 * Called by pi's index at its end, in a process where a script imports it. @param {string} dir @param {Exported}
 * exported
 */
export const takeIn = (dir, exported) => take(exported, /** @type {Pi} */ (packages?.in(dir)));

/** Adds a line to what a script may import of a pi. @type {import("node:module").LoadHookSync} */
function load(url, context, next) {
	const [, dir, name] = HOOKED.exec(url.replace(/[?#].*$/, "")) ?? [];
	const pi = dir?.startsWith("file:") ? packages?.in(fileURLToPath(dir)) : undefined;
	const loaded = next(url, context);
	if (!pi || loaded.format !== "module" || !loaded.source) return loaded;
	const text = Buffer.from(/** @type {Uint8Array} */ (loaded.source)).toString("utf8");
	if (name !== "index") return { ...loaded, source: text.replace(/^(#!.*\n)?/, '$&import "./index.js";') };
	const line = `import * as piExports from "./index.js";import { takeIn as piTakeIn } from ${JSON.stringify(import.meta.url)};piTakeIn(${JSON.stringify(pi.dir)}, piExports);`;
	return { ...loaded, source: `${text}\n${line}` };
}

/** Options by which Node runs what is in its command line: the first argument is then no script. */
const EVALUATES = /^(?:-e|-p|-pe|--eval(?:=.*)?|--print(?:=.*)?)$/s;

/** The script that Node was started with, if it is a file: `given` as it was named, and its `real` path. */
function mainScript() {
	const given = process.argv[1];
	if (!isMainThread || given === undefined || given === "-") return undefined;
	if (process.execArgv.some((option) => EVALUATES.test(option))) return undefined;
	const path = [given, `${given}.js`].map((path) => resolve(path)).find((path) => existsSync(path));
	return path !== undefined && statSync(path).isFile() ? { given: path, real: realpathSync(path) } : undefined;
}

/** Takes over the class of whatever pi this process loads; of a pi that is being started before it starts. */
export function registerMain() {
	if (packages) return;
	const settings = readEnvironment();
	packages = new Packages(settings);
	const main = mainScript();
	const pi = main && packages.around(main.real);
	if (main && !(pi && main.real.endsWith(".js"))) orStop(() => startOthers(main, settings));
	const name = pi?.nameOf(/** @type {{ real: string }} */ (main).real) ?? "";
	if (pi && name.startsWith(UNBUNDLED)) takeBefore(pi, name.startsWith(BUNDLE) ? BUNDLE : UNBUNDLED);
	else if (pi && name.startsWith("src/"))
		print(`pi-session-native: ${pi.title} runs on its own session manager, because it is started from its source`);
	else if (typeof module.registerHooks === "function") module.registerHooks({ load });
	else
		print(
			`pi-session-native: scripts that import pi get pi's own session manager, because Node ${process.versions.node} has no module.registerHooks; Node 22.15 has`,
		);
}

/**
 * Starts a pi that Node cannot, which is no script of Node's. Scripts that are not named as pi are left alone.
 * @param {{ given: string, real: string }} script
 * @param {Settings} settings
 */
function startOthers({ given, real }, settings) {
	const { isBinary, isNamedAsPi, refuseLauncher, startBinary } = require("./find-pi.mjs");
	const isNamed = [given, real].some((path) => isNamedAsPi(path, settings));
	if (isNamed && !real.endsWith(".node") && isBinary(real)) startBinary(real);
	refuseLauncher(real, settings.names);
}

/**
 * Finds the installed pi and starts it in this process, with this process's arguments: its bundle, or else unbundled.
 */
export async function startPi() {
	module.enableCompileCache?.();
	const url = orStop(() => {
		const settings = readEnvironment();
		packages ??= new Packages(settings);
		const { findPi } = require("./find-pi.mjs");
		const pi = /** @type {Pi} */ (findPi(packages, settings));
		const folder = [BUNDLE, UNBUNDLED].find((folder) => pi.has(`${folder}cli.js`));
		if (folder === undefined) throw new Unfit(`${pi.title} (${pi.dir}) has no dist/cli.js to start`);
		takeBefore(pi, folder);
		return pathToFileURL(pi.path(`${folder}cli.js`)).href;
	});
	await import(url);
}
