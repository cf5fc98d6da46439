// The two modules that tests compare: the reference's session manager, and the module under test.
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** Any member that can be called by name, because the tests call both modules without relying on their types. */
export type Call = (...args: unknown[]) => unknown;
export type Manager = Record<string, Call>;
export type SessionModule = Record<string, Call> & { SessionManager: Record<string, Call> };

const root = resolve(__dirname, "../..");
// Node's own `require`. vitest does not transform the modules that it loads.
const nativeRequire = createRequire(__filename);
/** Node's own `import()`, which vitest does not transform. */
export const nativeImport = nativeRequire("./native-import.cjs") as (url: string) => Promise<unknown>;

/** The reference's `dist/core/session-manager.js`, which is installed first if it is missing. */
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
 * The module under test: this package, or the module in `PSN_MODULE` (a path, or a `file:` URL, whose query creates a
 * second instance of a loaded module).
 */
export async function loadSubject(): Promise<SessionModule> {
	const override = process.env.PSN_MODULE;
	if (!override) return nativeRequire(join(root, "index.js")) as SessionModule;
	if (override.startsWith("file:")) return (await nativeImport(override)) as SessionModule;
	if (override.endsWith(".mjs")) return (await nativeImport(pathToFileURL(resolve(override)).href)) as SessionModule;
	return nativeRequire(resolve(override)) as SessionModule;
}

/**
 * Whether the module under test differs from pi on purpose (docs/moving-from-pi.md). With `PSN_RULES=reference` it must
 * behave as pi, so that the tests can be tried on a copy of the reference.
 */
export const differsOnPurpose = process.env.PSN_RULES !== "reference";
