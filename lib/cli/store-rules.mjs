// Compares the rules in the settings of a store with a folder that was moved. A rule names a directory and applies to
// everything below it, so it does not follow the folder. pi-session-sync decides by the same rules
// (packages/sync/lib/machine/settings.js); a test in its push-rules.spec.ts compares both.
import { dirname, isAbsolute, join, resolve } from "node:path";
import { expandHome } from "../shared/paths.mjs";
import { readSmall } from "../shared/read-small.mjs";
import { placeIn } from "../shared/repository.mjs";
import { sessionsRoot, withoutLinks } from "../shared/session-dir.mjs";

/** @typedef {import("./move.mjs").Renamed} Renamed */
/**
 * @typedef {{ file: string, hidden: string[], named: string[], error?: string }} LostRules `hidden`: directories in
 * `private`; `named`: directories in `projects`; `error`: why the file cannot be read
 */

/**
 * The rules that apply to the old folder or to a part of it, and that no rule replaces in the new place.
 * @param {Renamed} renamed
 * @returns {LostRules}
 */
export function lostRules(renamed) {
	const file = join(dirname(sessionsRoot()), "session-store.json");
	try {
		const { private: hidden, projects } = { ...JSON.parse(readSmall(file).toString()) };
		const names = Object.entries({ ...projects }).filter(([dir]) => isDirectory(dir));
		const lostNames = names.filter(([dir, name]) => {
			const ofProject = names.filter(([, other]) => other === name).map(([one]) => one);
			return lost(ofProject, renamed).includes(dir);
		});
		// Other entries are ids of sessions, which stay.
		return {
			file,
			hidden: lost([hidden ?? []].flat().filter(isDirectory), renamed),
			named: lostNames.map(([dir]) => dir),
		};
	} catch (error) {
		const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
		return { file, hidden: [], named: [], ...(code === "ENOENT" ? {} : { error: message }) };
	}
}

/** Whether an entry names a directory. @param {unknown} entry @returns {entry is string} */
const isDirectory = (entry) => typeof entry === "string" && isAbsolute(expandHome(entry));

/**
 * @param {string[]} dirs
 * @param {Renamed} renamed
 */
function lost(dirs, { from, to }) {
	return dirs.filter((dir) => {
		const place = placeOf(dir, from) === undefined ? placeOf(from, dir) : "";
		return place !== undefined && !dirs.some((other) => placeOf(other, join(to, place)) !== undefined);
	});
}

/**
 * The path relative to a folder, both as written or with symbolic links resolved; undefined if it is not in the folder.
 * @param {string} folder
 * @param {string} path
 */
const placeOf = (folder, path) =>
	spellings(folder)
		.flatMap((above) => spellings(path).map((below) => placeIn(above, below)))
		.find((place) => place !== undefined);

/** @param {string} path */
function spellings(path) {
	const written = resolve(expandHome(path));
	return [written, withoutLinks(written)];
}
