// What a user may set, where things are in an installed pi, and how a pi is recognised.
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The names pi is published under. */
const PUBLISHED = ["@earendil-works/pi-coding-agent", "@mariozechner/pi-coding-agent"];

/** Names a renamed build of pi: the name of its npm package, or its directory. Several are separated by commas. */
export const PACKAGE_VARIABLE = "PI_SESSION_NATIVE_PACKAGE";
/** If set, and not to 0, one line says that the manager was replaced, and where. */
const VERBOSE_VARIABLE = "PI_SESSION_NATIVE_VERBOSE";

/** @param {string} text */
const isFolder = (text) => isAbsolute(text) || text.startsWith(".") || (sep !== "/" && text.includes(sep));

/**
 * The settings of an environment: `names` of packages that are pi, those that were set first; `folders` that were
 * set; whether to be `verbose`.
 */
export function readEnvironment() {
	const given = (process.env[PACKAGE_VARIABLE] ?? "").split(",").map((text) => text.trim());
	const set = given.filter((text) => text !== "");
	const folders = set.filter(isFolder);
	const named = set.filter((text) => !isFolder(text));
	const verbose = !["", "0"].includes(process.env[VERBOSE_VARIABLE] ?? "");
	return { names: [...named, ...PUBLISHED], named, folders, verbose };
}

export const MANAGER = "dist/core/session-manager.js";
export const CONFIG = "dist/config.js";
/** The unbundled modules that a program may load first. Each imports the session manager, directly or indirectly. */
const ENTRIES = ["dist/cli.js", "dist/rpc-entry.js", "dist/index.js"];
export const BUNDLE = "dist/bundle/";

/** @typedef {ReturnType<typeof readEnvironment>} Settings */
/** @typedef {{ name?: string, version?: string, piConfig?: { name?: string, configDir?: string } }} Manifest a `package.json` */

/** What stops the replacement. The message is for the person who started pi. */
export class Unfit extends Error {
	/** @param {string} message */
	constructor(message) {
		super(`pi-session-native: ${message}`);
		this.name = "Unfit";
	}
}

/** The `package.json` of a directory, or undefined if none can be read. @param {string} dir @returns {Manifest | undefined} */
export function manifestOf(dir) {
	try {
		const value = JSON.parse(readFileSync(join(dir, "package.json"), "utf8").replace(/^\uFEFF/, ""));
		return value !== null && typeof value === "object" ? value : undefined;
	} catch {
		return undefined;
	}
}

/** The nearest directory from `path` upwards that holds a named package. @param {string} path */
function packageAround(path) {
	for (let dir = path; ; dir = dirname(dir)) {
		// A directory of a build may have a manifest without a name, which only says what kind of modules it holds.
		if (manifestOf(dir)?.name !== undefined) return dir;
		if (dir === dirname(dir)) return undefined;
	}
}

/** An installed pi. `dir` is its real directory, `url` the same with a slash at its end. */
export class Pi {
	/** @param {string} dir @param {Manifest} manifest */
	constructor(dir, manifest) {
		this.dir = dir;
		this.url = `${pathToFileURL(dir).href}/`;
		this.name = manifest.name;
		this.version = manifest.version ?? "of no version";
		/** What a renamed build calls itself and its directories. */
		this.config = manifest.piConfig ?? undefined;
		this.configUrl = this.url + CONFIG;
		this.cliUrl = `${this.url}dist/cli.js`;
		this.bundleUrl = `${this.url}${BUNDLE}cli.js`;
	}

	get title() {
		return `${this.name} ${this.version}`;
	}

	/** The path of a file of the package, whose `name` has slashes. @param {string} name */
	path(name) {
		return join(this.dir, name);
	}

	/** @param {string} name */
	has(name) {
		return existsSync(this.path(name));
	}

	/** A path in the package as its name there, with slashes. @param {string} path */
	nameOf(path) {
		return relative(this.dir, path).replaceAll(sep, "/");
	}
}

/**
 * The packages that are pi, by directory.
 *
 * A package is pi if its name is a known one. One that only looks like pi (a renamed build: it has pi's settings and
 * pi's session manager) is an error that names the setting, because it would run on its own manager, which was not asked for.
 */
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
		const dir = packageAround(dirname(path));
		return dir === undefined ? undefined : this.in(dir);
	}

	/** @param {string} dir */
	#read(dir) {
		const manifest = manifestOf(dir);
		if (!manifest) return undefined;
		if (this.#folders.has(dir) || this.#settings.names.includes(manifest.name ?? "")) return new Pi(dir, manifest);
		if (manifest.piConfig && existsSync(join(dir, MANAGER))) {
			throw new Unfit(
				`${manifest.name} (${dir}) looks like a renamed build of pi. To have its session manager replaced, set ${PACKAGE_VARIABLE}=${manifest.name}`,
			);
		}
		return undefined;
	}

	/**
	 * What a module's URL is to a pi: `{ pi, kind, name }` with kind `manager`, `entry` or `bundle` (then `unbundledUrl` is that
	 * of the unbundled module of that name, if there is one); `name` is its path in the package. Undefined for everything else.
	 * @param {string} url
	 */
	locate(url) {
		if (!url.startsWith("file:") || !url.includes("/dist/")) return undefined;
		const bare = url.replace(/[?#].*$/, "");
		const suffix = [MANAGER, ...ENTRIES].find((name) => bare.endsWith(`/${name}`));
		if (suffix) {
			const pi = this.in(fileURLToPath(bare.slice(0, -suffix.length - 1)));
			return pi && { pi, kind: suffix === MANAGER ? "manager" : "entry", name: suffix };
		}
		const at = bare.endsWith(".js") ? bare.lastIndexOf(`/${BUNDLE}`) : -1;
		const pi = at < 0 ? undefined : this.in(fileURLToPath(bare.slice(0, at)));
		if (!pi) return undefined;
		const within = decodeURIComponent(bare.slice(at + 1 + BUNDLE.length));
		const unbundled = `dist/${within}`;
		const unbundledUrl = ENTRIES.includes(unbundled) && pi.has(unbundled) ? pi.url + unbundled : undefined;
		return { pi, kind: "bundle", name: BUNDLE + within, unbundledUrl };
	}
}

/**
 * What the source of a pi's unbundled session manager says: the `names` that it exports, which of them are `functions`, and the values of
 * `numbers`. Undefined if an export is not a declaration at the start of a line, which is how TypeScript's compiler writes them.
 * @param {Pi} pi
 */
export function managerSource(pi) {
	// Names are ASCII. Part of a text with other characters, each would take two bytes, and so would the chunk that they are joined with.
	const source = readFileSync(pi.path(MANAGER), "latin1");
	const exported = [...source.matchAll(/^export\b(?: (?:async )?(const|class|function) ([\w$]+)(?: = (\d+);$)?)?/gm)];
	if (exported.some(([, kind]) => kind === undefined)) return undefined;
	const numbers = exported.filter(([, , , value]) => value !== undefined).map(([, , name, value]) => [name, Number(value)]);
	return {
		source,
		names: exported.map(([, , name]) => name),
		functions: exported.filter(([, kind]) => kind === "function").map(([, , name]) => name),
		numbers: Object.fromEntries(numbers),
	};
}
