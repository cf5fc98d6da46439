// The two ways in: `--import pi-session-native/register`, and the command `pi-native`.
import { existsSync, realpathSync, statSync, writeSync } from "node:fs";
import module from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isMainThread } from "node:worker_threads";
import { messageOf } from "../../packages/sync/lib/base/errors.js";
import { agentDirOf, isStoreNamed } from "../../packages/sync/lib/machine/setting-names.js";
import { keepCompiled } from "./compile-cache.mjs";
import { Hooks } from "./hooks.mjs";
import { BUNDLE, Packages, Unfit, readEnvironment } from "./package.mjs";

const require = module.createRequire(import.meta.url);

/** @typedef {import("./package.mjs").Pi} Pi */
/** @typedef {import("./package.mjs").Settings} Settings */

/** @type {Hooks} */
let hooks;
/** The store that this process's sessions go to, if one is named. @type {ReturnType<typeof import("../../packages/sync/lib/follower/in-pi.mjs").storeOfEnvironment>} */
let store;
/** @type {import("./check.mjs").Library} */
let ours;
/** What `install` returned. It runs once: of two hooks in a row each would take the other's work for foreign. @type {Packages | undefined} */
let installed;
/** Whether pi itself was started. Then a failure ends the process; otherwise it is an exception in somebody's script. */
let startsPi = false;

/** @param {string} text */
const print = (text) => writeSync(2, `${text}\n`);

/** Ends the process with the message, where pi was to be started; else throws. @param {unknown} error @returns {never} */
function stop(error) {
	if (!startsPi || !(error instanceof Unfit)) throw error;
	print(error.message);
	process.exit(1);
}

/** @template T @param {() => T} work */
function stopIfUnfit(work) {
	try {
		return work();
	} catch (error) {
		return stop(error);
	}
}

function loadOurs() {
	if (ours) return ours;
	try {
		ours = require("../../index.js");
	} catch (error) {
		const [reason] = messageOf(error).split("\n");
		throw new Unfit(reason.replace(/^pi-session-native: /, ""));
	}
	store?.watch(ours.SessionManager);
	return ours;
}

/** Installs the hooks; gives the packages that are pi. @param {Settings} settings */
function install(settings) {
	if (installed) return installed;
	const { bun, deno, node } = process.versions;
	// The hooks load modules by `require`.
	if (typeof module.registerHooks !== "function" || !process.features.require_module || bun || deno) {
		const runtime = bun ? `Bun ${bun}` : deno ? `Deno ${deno}` : `Node ${node}`;
		throw new Unfit(
			`${runtime} cannot run a pi with its session manager replaced (module.registerHooks, require of modules); Node 22.15 or newer can, and pi needs 22.19`,
		);
	}
	const { name, version } = require("../../package.json");
	const packages = new Packages(settings);
	// A worker has the main thread's pi, which was reported already.
	const say = settings.verbose && isMainThread ? print : () => {};
	hooks = new Hooks({ packages, load: loadOurs, release: `${name} ${version}`, say, stop });
	hooks.install();
	installed = packages;
	return packages;
}

/** Takes the store that is named for a pi, or for scripts that load one. Most have none, and what it needs takes a few milliseconds to load. @param {Pi | undefined} pi */
function takeStore(pi) {
	const agentDir = agentDirOf(pi?.config);
	if (isMainThread && isStoreNamed(agentDir)) store = require("../../packages/sync/lib/follower/in-pi.mjs").storeOfEnvironment(agentDir);
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

/**
 * Stops the start of a pi that is not a script of Node's. Scripts that are not named as pi are left alone.
 * @param {{ given: string, real: string }} script
 * @param {Settings} settings
 */
function refuseOthers({ given, real }, settings) {
	const { isBinary, isNamedAsPi, refuseLauncher, singleBinary } = require("./find-pi.mjs");
	const isNamed = [given, real].some((path) => isNamedAsPi(path, settings));
	if (isNamed && !real.endsWith(".node") && isBinary(real)) throw singleBinary(real);
	refuseLauncher(real, settings.names);
}

/** Replaces the manager of whatever pi this process loads; checks a pi that is being started before it starts. */
export function registerMain() {
	if (installed) return;
	startsPi = true;
	stopIfUnfit(() => {
		const main = mainScript();
		const settings = readEnvironment();
		const packages = install(settings);
		const pi = main && packages.around(main.real);
		takeStore(pi);
		if (main && !(pi && main.real.endsWith(".js"))) refuseOthers(main, settings);
		startsPi = main !== undefined && pi !== undefined && checkStart(packages, pi, main.real);
		if (startsPi) store?.pullBefore();
	});
}

/**
 * Checks the pi whose own script is started. False for a script that is only in its directory, such as an example.
 * @param {Packages} packages
 * @param {Pi} pi
 * @param {string} script
 */
function checkStart(packages, pi, script) {
	const name = pi.nameOf(script);
	if (name.startsWith("src/")) {
		throw new Unfit(
			`${script} is pi's source; its session manager is replaced in a build alone (${pi.path("dist/cli.js")})`,
		);
	}
	if (!name.startsWith("dist/")) return false;
	keepCompiled();
	if (name.startsWith(BUNDLE) && hooks.bundleOf(pi)) return true;
	hooks.check(pi);
	const located = packages.locate(pathToFileURL(script).href);
	if (located?.kind === "entry" || located?.unbundledUrl !== undefined) return true;
	throw new Unfit(`${script} cannot be hooked; start ${pi.path("dist/cli.js")}`);
}

/** Finds the installed pi and starts it in this process, with this process's arguments: its bundle, or else unbundled. */
export async function startPi() {
	startsPi = true;
	keepCompiled();
	const url = stopIfUnfit(() => {
		const settings = readEnvironment();
		const packages = install(settings);
		const { findPi } = require("./find-pi.mjs");
		const pi = findPi(packages, settings);
		takeStore(pi);
		const isBundled = hooks.bundleOf(pi) !== undefined;
		if (!isBundled && !pi.has("dist/cli.js")) throw new Unfit(`${pi.title} (${pi.dir}) has no dist/cli.js to start`);
		store?.pullBefore();
		return isBundled ? pi.bundleUrl : pi.cliUrl;
	});
	try {
		await import(url);
	} catch (error) {
		stop(error);
	}
}
