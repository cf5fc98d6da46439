// `pi-sessions move`: moves the sessions of a project to its new folder, after the folder was renamed or moved.
import { lstatSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { SessionManager } from "../../index.mjs";
import { changeOf, statesOf, useOf } from "../shared/delete-session.mjs";
import { placeIn } from "../shared/repository.mjs";
import { defaultDir, pathOf, subagentFiles, withoutLinks, withSubagents } from "../shared/session-dir.mjs";
import { age, clip, counted, safeLine, wrapped } from "../shared/text.mjs";
import { underHome } from "../shared/under-home.mjs";
import { confirmed } from "./confirm.mjs";
import { existingSessionDir, workingDirectory } from "./dir-options.mjs";
import { CommandError, UsageError } from "./errors.mjs";
import { columns, paint, withProgress, write, writeJson, writeWarning } from "./output.mjs";
import { sessionPath, subagentsOf, title } from "./sessions.mjs";
import { lostRules } from "./store-rules.mjs";
import { table } from "./table.mjs";

/** @typedef {import("../../index.js").SessionInfo} SessionInfo */
/**
 * @typedef {import("./dir-options.mjs").DirOptions & { session?: string, force?: boolean, yes?: boolean, dryRun?:
 * boolean }} Options
 */
/** @typedef {{ from: string, to: string }} Renamed the former and the present path of the folder */
/**
 * @typedef {{ path: string, id: string, cwd: string, newPath: string, newCwd: string, error?: string }} Row a session
 * to move
 */
/**
 * @typedef {{ path: string, parent: string, newParent: string, error?: string }} Link a fork that names a moved session
 */

/** Width of the ids shown, in columns. */
const ID_SHOWN = 13;

/**
 * Returns the exit code: 1 if a session or a link could not be changed.
 * @param {string} old
 * @param {string | undefined} now
 * @param {Options} options
 */
export async function move(old, now, options) {
	if (options.json && !options.yes && !options.dryRun)
		throw new UsageError("With --json no question is asked: add --yes or --dry-run");
	const to = newFolder(now, options);
	const listed = await everySession(to, options);
	const renamed = renamedFolder(old, to, listed);
	// The subagents of a session that moves go with it.
	const before = [...listed, ...(await subagentsOf(listed.filter((one) => !isMoved(one, renamed))))];
	const only = options.session === undefined ? undefined : withoutLinks(await sessionPath(options.session, options));
	const selected = before.filter(
		(one) => isMoved(one, renamed) && (only === undefined || withoutLinks(one.path) === only),
	);
	const nested = new Set(selected.flatMap(({ path }) => subagentFiles(path)));
	const sessions = selected.filter(({ path }) => !nested.has(path));
	if (only !== undefined && sessions.length === 0)
		throw new CommandError(`The working directory of this session is not in ${renamed.from}: ${only}`);
	const rows = sessions.map((one) => planned(one, renamed, options));
	const states = rows.map(({ path }) => statesOf(filesOf(path)));
	const planOfLinks = linksOf(before, renamed, rows);
	if (rows.length + planOfLinks.length === 0)
		throw new CommandError(
			`No session has a working directory in ${renamed.from}. \`pi-sessions list --all\` shows all working directories`,
		);
	checkRules(renamed, options);
	if (!options.json) await write(`${preview(sessions, rows, planOfLinks, renamed).join("\n")}\n`);
	const left = new Set(rows.filter(({ error }) => error !== undefined));
	if (options.dryRun) {
		if (options.json) await writeJson({ dryRun: true, ...renamed, sessions: rows, links: planOfLinks });
		return left.size > 0 ? 1 : 0;
	}
	if (!(await confirmed("Move them?", options))) return 1;
	for (const [at, row] of rows.entries())
		if (row.error === undefined) moveOne(row, renamed, options.force ? undefined : states[at]);
	// We look again, so that links are also found if an earlier move was killed.
	const after = await everySession(to, options);
	const links = linksOf([...after, ...(await subagentsOf(after))], renamed, []);
	for (const link of links) relink(link);
	// The preview has named the sessions that stay.
	const tried = rows.filter((row) => !left.has(row));
	if (options.json) await writeJson({ dryRun: false, ...renamed, sessions: rows, links });
	else await write(`${report(tried, links).join("\n")}\n`);
	return [...rows, ...links].every(({ error }) => error === undefined) ? 0 : 1;
}

/**
 * The path of the folder as pi sees it when it is started there: without symbolic links.
 * @param {string | undefined} now
 * @param {Options} options
 */
function newFolder(now, options) {
	const path = now === undefined ? workingDirectory(options) : pathOf(now);
	if (now === "" || !statSync(path, { throwIfNoEntry: false })?.isDirectory())
		throw new CommandError(`The directory does not exist: ${now ?? path}. Move the folder itself first`);
	return realpathSync.native(path);
}

/**
 * The former path as the headers of sessions contain it: as given, or with the symbolic links resolved.
 * @param {string} old
 * @param {string} to
 * @param {SessionInfo[]} sessions
 * @returns {Renamed}
 */
function renamedFolder(old, to, sessions) {
	if (old === "") throw new UsageError("The old directory must not be an empty text");
	const given = pathOf(old);
	const from =
		[given, withoutLinks(given)].find((path) => sessions.some(({ cwd }) => placeIn(path, cwd) !== undefined)) ?? given;
	if (from === to) throw new UsageError(`The old and the new directory are the same: ${to}`);
	return { from, to };
}

/**
 * Every session of the default directories, and of the session directory in the new folder's settings.
 * @param {string} to
 * @param {Options} options
 * @returns {Promise<SessionInfo[]>}
 */
async function everySession(to, options) {
	const dir = existingSessionDir({ ...options, cwd: to });
	return await withProgress("Reading sessions", async ({ update }) => {
		const all = [
			...(await SessionManager.listAll(undefined, update)),
			...(dir === undefined ? [] : await SessionManager.listAll(dir, update)),
		];
		return [...new Map(all.map((one) => [one.path, one])).values()];
	});
}

/**
 * Whether a session belongs to the old folder and not to the new one, which may be inside the old one.
 * @param {SessionInfo} session
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
	// A session in a directory of the user's own stays there.
	const newPath = dirname(path) === defaultDir(cwd) ? join(defaultDir(newCwd), basename(path)) : path;
	const row = { path, id, cwd, newPath, newCwd };
	if (newPath !== path && lstatSync(newPath, { throwIfNoEntry: false }))
		return { ...row, error: `the file already exists: ${newPath}` };
	const inUse = force ? undefined : useOf(SessionManager, filesOf(path));
	return inUse === undefined ? row : { ...row, error: `${inUse}. Add --force to move it` };
}

/** A session's file and its subagents' session files. @param {string} path */
const filesOf = (path) => withSubagents([path]);

/**
 * @param {Row} row
 * @param {Renamed} renamed
 * @param {Record<string, string> | undefined} states of the plan; undefined if a session that changed is moved, too
 */
function moveOne(row, renamed, states) {
	try {
		const change = states && changeOf(SessionManager, filesOf(row.path), states);
		if (change !== undefined) throw new Error(change);
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
 * The forks whose parent was moved: the parent path in their header no longer exists, and a moved session had that
 * path.
 * @param {SessionInfo[]} sessions
 * @param {Renamed} renamed
 * @param {Row[]} rows the sessions that will be moved
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
 * Warns if rules of a store do not apply to the new folder, or cannot be read. With `--yes` nobody reads a warning, so
 * `--force` must say that sessions may lose their privacy.
 * @param {Renamed} renamed
 * @param {Options} options
 */
function checkRules(renamed, { json, yes, force, dryRun }) {
	const { file, hidden, named, error } = lostRules(renamed);
	const about = (/** @type {string[]} */ dirs) =>
		`${file} contains rules for ${renamed.from} that do not apply to ${renamed.to} (${dirs.join(", ")})`;
	const pushed = "Sessions that were private would be pushed: first add the new directory to `private`";
	const [problem, remedy] =
		error === undefined
			? [about(hidden), pushed]
			: [`${file} cannot be read, so its rules may not apply to ${renamed.to}: ${error}`, "First correct the file"];
	if (hidden.length > 0 || error !== undefined) {
		if (yes && !force && !dryRun) throw new CommandError(`${problem}. ${remedy}, or add --force`);
		writeWarning(`${problem}. ${remedy}`, Boolean(json));
	}
	if (named.length > 0) writeWarning(`${about(named)}. Add the new directory to \`projects\``, Boolean(json));
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
		links.length === 0
			? []
			: [`The headers of ${counted(links.length, "fork")} name one of these sessions and will be changed.`];
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
