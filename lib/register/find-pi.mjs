// Finds the installed pi for `pi-native`: from the variable, beside this package, by `pi` on the path, or beside the
// running Node. It skips a pi in the project of the working directory, because agents run in directories with
// strangers' code, even if `npx`, `npm run` or a relative entry of the path leads to it.
import { spawnSync } from "node:child_process";
import { accessSync, closeSync, constants, existsSync, openSync, readSync, realpathSync, statSync } from "node:fs";
import { homedir, constants as system } from "node:os";
import { basename, delimiter, dirname, isAbsolute, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { readSmall } from "../shared/read-small.mjs";
import { folderAround, manifestOf, PACKAGE_VARIABLE, print, Unfit, upwards } from "./package.mjs";

/** @typedef {import("./package.mjs").Pi} Pi */
/** @typedef {import("./package.mjs").Settings} Settings */

/** The largest script that is read, in bytes: it may be a bundle of pi. */
const LARGEST_SCRIPT = 64 << 20;

/** @param {string} path @param {number} length */
function headOf(path, length) {
	const head = Buffer.alloc(length);
	const file = openSync(path, "r");
	try {
		return head.subarray(0, readSync(file, head, 0, length, 0));
	} finally {
		closeSync(file);
	}
}

/** Whether a file is machine code, no text: such a pi has its session manager compiled in. @param {string} path */
export const isBinary = (path) => headOf(path, 1024).includes(0);

/**
 * Whether a path ends with a name of pi's command, or of a renamed build from the variable.
 * @param {string} path
 * @param {Settings} settings
 */
export function isNamedAsPi(path, { names, folders }) {
	const packages = [...names, ...folders.map((dir) => manifestOf(dir)?.name ?? basename(dir))];
	return packages.flatMap(commandNames).includes(basename(path).replace(/\.exe$/i, ""));
}

/**
 * Throws for a package manager's shell script that starts pi, because Node would report a syntax error.
 * @param {string} path
 * @param {string[]} names
 */
export function refuseLauncher(path, names) {
	if (!/^#!.*\b(ba|da|z|k)?sh\b/.test(headOf(path, 80).toString("latin1").split("\n", 1)[0])) return;
	for (const name of names) {
		const folder = fromLauncher(path, name);
		if (folder === undefined) continue;
		throw new Unfit(
			`${path} is a shell script that starts pi, which Node cannot run. Start pi-native, or ` +
				`${join(resolve(folder), "dist/bundle/cli.js")}`,
		);
	}
}

/** Whether Node can replace this process: not on Windows, and not before 22.15. */
export const canReplaceProcess = process.execve !== undefined && process.platform !== "win32";

/**
 * Runs a single-binary build of pi in place of this process, with its arguments. Where Node cannot replace a process,
 * pi is its child, and this process ends as pi does.
 * @param {string} path
 * @returns {never}
 */
export function startBinary(path) {
	const reason = `${path} is a single-binary build of pi, whose session manager is compiled in`;
	print(`pi-session-native: it runs on its own session manager, because ${reason}`);
	const args = process.argv.slice(2);
	if (process.execve && canReplaceProcess)
		return process.execve(path, [path, ...args], /** @type {Record<string, string>} */ (process.env));
	// A terminal, and Windows, send it to pi as well, which decides.
	process.on("SIGINT", () => {});
	const { status, signal, error } = spawnSync(path, args, { stdio: "inherit" });
	if (error) throw new Unfit(`${path} cannot be started: ${error.message}`);
	process.exit(status ?? 128 + (signal ? system.signals[signal] : 0));
}

/**
 * The `node_modules` directories from `dir` upwards. Node's own list also contains directories from NODE_PATH, which
 * may be relative.
 * @param {string} dir
 */
const modulesUpwards = (dir) => Array.from(upwards(dir), (at) => join(at, "node_modules"));

/** Whether a path is a file that can be read. Its directory may be missing or unreadable. @param {string} path */
function isReadableFile(path) {
	try {
		accessSync(path, constants.R_OK);
		return statSync(path).isFile();
	} catch {
		return false;
	}
}

/** This package's directory. */
const OWN = join(dirname(fileURLToPath(import.meta.url)), "../..");

/** @param {string} path */
function realOr(path) {
	try {
		return realpathSync(path);
	} catch {
		return path;
	}
}

/** The working directory. Throws if it was deleted. */
function workingDirectory() {
	try {
		return process.cwd();
	} catch {
		throw new Unfit("the working directory was deleted. Change to another directory");
	}
}

/** Whether a path is a directory or below it. @param {string} path @param {string} dir */
const isWithin = (path, dir) => `${path}${sep}`.startsWith(dir.endsWith(sep) ? dir : dir + sep);

/**
 * Files and directories that mark the directory of a project. No list is complete, but we do not skip everything in the
 * directories above the working directory, because users also install programs there: mise in `~/.local/share` beside
 * chezmoi's repository, pnpm in `~/Library` beside the folders of iCloud, Node on a data disk beside the projects.
 */
const MARKS = [
	...[".git", ".hg", ".jj", ".svn", "package.json"],
	// Their tools put directories of the project on the path.
	...[".direnv", ".envrc", ".mise.toml", ".tool-versions", "flake.nix", "mise.toml", "shell.nix"],
	...[".venv", "Pipfile", "pyproject.toml", "requirements.txt", "setup.cfg", "setup.py", "venv"],
];

/**
 * The directory of the project of the working directory: the outermost directory with a mark, otherwise the working
 * directory. Undefined if the working directory is the user's home or above it, because programs are installed there.
 */
function projectOfWorkingDirectory() {
	const home = realOr(homedir());
	const dirs = [...upwards(realOr(workingDirectory()))].filter((dir) => !isWithin(home, dir) && dir !== dirname(dir));
	return dirs.findLast((dir) => MARKS.some((mark) => existsSync(join(dir, mark)))) ?? dirs[0];
}

/**
 * Whether a path came with the working directory: it is in the project, or in the `node_modules` of the working
 * directory or of a directory above it. False if this package is installed in the same place, or its command was
 * started there. A link to this package does not count, because a stranger's project may contain one.
 * @param {string} path
 */
function isOfWorkingDirectory(path) {
	const above = [...upwards(resolve(path))].filter((at) => basename(at) === "node_modules");
	const ours = [realOr(OWN), ...(process.argv[1] ? [realOr(dirname(resolve(process.argv[1])))] : [])];
	const isOurs = (/** @type {string} */ modules) =>
		realOr(dirname(modules)) === realOr(OWN) || ours.some((place) => isWithin(place, realOr(modules)));
	const [project, cwd] = [projectOfWorkingDirectory(), realOr(workingDirectory())];
	const isInProject = project !== undefined && isWithin(resolve(path), project);
	return (isInProject || above.some((modules) => isWithin(cwd, realOr(dirname(modules))))) && !above.some(isOurs);
}

/**
 * Whether a directory of the path may contain a pi that the user installed. A relative directory depends on the working
 * directory.
 * @param {string} dir
 */
const isUsersOwn = (dir) => isAbsolute(dir) && ![dir, realOr(dir)].some(isOfWorkingDirectory);

/**
 * The files with these names in directories of the path, in its order.
 * @param {string[]} names
 * @param {(dir: string) => boolean} [isSearched]
 */
function commandsOnPath(names, isSearched = isUsersOwn) {
	const files = process.platform === "win32" ? names.flatMap((name) => [`${name}.cmd`, `${name}.exe`]) : names;
	const folders = (process.env.PATH ?? "").split(delimiter).filter(isSearched);
	const paths = folders.flatMap((dir) => files.map((file) => join(dir, file)));
	return paths.filter(isReadableFile);
}

/**
 * The directory of package `name` that a launcher script of npm or pnpm starts.
 * @param {string} path
 * @param {string} name
 */
function fromLauncher(path, name) {
	const text = readSmall(path, LARGEST_SCRIPT).toString().replaceAll("\\", "/");
	const found = text.split(/["'\s]/).find((word) => word.includes(`/node_modules/${name}/`));
	if (!found) return undefined;
	const folder = found.slice(0, found.lastIndexOf(`/node_modules/${name}/`) + `/node_modules/${name}`.length);
	const named = folder.replace(/^(\$basedir|%~dp0|%dp0%)\/?/, `${dirname(path)}/`);
	// Only a shell can expand another variable. Without it the path would be relative to the working directory.
	return isAbsolute(named) ? named : undefined;
}

/**
 * Directories that may contain a package of this name, the most likely first, found one at a time.
 * @param {string} name
 */
function* candidates(name) {
	for (const modules of modulesUpwards(OWN)) yield join(modules, name);
	// If this package is installed by a link, its real directory is not beside the command.
	if (process.argv[1])
		for (const modules of modulesUpwards(dirname(resolve(process.argv[1])))) yield join(modules, name);
	for (const command of commandsOnPath(commandNames(name))) {
		const real = realpathSync(command);
		if (isBinary(real)) continue;
		const around = folderAround(real);
		if (around) yield around;
		const launched = fromLauncher(real, name);
		if (launched) yield launched;
		for (const modules of ["node_modules", "../lib/node_modules"]) yield join(dirname(command), modules, name);
	}
	for (const modules of ["../lib/node_modules", "node_modules"]) yield join(dirname(process.execPath), modules, name);
}

/**
 * The possible names of a package's command: `pi`, or for a renamed build the last part of its name.
 * @param {string} name
 */
const commandNames = (name) => [...new Set([name.slice(name.lastIndexOf("/") + 1), "pi"])];

/**
 * The installed pi. Does not return if that is a single binary. Throws `Unfit` if there is none, with a message that
 * says what was found.
 * @param {import("./package.mjs").Packages} packages
 * @param {Settings} settings
 */
export function findPi(packages, settings) {
	for (const folder of settings.folders) {
		if (!existsSync(folder)) throw new Unfit(`${PACKAGE_VARIABLE} names a folder that does not exist: ${folder}`);
		const real = realpathSync(folder);
		if (statSync(real).isFile() && isBinary(real)) return startBinary(real);
		const pi = packages.in(real);
		if (!pi) throw new Unfit(`${PACKAGE_VARIABLE} names a folder without a package.json: ${folder}`);
		return pi;
	}
	// If the variable names a package, only that is searched.
	const names = settings.named.length > 0 ? settings.named : settings.names;
	/** @type {string | undefined} */
	let refused;
	for (const name of names) {
		for (const folder of candidates(name)) {
			if (manifestOf(folder)?.name !== name) continue;
			const real = realpathSync(folder);
			if ([folder, real].some(isOfWorkingDirectory)) refused ??= folder;
			else return /** @type {Pi} */ (packages.in(real));
		}
	}
	const commands = names.flatMap(commandNames);
	const binary = commandsOnPath(commands).find((path) => {
		const real = realpathSync(path);
		return isBinary(real) && !isOfWorkingDirectory(real);
	});
	if (binary) return startBinary(binary);
	const [command] = commandsOnPath(commands, () => true);
	const isStrange = command && (!isUsersOwn(dirname(command)) || isOfWorkingDirectory(realOr(command)));
	const strange = isStrange ? command : refused;
	throw new Unfit(
		`no pi is installed (${names.join(", ")}). Install one (npm install -g @earendil-works/pi-coding-agent), ` +
			`or name its folder in ${PACKAGE_VARIABLE}. ` +
			(command && !strange
				? `${command} does not lead to a package of this name`
				: `A pi that came with the working directory is not used${strange ? `: ${strange}` : ""}`),
	);
}
