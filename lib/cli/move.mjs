// `pi-sessions move`: the sessions of a project whose folder was renamed or moved follow it.
import { lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { SessionManager } from "../../index.mjs";
import { useOf } from "../shared/delete-session.mjs";
import { placeIn } from "../shared/repository.mjs";
import { defaultDir, pathOf, sessionsRoot } from "../shared/session-dir.mjs";
import { age, clip, counted, safeLine, wrapped } from "../shared/text.mjs";
import { underHome } from "../shared/under-home.mjs";
import { confirmed } from "./confirm.mjs";
import { existingSessionDir, workingDirectory } from "./dir-options.mjs";
import { CommandError, UsageError } from "./errors.mjs";
import { columns, paint, withProgress, write, writeJson, writeWarning } from "./output.mjs";
import { sessionPath, title } from "./sessions.mjs";
import { table } from "./table.mjs";

/** @typedef {import("../../index.js").SessionInfo} SessionInfo */
/**
 * @typedef {import("./dir-options.mjs").DirOptions & { session?: string, force?: boolean, yes?: boolean, dryRun?:
 * boolean }} Options
 */
/** @typedef {{ from: string, to: string }} Renamed where the folder was, and where it is */
/**
 * @typedef {{ path: string, id: string, cwd: string, newPath: string, newCwd: string, error?: string }} Row a session
 * that is moved
 */
/**
 * @typedef {{ path: string, parent: string, newParent: string, error?: string }} Link a fork that names a moved session
 */

/** Columns of an id. */
const ID_SHOWN = 13;

/**
 * Gives the exit code: 1 if a session or a link stays as it is.
 * @param {string} old
 * @param {string | undefined} now
 * @param {Options} options
 */
export async function move(old, now, options) {
	if (options.json && !options.yes && !options.dryRun)
		throw new UsageError("--json asks no question: add --yes, or --dry-run");
	const to = newFolder(now, options);
	const listed = await everySession(to, options);
	const renamed = renamedFolder(old, to, listed);
	// The subagents of a session that moves go with it.
	const before = [...listed, ...(await subagentsOf(listed.filter((one) => !isMoved(one, renamed))))];
	const only = options.session === undefined ? undefined : await sessionPath(options.session, options);
	const sessions = before.filter((one) => isMoved(one, renamed) && (only === undefined || one.path === only));
	if (only !== undefined && sessions.length === 0)
		throw new CommandError(`The session's working directory is not in ${renamed.from}: ${only}`);
	const rows = sessions.map((one) => planned(one, renamed, options));
	const planOfLinks = linksOf(before, renamed, rows);
	if (rows.length + planOfLinks.length === 0)
		throw new CommandError(
			`No session's working directory is in ${renamed.from}. \`pi-sessions list --all\` shows those of every directory`,
		);
	warnOfRules(renamed, options);
	if (!options.json) await write(`${preview(sessions, rows, planOfLinks, renamed).join("\n")}\n`);
	const isLeft = rows.some(({ error }) => error !== undefined);
	if (options.dryRun) {
		if (options.json) await writeJson({ dryRun: true, ...renamed, sessions: rows, links: planOfLinks });
		return isLeft ? 1 : 0;
	}
	if (!(await confirmed("Move them?", options))) return 1;
	for (const row of rows) if (row.error === undefined) moveOne(row, renamed);
	// Also after an earlier move that was killed: links are found by where sessions are now.
	const after = await everySession(to, options);
	const links = linksOf([...after, ...(await subagentsOf(after))], renamed, []);
	for (const link of links) relink(link);
	if (options.json) await writeJson({ dryRun: false, ...renamed, sessions: rows, links });
	else await write(`${report(rows, links).join("\n")}\n`);
	return [...rows, ...links].every(({ error }) => error === undefined) ? 0 : 1;
}

/**
 * The folder as pi names it when it is started there, without links in its path.
 * @param {string | undefined} now
 * @param {Options} options
 */
function newFolder(now, options) {
	const path = now === undefined ? workingDirectory(options) : pathOf(now);
	if (now === "" || !statSync(path, { throwIfNoEntry: false })?.isDirectory())
		throw new CommandError(`No such directory: ${now ?? path}; move the folder itself first`);
	return realpathSync.native(path);
}

/**
 * The folder's old path as the sessions name it: as it was given, or without the links in what is left of the path.
 * @param {string} old
 * @param {string} to
 * @param {SessionInfo[]} sessions
 * @returns {Renamed}
 */
function renamedFolder(old, to, sessions) {
	if (old === "") throw new UsageError("The old directory must not be empty");
	const given = pathOf(old);
	const from =
		[given, withoutLinks(given)].find((path) => sessions.some(({ cwd }) => placeIn(path, cwd) !== undefined)) ?? given;
	if (from === to) throw new UsageError(`The old and the new directory are the same: ${to}`);
	return { from, to };
}

/** @param {string} path @returns {string} */
function withoutLinks(path) {
	try {
		return realpathSync.native(path);
	} catch {
		const dir = dirname(path);
		return dir === path ? path : join(withoutLinks(dir), basename(path));
	}
}

/**
 * Every session of the default directories, and of the directory that is set for the new folder.
 * @param {string} to
 * @param {Options} options
 * @returns {Promise<SessionInfo[]>}
 */
async function everySession(to, options) {
	const dir = existingSessionDir({ ...options, cwd: to });
	return await withProgress("Reading sessions", async ({ update }) => {
		const all = [
			...(await SessionManager.listAll(undefined, update)),
			...(dir === undefined ? [] : await SessionManager.listAll(pathOf(dir), update)),
		];
		return [...new Map(all.map((one) => [one.path, one])).values()];
	});
}

/**
 * The sessions of subagents, which no list contains. @param {SessionInfo[]} sessions @returns {Promise<SessionInfo[]>}
 */
async function subagentsOf(sessions) {
	const dirs = new Set(sessions.flatMap(({ path }) => SessionManager.filesOf(path).subagents.map(dirname)));
	return (await Promise.all([...dirs].map((dir) => SessionManager.listAll(dir)))).flat();
}

/**
 * Whether a session is in the old folder, and not in the new one, which may be within it. @param {SessionInfo} session
 * @param {Renamed} renamed
 */
const isMoved = ({ cwd }, { from, to }) =>
	placeIn(from, cwd) !== undefined && (placeIn(from, to) === undefined || placeIn(to, cwd) === undefined);

/**
 * @param {SessionInfo} session
 * @param {Renamed} renamed
 * @param {Options} options
 * @returns {Row}
 */
function planned({ path, id, cwd }, { from, to }, { force }) {
	const newCwd = join(to, placeIn(from, cwd) ?? "");
	// One that is kept elsewhere stays there.
	const newPath = dirname(path) === defaultDir(cwd) ? join(defaultDir(newCwd), basename(path)) : path;
	const row = { path, id, cwd, newPath, newCwd };
	if (newPath !== path && lstatSync(newPath, { throwIfNoEntry: false }))
		return { ...row, error: `there is a file already: ${newPath}` };
	const inUse = force ? undefined : useOf(SessionManager, [path, ...SessionManager.filesOf(path).subagents]);
	return inUse === undefined ? row : { ...row, error: `${inUse}: --force moves it` };
}

/** @param {Row} row @param {Renamed} renamed */
function moveOne(row, renamed) {
	try {
		SessionManager.move(row.path, {
			...renamed,
			...(row.newPath === row.path ? {} : { sessionDir: dirname(row.newPath) }),
		});
		SessionManager.forget(row.path);
	} catch (error) {
		row.error = /** @type {Error} */ (error).message;
	}
}

/**
 * The sessions whose parent was moved: the path in their header leads to nothing, and the parent is where that path is
 * now.
 * @param {SessionInfo[]} sessions
 * @param {Renamed} renamed
 * @param {Row[]} rows what will be moved
 * @returns {Link[]}
 */
function linksOf(sessions, { from, to }, rows) {
	/** @type {Map<string, string>} */
	const moved = new Map(
		rows
			.filter(({ path, newPath, error }) => path !== newPath && error === undefined)
			.map(({ path, newPath }) => [path, newPath]),
	);
	for (const { path, cwd } of sessions) {
		const place = placeIn(to, cwd);
		if (place === undefined) continue;
		const before =
			dirname(path) === defaultDir(cwd)
				? join(defaultDir(join(from, place)), basename(path))
				: join(from, placeIn(to, path) ?? path);
		if (before !== path && !lstatSync(before, { throwIfNoEntry: false })) moved.set(before, path);
	}
	return sessions.flatMap(({ path, parentSessionPath: parent }) => {
		const newParent = parent === undefined ? undefined : moved.get(parent);
		return parent === undefined || newParent === undefined
			? []
			: [{ path: moved.get(path) ?? path, parent, newParent }];
	});
}

/** @param {Link} link */
function relink(link) {
	try {
		SessionManager.setParentSession(link.path, link.newParent);
	} catch (error) {
		link.error = /** @type {Error} */ (error).message;
	}
}

/**
 * What a store is told by a directory's name does not follow: sessions that were private would be pushed.
 * @param {Renamed} renamed
 * @param {Options} options
 */
function warnOfRules({ from }, { json }) {
	const file = join(dirname(sessionsRoot()), "session-store.json");
	const stats = statSync(file, { throwIfNoEntry: false });
	if (!stats?.isFile() || stats.size > 1 << 20) return;
	const names = [from, underHome(from)].map((name) => JSON.stringify(name).slice(1, -1));
	if (names.some((name) => readFileSync(file, "utf8").includes(name)))
		writeWarning(
			`${file} names ${from}: change it before the next push, because its rules do not follow the folder`,
			Boolean(json),
		);
}

/**
 * @param {SessionInfo[]} sessions
 * @param {Row[]} rows
 * @param {Link[]} links
 * @param {Renamed} renamed
 */
function preview(sessions, rows, links, { from, to }) {
	const drawn = table(
		[
			{ title: "ID", paint: paint.cyan },
			{ title: "AGE", align: "right", rank: 2 },
			{ title: "FOLDER", least: 16, rank: 3 },
			{ title: "NEW FOLDER", least: 16, rank: 1 },
			{ title: "NAME OR FIRST MESSAGE", least: 16 },
		],
		sessions.map((one, at) => [
			clip(one.id, ID_SHOWN),
			age(one.modified),
			clip(underHome(one.cwd), 60),
			clip(underHome(rows[at]?.newCwd), 60),
			title(one, columns()),
		]),
	);
	const linked =
		links.length === 0 ? [] : [`The headers of ${counted(links.length, "fork")} name one of them, and are changed.`];
	const left = rows.flatMap(({ path, error }) =>
		error === undefined ? [] : [`${paint.yellow("stays")}  ${safeLine(path)}: ${safeLine(error)}`],
	);
	const head = wrapped(
		`From ${safeLine(underHome(from))} to ${safeLine(underHome(to))}: ${counted(sessions.length, "session")}`,
		columns(),
	);
	return [...head, ...(sessions.length > 0 ? drawn : []), ...linked, ...left];
}

/**
 * @param {Row[]} rows
 * @param {Link[]} links
 */
function report(rows, links) {
	const failed = [...rows, ...links].flatMap(({ path, error }) =>
		error === undefined ? [] : [`${paint.red("not moved")}  ${safeLine(path)}: ${safeLine(error)}`],
	);
	const count = rows.filter(({ error }) => error === undefined).length;
	const changed = links.filter(({ error }) => error === undefined).length;
	return [
		`Moved ${counted(count, "session")}${changed > 0 ? `, changed ${counted(changed, "link")} of forks` : ""}`,
		...failed,
	];
}
