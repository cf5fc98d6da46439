// The module hooks: every import of a pi's own session manager gets ours, and its bundle is loaded with ours inside
// (bundle.mjs). Anything that could leave two managers in one process, or pi on its own manager, is an error.
import module from "node:module";
import { messageOf } from "../../packages/sync/lib/base/errors.js";
import { Bundle } from "./bundle.mjs";
import { checkPi } from "./check.mjs";
import { hooked } from "./hooked.mjs";
import { Unfit } from "./package.mjs";

const GUARD = new URL("guard.mjs", import.meta.url).href;
const HOOKED = new URL("hooked.mjs", import.meta.url).href;
const OURS = new URL("../../index.mjs", import.meta.url).href;
/** The module that replaces a pi's manager. It has no file: `load` makes its text. */
const REPLACEMENT = new URL("replacement.mjs", import.meta.url).href;
/** @typedef {import("./package.mjs").Pi} Pi */

/** Under this symbol our session manager finds which application it serves. */
const APP = Symbol.for("pi-session-native.app");
const scope = /** @type {{ [APP]?: { dir: string, name: string, getAgentDir(): string } }} */ (globalThis);

/**
 * Tells our session manager which application it serves. `config` is the namespace of a pi's `dist/config.js`, which knows the
 * agent's directory: its environment variable, its directory below the home directory and its name differ in renamed builds.
 * @type {import("./hooked.mjs").Hooked["setApp"]}
 */
function setApp(dir, config) {
	const { getAgentDir, APP_NAME: name = "pi" } = config;
	const served = scope[APP];
	if (served && served.dir !== dir && (served.name !== name || served.getAgentDir() !== getAgentDir())) {
		throw new Unfit(
			`one process cannot serve two pis that keep their sessions in different places: ${served.dir} and ${dir}`,
		);
	}
	scope[APP] ??= { dir, name, getAgentDir };
}

/** Calls what uses names of a bundle's chunk; `Unfit` if it does not see one, or may not replace it. @type {import("./hooked.mjs").Hooked["inChunk"]} */
function inChunk(dir, use) {
	try {
		use();
	} catch (error) {
		if (error instanceof Unfit) throw error;
		throw new Unfit(`the bundle of ${dir} is not as expected: ${messageOf(error)}. pi was not started`);
	}
}

export class Hooks {
	#packages;
	#loadOurs;
	#release;
	#say;
	#stop;
	/** @type {Set<string>} */
	#checked = new Set();
	/** @type {Map<string, Bundle | undefined>} */
	#bundles = new Map();
	/** @type {Set<string>} */
	#replaced = new Set();
	/** The directories of pis that run. A failure in one from then on is an exception, like the failure of an extension. @type {Set<string>} */
	#running = new Set();

	/**
	 * @param {object} options
	 * @param {import("./package.mjs").Packages} options.packages
	 * @param {() => import("./check.mjs").Library} options.load gives our module; called when a pi is loaded: other scripts do not need it
	 * @param {string} options.release our package's name and version
	 * @param {(line: string) => void} options.say takes lines for a user who wants to know more
	 * @param {(error: Unfit) => void} options.stop takes an error that was found in the middle of pi's modules
	 */
	constructor({ packages, load, release, say, stop }) {
		this.#packages = packages;
		this.#loadOurs = load;
		this.#release = release;
		this.#say = say;
		this.#stop = stop;
	}

	install() {
		module.registerHooks({
			resolve: (...args) => this.#starting(() => this.#resolve(...args)),
			load: (...args) => this.#starting(() => this.#load(...args)),
		});
		hooked.started = (dir) => this.#starting(() => this.#guard(dir));
		hooked.inChunk = (dir, use) => this.#starting(() => inChunk(dir, use));
		hooked.confirm = (dir, values) => this.#confirm(dir, values);
		hooked.setApp = setApp;
	}

	/** Runs what may find that a pi is unfit. Before it runs, the process then ends with a message; Node would print a stack. @template T @param {() => T} work */
	#starting(work) {
		try {
			return work();
		} catch (error) {
			if (error instanceof Unfit && this.#running.size === 0) this.#stop(error);
			throw error;
		}
	}

