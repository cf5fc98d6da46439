// The two entry points that run pi on this manager from its start: `--import …/register.mjs`, and the command
// `pi-native`. Both import pi's exports before pi's own command does, and take over its class. If a script imports pi's
// SDK, we add a line to the end of the SDK's index, and to a program of pi that the script imports after the index. No
// other text of pi is read.
import { existsSync, realpathSync, statSync } from "node:fs";
import module from "node:module";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isMainThread } from "node:worker_threads";
import { takeOver } from "../takeover/take-over.mjs";
import { BUNDLE, Packages, print, readEnvironment, UNBUNDLED, Unfit } from "./package.mjs";

const require = module.createRequire(import.meta.url);
/** The URLs of modules that a script may import: pi's index, and pi's programs. */
const HOOKED = /^(.*)\/(dist\/(?:bundle\/)?)(index|cli|rpc-entry)\.js$/;

/** @typedef {import("./package.mjs").Pi} Pi */
/** @typedef {import("./package.mjs").Settings} Settings */
/** @typedef {import("../takeover/library.mjs").Pi} Exported */

/** @type {Packages | undefined} */
let packages;
/** The URLs of the indexes that a script imports and that take over the class at their end. @type {Set<string>} */
const indexes = new Set();

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

/** Takes over the class of a pi. @param {Exported} exported @param {Pi} pi */
function take(exported, pi) {
	takeOver(exported, {
		warn: print,
		// For workers the main thread has already printed the line.
		onTaken: () => {
			if (!readEnvironment().verbose || !isMainThread) return;
			const { name, version } = require("../../package.json");
			print(`${name} ${version}: the session manager of ${pi.title} (${pi.dir}) is replaced`);
		},
	});
}

/**
 * Takes over the class of a pi before one of its programs runs, bundled or not. pi then shares the loaded modules.
 * @param {Pi} pi @param {string} folder
 */
function takeBefore(pi, folder) {
	// As in pi's own command: V8 stores compiled code in the same directory.
	module.enableCompileCache?.();
	try {
		take(require(pi.path(`${folder}index.js`)), pi);
	} catch (error) {
		const [reason] = (error instanceof Error ? error.message : String(error)).split("\n", 1);
		print(
			`pi-session-native: ${pi.title} runs on its own session manager, because its ${folder}index.js cannot be ` +
				`loaded: ${reason}`,
		);
	}
}

/**
 * Called at the end of pi's index if a script imports it.
 * @param {string} dir
 * @param {Exported} exported
 */
export const takeIn = (dir, exported) => take(exported, /** @type {Pi} */ (packages?.in(dir)));

/**
 * Takes over the class of a pi that a script imports: before one of its programs is loaded, or at the end of its index.
 * Node cannot load the index by require while a script's import loads it: then the program imports it, too.
 * @type {import("node:module").LoadHookSync}
 */
function load(url, context, next) {
	const [, dir, folder, name] = HOOKED.exec(url.replace(/[?#].*$/, "")) ?? [];
	const pi = dir?.startsWith("file:") ? packages?.in(fileURLToPath(dir)) : undefined;
	const isIndexLoaded = indexes.has(`${dir}/${folder}index.js`);
	if (pi && name !== "index" && !isIndexLoaded) takeBefore(pi, /** @type {string} */ (folder));
	const loaded = next(url, context);
	if (!pi || (name !== "index" && !isIndexLoaded) || loaded.format !== "module" || !loaded.source) return loaded;
	const text = Buffer.from(/** @type {Uint8Array} */ (loaded.source)).toString("utf8");
	if (name !== "index") return { ...loaded, source: `${text}\nimport "./index.js";` };
	indexes.add(url);
	// Another copy of this package may have added its line, too, so the names contain the length of the text.
	const [all, takeIn] = [`piExports${text.length}`, `piTakeIn${text.length}`];
	const line =
		`import * as ${all} from "./index.js";import { takeIn as ${takeIn} } from ` +
		`${JSON.stringify(import.meta.url)};${takeIn}(${JSON.stringify(pi.dir)}, ${all});`;
	return { ...loaded, source: `${text}\n${line}` };
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

/** Takes over the class of any pi that this process loads. If pi is the main script, this happens before it starts. */
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
		print(`pi-session-native: ${pi.title} runs on its own session manager, because it was started from its source`);
	else if (typeof module.registerHooks === "function") module.registerHooks({ load });
	else
		print(
			"pi-session-native: scripts that import pi get pi's own session manager, because Node " +
				`${process.versions.node} has no module.registerHooks. Use Node 22.15 or newer`,
		);
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
	const known = (packages ??= new Packages(settings));
	const { findPi } = require("./find-pi.mjs");
	const pi = /** @type {Pi} */ (orStop(() => findPi(known, settings)));
	const url = orStop(() => {
		const folder = [BUNDLE, UNBUNDLED].find((folder) => pi.has(`${folder}cli.js`));
		if (folder === undefined) throw new Unfit(`${pi.title} (${pi.dir}) has no dist/cli.js to start. Install pi again`);
		takeBefore(pi, folder);
		return pathToFileURL(pi.path(`${folder}cli.js`)).href;
	});
	await import(url);
}
