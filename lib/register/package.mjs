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

const isFolder = (text) => isAbsolute(text) || text.startsWith(".") || (sep !== "/" && text.includes(sep));

/**
 * The settings of an environment: `names` of packages that are pi, those that were set first; `folders` that were
 * set; whether to be `verbose`.
 */
export function readSettings(env = process.env) {
	const given = (env[PACKAGE_VARIABLE] ?? "").split(",").map((text) => text.trim());
	const set = given.filter((text) => text !== "");
	const folders = set.filter(isFolder);
	const named = set.filter((text) => !isFolder(text));
	const verbose = !["", "0"].includes(env[VERBOSE_VARIABLE] ?? "");
	return { names: [...named, ...PUBLISHED], named, folders, verbose };
}

export const MANAGER = "dist/core/session-manager.js";
export const CONFIG = "dist/config.js";
/** The unbundled modules that a program may load first. Each imports the session manager, directly or indirectly. */
const ENTRIES = ["dist/cli.js", "dist/rpc-entry.js", "dist/index.js"];
export const BUNDLE = "dist/bundle/";

/** What stops the replacement. The message is for the person who started pi. */
export class Unfit extends Error {
	constructor(message) {
		super(`pi-session-native: ${message}`);
		this.name = "Unfit";
	}
}

/** The `package.json` of a directory, or undefined if none can be read. */
export function manifestOf(dir) {
	try {
		const value = JSON.parse(readFileSync(join(dir, "package.json"), "utf8").replace(/^\uFEFF/, ""));
		return value !== null && typeof value === "object" ? value : undefined;
	} catch {
		return undefined;
	}
}

/** The nearest directory from `path` upwards that holds a named package, as `{ dir, manifest }`. */
function packageAround(path) {
	for (let dir = path; ; dir = dirname(dir)) {
		const manifest = manifestOf(dir);
		// A directory of a build may have a manifest without a name, which only says what kind of modules it holds.
		if (manifest?.name !== undefined) return { dir, manifest };
		if (dir === dirname(dir)) return undefined;
	}
}

const unix = (path) => path.split(sep).join("/");

/** An installed pi. `dir` is its real directory, `url` the same with a slash at its end. */
export class Pi {
	constructor(dir, manifest) {
		this.dir = dir;
		this.url = `${pathToFileURL(dir).href}/`;
		this.name = manifest.name;
		this.version = manifest.version ?? "of no version";
		this.managerUrl = this.url + MANAGER;
		this.configUrl = `${this.url}dist/config.js`;
		this.cliUrl = `${this.url}dist/cli.js`;
		this.bundleUrl = `${this.url}${BUNDLE}cli.js`;
	}

	get title() {
		return `${this.name} ${this.version}`;
	}

	/** The path of a file of the package. `name` has slashes, and no `..`. */
	path(name) {
		// Called at every start for each file of the bundle: `join` would take a tenth of the start.
		return this.dir + sep + (sep === "/" ? name : name.replaceAll("/", sep));
	}

	has(name) {
		return existsSync(this.path(name));
	}

	/** A path in the package as its name there, with slashes; undefined for one outside. */
	nameOf(path) {
		const name = unix(relative(this.dir, path));
		return name === ".." || name.startsWith("../") || isAbsolute(name) ? undefined : name;
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
	#known = new Map();

	constructor(settings) {
		this.#settings = settings;
		this.#folders = new Set(settings.folders.filter((dir) => existsSync(dir)).map((dir) => realpathSync(dir)));
	}

	/** The pi in exactly this directory, or undefined. */
	in(dir) {
		let pi = this.#known.get(dir);
		if (pi === undefined) this.#known.set(dir, (pi = this.#read(dir)));
		return pi ?? undefined;
	}

	/** The pi that a file belongs to, or undefined. */
	around(path) {
		const found = packageAround(dirname(path));
		return found && this.in(found.dir);
	}

	#read(dir) {
		const manifest = manifestOf(dir);
		if (!manifest) return null;
		if (this.#folders.has(dir) || this.#settings.names.includes(manifest.name)) return new Pi(dir, manifest);
		if (manifest.piConfig && existsSync(join(dir, MANAGER))) {
			throw new Unfit(
				`${manifest.name} (${dir}) looks like a renamed build of pi. To have its session manager replaced, set ${PACKAGE_VARIABLE}=${manifest.name}`,
			);
		}
		return null;
	}

	/**
	 * What a module's URL is to a pi: `{ pi, kind, name }` with kind `manager`, `entry` or `bundle` (then `unbundledUrl` is that
	 * of the unbundled module of that name, if there is one); `name` is its path in the package. Undefined for everything else.
	 */
	locate(url) {
		if (!url.startsWith("file:") || !url.includes("/dist/")) return undefined;
		const bare = url.replace(/[?#].*$/, "");
		const suffix = [MANAGER, ...ENTRIES].find((name) => bare.endsWith(`/${name}`));
		if (suffix) {
			const pi = this.in(fileURLToPath(bare.slice(0, -suffix.length - 1)));
			return pi && { pi, kind: suffix === MANAGER ? "manager" : "entry", name: suffix };
		}
		const at = bare.lastIndexOf(`/${BUNDLE}`);
		const pi = at < 0 ? undefined : this.in(fileURLToPath(bare.slice(0, at)));
		if (!pi) return undefined;
		const within = decodeURIComponent(bare.slice(at + 1 + BUNDLE.length));
		const unbundled = `dist/${within}`;
		const unbundledUrl = ENTRIES.includes(unbundled) && pi.has(unbundled) ? pi.url + unbundled : undefined;
		return { pi, kind: "bundle", name: BUNDLE + within, unbundledUrl };
	}
}

/** A member's line in a class declaration: modifiers, then its name or `[Symbol.x]`. A private one begins with its modifier. */
const MEMBER =
	/^ {4}((?:(?:public|static|readonly|abstract|override|declare|accessor|get|set)\s+)*)(?:\[Symbol\.(\w+)\]|(["']?)(?!_|constructor\b)([\w$]+)\3)[?!]?\s*[(<:;=]/gm;

/**
 * Public members of `SessionManager` by its declarations, which pi publishes beside the code: methods, accessors and
 * fields, of managers and of the class, as `{ name, isStatic }`. Undefined where they are not declared as expected.
 */
export function declaredMembers(pi) {
	const file = pi.path("dist/core/session-manager.d.ts");
	if (!existsSync(file)) return [];
	const text = readFileSync(file, "utf8").replaceAll("\r", "").replace(/\/\*[^]*?\*\//g, "");
	const body = /^(?:export )?declare (?:abstract )?class SessionManager\b[^]*?\{$([^]*?)^\}/m.exec(text)?.[1] ?? "";
	const members = [...body.matchAll(MEMBER)];
	if (members.length === 0) return undefined;
	return members.map(([, modifiers, symbol, , name]) => ({
		name: name ?? `Symbol.${symbol}`,
		isStatic: /\bstatic\b/.test(modifiers),
	}));
}

/** The names of those of `members` that `SessionManager` does not have. */
export function lackedMembers(members, SessionManager) {
	const lacked = members.filter(({ name, isStatic }) => {
		const holder = isStatic ? SessionManager : SessionManager.prototype;
		const key = name.startsWith("Symbol.") ? Symbol[name.slice("Symbol.".length)] : name;
		// A symbol that this JavaScript engine does not have yet.
		return key === undefined || !(key in holder);
	});
	return lacked.map(({ name }) => name);
}