	/** Throws `Unfit` if this pi cannot run on our manager. Looks once. @param {Pi} pi */
	check(pi) {
		if (this.#checked.has(pi.dir)) return;
		hooked.ours = this.#loadOurs();
		checkPi(pi, hooked.ours, this.#release);
		this.#checked.add(pi.dir);
	}

	/** The bundle of a pi, if it can run on our manager. It is decided once, so that a pi never runs in two ways. @param {Pi} pi */
	bundleOf(pi) {
		if (this.#bundles.has(pi.dir)) return this.#bundles.get(pi.dir);
		this.check(pi);
		const { bundle, refused } = Bundle.of(pi);
		if (refused) this.#say(`${this.#release}: the bundle of ${pi.title} (${pi.dir}) is not used: ${refused}`);
		this.#bundles.set(pi.dir, bundle);
		return bundle;
	}

	/** Called by an entry module of pi before anything of pi is started: its imports are resolved by then. @param {string} dir */
	#guard(dir) {
		if (!this.#replaced.has(dir)) {
			throw new Unfit(
				`the session manager of ${dir} was not replaced: pi did not import dist/core/session-manager.js. pi was not started`,
			);
		}
		this.#running.add(dir);
	}

	/** Called by the chunk of a bundle when it has run, before what imports it. @type {import("./hooked.mjs").Hooked["confirm"]} */
	#confirm(dir, values) {
		const other = Object.keys(values).find((name) => values[name] !== Reflect.get(hooked.ours, name));
		if (other !== undefined) throw new Unfit(`${other} in the bundle of ${dir} was not replaced. pi was not started`);
		this.#noteReplaced(/** @type {Pi} */ (this.#packages.in(dir)));
		this.#running.add(dir);
	}

	/** @param {Pi} pi */
	#noteReplaced(pi) {
		if (this.#replaced.has(pi.dir)) return;
		this.#replaced.add(pi.dir);
		this.#say(`${this.#release}: the session manager of ${pi.title} (${pi.dir}) is replaced`);
	}

	/**
	 * What one piece of a running bundle imports from another. Node would look for each of these 300 on the disk, in 30 ms.
	 * @param {string} specifier
	 * @param {string} [parentUrl]
	 * @returns {import("node:module").ResolveFnOutput | undefined}
	 */
	#withinBundle(specifier, parentUrl = "") {
		if (!specifier.startsWith("./") || !specifier.endsWith(".js")) return undefined;
		const parent = this.#packages.locate(parentUrl);
		if (parent?.kind !== "bundle" || !this.#bundles.get(parent.pi.dir)) return undefined;
		return { url: new URL(specifier, parentUrl).href, format: "module", shortCircuit: true };
	}

	/** @type {import("node:module").ResolveHookSync} */
	#resolve(specifier, context, next) {
		const near = this.#withinBundle(specifier, context.parentURL);
		if (near) return near;
		const resolved = next(specifier, context);
		const located = this.#packages.locate(resolved.url);
		if (!located) return resolved;
		const { pi, kind, unbundledUrl } = located;
		if (kind === "bundle") {
			// Within the bundle one piece imports the next; only the import of the first is led elsewhere.
			if (this.bundleOf(pi) || unbundledUrl === undefined) return resolved;
			return { url: unbundledUrl, format: "module", shortCircuit: true };
		}
		this.check(pi);
		if (kind === "entry") return resolved;
		this.#noteReplaced(pi);
		return { url: `${REPLACEMENT}?${new URLSearchParams({ pi: pi.dir })}`, format: "module", shortCircuit: true };
	}

	/** @type {import("node:module").LoadHookSync} */
	#load(url, context, next) {
		if (url.startsWith(`${REPLACEMENT}?`)) return this.#replacement(String(new URL(url).searchParams.get("pi")));
		const located = this.#packages.locate(url);
		if (!located) return next(url, context);
		const { pi, kind, name } = located;
		if (kind === "manager") throw new Unfit(`pi's own session manager was loaded in spite of the hook: ${url}`);
		if (kind === "bundle") {
			const bundle = this.bundleOf(pi);
			if (bundle) return { format: "module", source: bundle.source(name), shortCircuit: true };
			throw new Unfit(
				`${url} is a bundle with pi's session manager inside, which cannot be hooked; start ${pi.path("dist/cli.js")} or use pi-native`,
			);
		}
		const loaded = next(url, context);
		if (loaded.source === undefined || loaded.source === null) return loaded;
		return { ...loaded, source: addGuard(Buffer.from(/** @type {string | Uint8Array} */ (loaded.source)).toString("utf8"), pi) };
	}

	/** @param {string} dir @returns {import("node:module").LoadFnOutput} */
	#replacement(dir) {
		const pi = /** @type {Pi} */ (this.#packages.in(dir));
		const names = Object.keys(this.#loadOurs()).filter((name) => name !== "default" && name !== "module.exports" && !name.startsWith("__"));
		const source = [
			`import * as config from ${JSON.stringify(pi.configUrl)};`,
			`import { hooked } from ${JSON.stringify(HOOKED)};`,
			`hooked.setApp(${JSON.stringify(dir)}, config);`,
			`export { ${names.join(", ")} } from ${JSON.stringify(OURS)};`,
		];
		return { format: "module", source: source.join("\n"), shortCircuit: true };
	}
}

/**
 * An entry module's source with one import before all others. When it runs, everything that the entry imports is
 * resolved, and nothing of it has run. It is on a line that is there already, so that no line moves.
 * @param {string} source
 * @param {Pi} pi
 */
function addGuard(source, pi) {
	const hashbang = /^#!.*\n?/.exec(source)?.[0] ?? "";
	const guard = `import ${JSON.stringify(`${GUARD}?${new URLSearchParams({ pi: pi.dir })}`)};`;
	return `${hashbang}${guard}${source.slice(hashbang.length)}`;
}
