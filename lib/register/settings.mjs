// What a user may set. Read once, when the hook is installed.
import { isAbsolute, sep } from "node:path";

/** The names pi is published under. */
const PUBLISHED = ["@earendil-works/pi-coding-agent", "@mariozechner/pi-coding-agent"];

/** Names a renamed build of pi: the name of its npm package, or its directory. Several are separated by commas. */
export const PACKAGE_VARIABLE = "PI_SESSION_NATIVE_PACKAGE";
/** If set, and not to 0, one line says that the manager was replaced, and where. */
export const VERBOSE_VARIABLE = "PI_SESSION_NATIVE_VERBOSE";

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
