// The two modules that tests hold against each other: the reference's session manager, and the one under test.
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** Anything callable by name: the tests drive both modules without trusting either one's types. */
export type Call = (...args: unknown[]) => unknown;
export type Manager = Record<string, Call>;
export type SessionModule = Record<string, Call> & { SessionManager: Record<string, Call> };

const root = resolve(__dirname, "../..");
// Node's own `require`: what it loads, vitest does not transform.
const nativeRequire = createRequire(__filename);
/** Node's own `import()`, which vitest does not transform. */
export const nativeImport = nativeRequire("./native-import.cjs") as (url: string) => Promise<unknown>;

/** The reference's `dist/core/session-manager.js`, installed first if it is not there yet. */
export async function loadReference(): Promise<SessionModule> {
	const setup = (await nativeImport(pathToFileURL(join(root, "scripts/reference/setup.mjs")).href)) as {
		setup(): void;
		referenceDir: string;
	};
	setup.setup();
	const file = join(setup.referenceDir, "dist/core/session-manager.js");
	return (await nativeImport(pathToFileURL(file).href)) as SessionModule;
}

/**
 * The module under test: this package, or what `PSN_MODULE` names (a path, or a `file:` URL, whose query makes a second
 * instance of a module that is loaded already).
 */
export async function loadSubject(): Promise<SessionModule> {
	const override = process.env.PSN_MODULE;
	if (!override) return nativeRequire(join(root, "index.js")) as SessionModule;
	if (override.startsWith("file:")) return (await nativeImport(override)) as SessionModule;
	if (override.endsWith(".mjs")) return (await nativeImport(pathToFileURL(resolve(override)).href)) as SessionModule;
	return nativeRequire(resolve(override)) as SessionModule;
}

/**
 * Whether the module under test differs from pi where that is on purpose (docs/moving-from-pi.md).
 * `PSN_RULES=reference` says that it behaves as pi itself: the way to try the tests on a copy of the reference.
 */
export const differsOnPurpose = process.env.PSN_RULES !== "reference";
