// Reads the environment variables, recognises an installed pi, and knows the paths inside of it.
import { existsSync, realpathSync, writeSync } from "node:fs";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { readSmall } from "../shared/read-small.mjs";

/** The package names of pi. */
const PUBLISHED = ["@earendil-works/pi-coding-agent", "@mariozechner/pi-coding-agent"];

/** The variable that names renamed builds of pi: npm packages or directories, separated by commas. */
export const PACKAGE_VARIABLE = "PI_SESSION_NATIVE_PACKAGE";
/** If this variable is set and not 0, one line says that the manager was replaced, and where. */
const VERBOSE_VARIABLE = "PI_SESSION_NATIVE_VERBOSE";

/** @param {string} text */
const isFolder = (text) => isAbsolute(text) || text.startsWith(".") || (sep !== "/" && text.includes(sep));

/**
 * The settings from the environment: `names` of packages that are pi, beginning with the `named` ones from the
 * variable; `folders` from the variable; whether to be `verbose`.
 */
export function readEnvironment() {
	const given = (process.env[PACKAGE_VARIABLE] ?? "").split(",").map((text) => text.trim());
	const set = given.filter((text) => text !== "");
	const folders = set.filter(isFolder);
	const named = set.filter((text) => !isFolder(text));
	const verbose = !["", "0"].includes(process.env[VERBOSE_VARIABLE] ?? "");
	return { names: [...named, ...PUBLISHED], named, folders, verbose };
}

/**
 * The folders of the bundle and of the separate modules. Each contains `cli.js`, the command, and `index.js`, the SDK.
 */
export const [BUNDLE, UNBUNDLED] = ["dist/bundle/", "dist/"];

/** @typedef {ReturnType<typeof readEnvironment>} Settings */
/**
 * @typedef {{ name?: string, version?: string, piConfig?: { name?: string, configDir?: string } }} Manifest a
 * `package.json`
 */

/** An error that prevents the start of pi. The message is for the user. */
export class Unfit extends Error {
	/** @param {string} message */
	constructor(message) {
		super(`pi-session-native: ${message}`);
		this.name = "Unfit";
	}
}

/** @param {string} line */
export const print = (line) => void writeSync(2, `${line}\n`);

/**
 * The `package.json` of a directory, or undefined if none can be read.
 * @param {string} dir
 * @returns {Manifest | undefined}
 */
export function manifestOf(dir) {
	try {
		const value = JSON.parse(
			readSmall(join(dir, "package.json"))
				.toString()
				.replace(/^\uFEFF/, ""),
		);
		return value !== null && typeof value === "object" ? value : undefined;
	} catch {
		return undefined;
	}
}

/** A path and the directories above it. @param {string} path */
export function* upwards(path) {
	for (let at = path; ; at = dirname(at)) {
		yield at;
		if (at === dirname(at)) return;
	}
}

/** The directory of the package that a file belongs to, or undefined. @param {string} path */
export function folderAround(path) {
	// A build directory may contain a manifest without a name, which only sets the type of its modules.
	for (const dir of upwards(dirname(path))) if (manifestOf(dir)?.name !== undefined) return dir;
	return undefined;
}

/** An installed pi. `dir` is its real directory. */
export class Pi {
	/** @param {string} dir @param {Manifest} manifest */
	constructor(dir, manifest) {
		this.dir = dir;
		this.name = manifest.name;
		this.title = `${this.name} ${manifest.version ?? "of no version"}`;
	}

	/** The path of a file of the package, whose `name` has slashes. @param {string} name */
	path(name) {
		return join(this.dir, name);
	}

	/** @param {string} name */
	has(name) {
		return existsSync(this.path(name));
	}

	/** The path of a file relative to the package, with slashes. @param {string} path */
	nameOf(path) {
		return relative(this.dir, path).replaceAll(sep, "/");
	}
}

/** The packages that are pi, by directory. Their names are known or were set by the variable. */
export class Packages {
	#settings;
	#folders;
	/** @type {Map<string, Pi | undefined>} */
	#known = new Map();

	/** @param {Settings} settings */
	constructor(settings) {
		this.#settings = settings;
		this.#folders = new Set(settings.folders.filter((dir) => existsSync(dir)).map((dir) => realpathSync(dir)));
	}

	/** The pi in exactly this directory, or undefined. @param {string} dir */
	in(dir) {
		if (!this.#known.has(dir)) this.#known.set(dir, this.#read(dir));
		return this.#known.get(dir);
	}

	/** The pi that a file belongs to, or undefined. @param {string} path */
	around(path) {
		const dir = folderAround(path);
		return dir === undefined ? undefined : this.in(dir);
	}

	/** @param {string} dir */
	#read(dir) {
		const manifest = manifestOf(dir);
		const isPi = this.#folders.has(dir) || this.#settings.names.includes(manifest?.name ?? "");
		if (manifest?.piConfig && !isPi) {
			const how = `set ${PACKAGE_VARIABLE}=${manifest.name} to run it on this package's`;
			print(
				`pi-session-native: ${manifest.name} (${dir}) looks like a renamed build of pi and runs on its own ` +
					`session manager; ${how}`,
			);
		}
		return manifest && isPi ? new Pi(dir, manifest) : undefined;
	}
}
