// The module hooks: every import of a pi's own session manager gets ours, and its bundle is loaded with ours inside
// (bundle.mjs). Anything that could leave two managers in one process, or pi on its own manager, is an error.
import module from "node:module";
import { Bundle } from "./bundle.mjs";
import { hooked } from "./hooked.mjs";
import { BUNDLE, Unfit } from "./package.mjs";

const require = module.createRequire(import.meta.url);

const GUARD = new URL("guard.mjs", import.meta.url).href;
const HOOKED = new URL("hooked.mjs", import.meta.url).href;
const OURS = new URL("../../index.mjs", import.meta.url).href;
/** The module that replaces a pi's manager. It has no file: `load` makes its text. */
const REPLACEMENT = new URL("replacement.mjs", import.meta.url).href;
/** Ends the URL of an edited module, so that V8's compile cache never has it under the URL of pi's file. */
const EDITED = "?pi-session-native";

/** Under this symbol our session manager finds which application it serves. */
const APP = Symbol.for("pi-session-native.app");

/**
 * Tells our session manager which application it serves. `config` is the namespace of a pi's `dist/config.js`, which knows the
 * agent's directory: its environment variable, its directory below the home directory and its name differ in renamed builds.
 */
function setApp(dir, config) {
	const { getAgentDir, APP_NAME: name = "pi" } = config;
	const served = globalThis[APP];
	if (served && served.dir !== dir && (served.name !== name || served.getAgentDir() !== getAgentDir())) {
		throw new Unfit(
			`one process cannot serve two pis that keep their sessions in different places: ${served.dir} and ${dir}`,
		);
	}
	globalThis[APP] ??= { dir, name, getAgentDir };
}

export class Hooks {
	#packages;
	#loadOurs;
	#release;
	#say;
	#tell;
	#stop;
	#checked = new Set();
	#bundles = new Map();
	/** Why a pi's bundle is not used. */
	#refused = new Map();
	#replaced = new Set();
	/** The directories of pis that run. A failure in one from then on is an exception, like the failure of an extension. */
	#running = new Set();

	/**
	 * `load` gives our module, and is called when a pi is loaded: other scripts do not need it. `release` is
	 * our package's name and version, `say` takes lines for a user who wants to know more, `tell` those for every user, `stop` an
	 * error that was found in the middle of pi's modules.
	 */
	constructor({ packages, load, release, say, tell, stop }) {
		this.#packages = packages;
		this.#loadOurs = load;
		this.#release = release;
		this.#say = say;
		this.#tell = tell;
		this.#stop = stop;
	}

	install() {
		module.registerHooks({
			resolve: (specifier, context, next) => this.#starting(() => this.#resolve(specifier, context, next)),
			load: (url, context, next) => this.#starting(() => this.#load(url, context, next)),
		});
		hooked.started = (dir) => this.#guard(dir);
		hooked.confirm = (dir, file, values) => this.#confirm(dir, file, values);
		hooked.setApp = setApp;
	}

	/** Runs a hook. If pi is found unfit before it runs, the process ends with a message; Node would print a stack. */
	#starting(hook) {
		try {
			return hook();
		} catch (error) {
			if (error instanceof Unfit && this.#running.size === 0) this.#stop(error);
			throw error;
		}
	}

