// The module hooks: every import of a pi's own session manager gets ours. What could leave two managers in one process,
// or pi on its own one, is an error.
import module from "node:module";
import { checkPi } from "./check.mjs";
import { Unfit } from "./package.mjs";

const GUARD = new URL("guard.mjs", import.meta.url).href;
const APP = new URL("app.mjs", import.meta.url).href;
const OURS = new URL("../../index.js", import.meta.url).href;
/** The module that stands in the place of a pi's manager; no file: `load` makes it. */
const STAND_IN = new URL("stand-in.mjs", import.meta.url).href;

export class Hooks {
	#packages;
	#loadOurs;
	#own;
	#say;
	#checked = new Set();
	#replaced = new Set();

	/**
	 * `load` gives the namespace of our module, and is called when a pi comes up: other scripts are none of its
	 * business. `own` is our package as text, `say` takes the one line about a replaced manager.
	 */
	constructor({ packages, load, own, say }) {
		this.#packages = packages;
		this.#loadOurs = load;
		this.#own = own;
		this.#say = say;
	}

	install() {
		module.registerHooks({
			resolve: (specifier, context, next) => this.#resolve(specifier, context, next),
			load: (url, context, next) => this.#load(url, context, next),
		});
	}

	/** Throws `Unfit` if this pi cannot run on our manager. Looks once. */
	check(pi) {
		if (this.#checked.has(pi.dir)) return;
		checkPi(pi, this.#loadOurs(), this.#own);
		this.#checked.add(pi.dir);
	}

	/** Called by an entry module of pi before anything of pi runs: its imports are resolved by then. */
	guard(dir) {
		if (this.#replaced.has(dir)) return;
		throw new Unfit(
			`the session manager of ${dir} was not replaced: none of its modules that start with it imported dist/core/session-manager.js. pi was not started`,
		);
	}

	#resolve(specifier, context, next) {
		const resolved = next(specifier, context);
		const place = this.#packages.place(resolved.url);
		if (!place) return resolved;
		const { pi, kind, twin } = place;
		if (kind === "bundle") {
			// Within the bundle one piece leads to the next; whoever loads the first is told.
			if (twin === undefined) return resolved;
			this.check(pi);
			return { url: twin, format: "module", shortCircuit: true };
		}
		this.check(pi);
		if (kind === "entry") return resolved;
		if (!this.#replaced.has(pi.dir)) {
			this.#replaced.add(pi.dir);
			this.#say(`${this.#own}: the session manager of ${pi.title} (${pi.dir}) is replaced`);
		}
		return { url: `${STAND_IN}?${new URLSearchParams({ pi: pi.dir })}`, format: "module", shortCircuit: true };
	}

	#load(url, context, next) {
		if (url.startsWith(`${STAND_IN}?`)) return this.#standIn(new URL(url).searchParams.get("pi"));
		const place = this.#packages.place(url);
		if (!place) return next(url, context);
		const { pi, kind } = place;
		if (kind === "manager") throw new Unfit(`pi's own session manager was loaded in spite of the hook: ${url}`);
		if (kind === "bundle") {
			throw new Unfit(
				`${url} is a bundle with pi's session manager inside, which cannot be replaced there. Start ${pi.path("dist/cli.js")} or use pi-native`,
			);
		}
		const loaded = next(url, context);
		if (loaded.source === undefined || loaded.source === null) return loaded;
		return { ...loaded, source: guarded(Buffer.from(loaded.source).toString("utf8"), pi) };
	}

	#standIn(dir) {
		const pi = this.#packages.in(dir);
		const names = Object.keys(this.#loadOurs()).filter((name) => name !== "default" && name !== "module.exports");
		const source = [
			`import * as config from ${JSON.stringify(pi.configUrl)};`,
			`import { serve } from ${JSON.stringify(APP)};`,
			`serve(${JSON.stringify(dir)}, config);`,
			`export { ${names.join(", ")} } from ${JSON.stringify(OURS)};`,
		];
		return { format: "module", source: source.join("\n"), shortCircuit: true };
	}
}

/**
 * An entry module's source with one import before all others. When it runs, everything that the entry imports is
 * resolved, and nothing of it has run. It stands on a line that is there already, so that no line moves.
 */
function guarded(source, pi) {
	const hashbang = /^#!.*\n?/.exec(source)?.[0] ?? "";
	const guard = `import ${JSON.stringify(`${GUARD}?${new URLSearchParams({ pi: pi.dir })}`)};`;
	return `${hashbang}${guard}${source.slice(hashbang.length)}`;
}