	/** Throws `Unfit` if this pi cannot run unbundled on our manager. Looks once. */
	check(pi) {
		if (this.#checked.has(pi.dir)) return;
		// Imported only here, because the bundle does not need it.
		const { checkPi } = require("./check.mjs");
		checkPi(pi, this.#loadOurs(), this.#release);
		this.#checked.add(pi.dir);
		const why = this.#refused.get(pi.dir);
		if (why) this.#say(`${this.#release}: the bundle of ${pi.title} (${pi.dir}) is not used: ${why}`);
	}

	/** The bundle of a pi, if it can run on our manager. It is decided once, so that a pi never runs in two ways. */
	bundleOf(pi) {
		if (this.#bundles.has(pi.dir)) return this.#bundles.get(pi.dir);
		const ours = this.#loadOurs();
		const { bundle, refused } = Bundle.of(pi, ours, this.#release, this.#tell);
		if (bundle) hooked.ours = ours;
		else this.#refused.set(pi.dir, refused);
		this.#bundles.set(pi.dir, bundle);
		return bundle;
	}

	/** Called by an entry module of pi before anything of pi is started: its imports are resolved by then. */
	#guard(dir) {
		if (!this.#replaced.has(dir)) {
			this.#stop(
				new Unfit(
					`the session manager of ${dir} was not replaced: pi did not import dist/core/session-manager.js. pi was not started`,
				),
			);
		}
		this.#running.add(dir);
	}

	/** Called by an edited module of a bundle when it has run. */
	#confirm(dir, file, values) {
		const pi = this.#packages.in(dir);
		const bundle = this.#bundles.get(dir);
		const confirmed = new Set(values.map(([name]) => name));
		const isOther = ([name, value]) => !(name in hooked.ours) || value !== hooked.ours[name];
		const isChunk = file === bundle.chunk;
		const other = values.find(isOther)?.[0] ?? (isChunk ? bundle.names.find((name) => !confirmed.has(name)) : undefined);
		if (other !== undefined) {
			const why = `${other} in ${file} of ${dir} was not replaced`;
			if (this.#running.has(dir)) throw new Unfit(why);
			this.#stop(new Unfit(`${why}. pi was not started`));
		}
		if (isChunk) this.#noteReplaced(pi);
	}

	#noteReplaced(pi) {
		if (this.#replaced.has(pi.dir)) return;
		this.#replaced.add(pi.dir);
		this.#say(`${this.#release}: the session manager of ${pi.title} (${pi.dir}) is replaced`);
	}

	#resolve(specifier, context, next) {
		const near = this.#withinBundle(specifier, context.parentURL);
		if (near) return near;
		const resolved = next(specifier, context);
		const located = this.#packages.locate(resolved.url);
		if (!located) return resolved;
		const { pi, kind, name, unbundledUrl } = located;
		if (kind === "bundle") {
			const bundle = this.bundleOf(pi);
			if (bundle) return bundle.has(name) ? moduleAt(bundle, name) : resolved;
			// Within the bundle one piece imports the next; only the import of the first is reported.
			if (unbundledUrl === undefined) return resolved;
			this.check(pi);
			return { url: unbundledUrl, format: "module", shortCircuit: true };
		}
		this.check(pi);
		if (kind === "entry") return resolved;
		this.#noteReplaced(pi);
		return { url: `${REPLACEMENT}?${new URLSearchParams({ pi: pi.dir })}`, format: "module", shortCircuit: true };
	}

	/** The bundle that runs and has the module at a URL, with the module's name. It compares text only, because it is called for every import. */
	#bundleAt(url) {
		for (const bundle of this.#bundles.values()) {
			if (bundle === undefined || !url.startsWith(bundle.url) || url.includes("%")) continue;
			return { bundle, name: url.slice(bundle.url.length - BUNDLE.length).replace(/[?#].*$/, "") };
		}
		return undefined;
	}

	/** What one piece of a running bundle imports from another: these are modules, at the paths that the import names. */
	#withinBundle(specifier, parentUrl) {
		if (this.#bundles.size === 0 || !specifier.startsWith("./") || parentUrl === undefined) return undefined;
		const running = this.#bundleAt(parentUrl);
		if (!running) return undefined;
		const name = running.name.slice(0, running.name.lastIndexOf("/") + 1) + specifier.slice("./".length);
		return running.bundle.has(name) ? moduleAt(running.bundle, name) : undefined;
	}

	#load(url, context, next) {
		if (url.startsWith(`${REPLACEMENT}?`)) return this.#replacement(new URL(url).searchParams.get("pi"));
		const running = this.#bundles.size > 0 ? this.#bundleAt(url) : undefined;
		if (running) return this.#loadPiece(running.bundle, running.name, url, context, next);
		const located = this.#packages.locate(url);
		if (!located) return next(url, context);
		const { pi, kind, name } = located;
		if (kind === "manager") throw new Unfit(`pi's own session manager was loaded in spite of the hook: ${url}`);
		if (kind === "bundle") {
			const bundle = this.bundleOf(pi);
			if (!bundle) {
				throw new Unfit(
					`${url} is a bundle with pi's session manager inside, which cannot be hooked; start ${pi.path("dist/cli.js")} or use pi-native`,
				);
			}
			return this.#loadPiece(bundle, name, url, context, next);
		}
		const loaded = next(url, context);
		if (loaded.source === undefined || loaded.source === null) return loaded;
		return { ...loaded, source: guarded(Buffer.from(loaded.source).toString("utf8"), pi) };
	}

	#loadPiece(bundle, name, url, context, next) {
		const source = bundle.source(name);
		if (source !== undefined) return { format: "module", source, shortCircuit: true };
		try {
			return next(url, context);
		} catch (error) {
			throw bundle.explained(error, name);
		}
	}

	#replacement(dir) {
		const pi = this.#packages.in(dir);
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

const moduleAt = (bundle, name) => ({
	url: bundle.url + name.slice(BUNDLE.length) + (bundle.edits(name) ? EDITED : ""),
	format: "module",
	shortCircuit: true,
});

/**
 * An entry module's source with one import before all others. When it runs, everything that the entry imports is
 * resolved, and nothing of it has run. It is on a line that is there already, so that no line moves.
 */
function guarded(source, pi) {
	const hashbang = /^#!.*\n?/.exec(source)?.[0] ?? "";
	const guard = `import ${JSON.stringify(`${GUARD}?${new URLSearchParams({ pi: pi.dir })}`)};`;
	return `${hashbang}${guard}${source.slice(hashbang.length)}`;
}
