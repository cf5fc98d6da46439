// `pi-sync status`: stored sessions, sessions that wait to be pushed or pulled and why, and the last errors.
import { statSync } from "node:fs";
import parallel from "../base/in-parallel.js";
import lastErrors from "../machine/last-errors.js";
import { idInName } from "../machine/session-path.js";
import { idsIn, lagOf, OPEN } from "./push-and-pull.mjs";
import { checkDirectory, everySessionFile } from "./sessions.mjs";
import { checkAnswers, syncHere, syncsOfAll, withStore } from "./store-connection.mjs";
import {
	age,
	clip,
	counted,
	paint,
	safeLine,
	shownHosts,
	size,
	table,
	withoutId,
	write,
	writeJson,
} from "./terminal.mjs";

/** @typedef {import("./store-connection.mjs").Options & { sessions?: boolean }} Options */
/** @typedef {{ session: string, file: string, bytes: number, why: string }} Waiting */
/** @typedef {{ sessions: number, bytes: number, hosts: string[], newest: Date | undefined }} Stored */
/**
 * @typedef {object} Project
 * @property {string} project
 * @property {string} dir
 * @property {Stored | undefined} stored undefined if the store did not answer
 * @property {Waiting[]} toPush
 * @property {Waiting[]} toPull
 * @property {number} private the number of private sessions
 * @property {string[]} privateStored the ids of private sessions that the store contains
 * @property {import("../index.js").Problem[]} problems data of the store that cannot be read
 * @property {string[]} deleted the ids of sessions that were deleted from the store and have a file on this machine
 */

/** The number of sessions of one kind that are named. */
const SHOWN = 10;

/**
 * @param {Options} options
 * @returns {Promise<number>} 1 if something waits because it failed
 */
export async function status(options) {
	checkDirectory("--dir", options.dir);
	if (options.sessions) return storedSessions(options);
	const work = async (/** @type {import("./store-connection.mjs").Connection} */ connection) => {
		const { store, shown, address, notesDir } = connection;
		const syncs = options.all ? await syncsOfAll(connection, options) : [await syncHere(connection, options)];
		/** @type {Project[]} */
		const projects = [];
		/** @type {string | undefined} */
		let unreachable;
		let errors = new lastErrors.LastErrors(notesDir, address).all();
		try {
			await checkAnswers(connection);
			/** @type {Promise<Set<string>> | undefined} */
			let all;
			const listedAnywhere = () => (all ??= store.list().then(idsIn));
			for (const sync of syncs)
				projects.push(await statusOf(sync, await store.list({ project: sync.project }), errors, listedAnywhere));
			const files = new Set(errors.length > 0 ? everySessionFile(options).map(idInName) : []);
			// Other errors are only hidden, because a session may be in a directory that this command does not know.
			errors = errors.filter(({ session }) => session === undefined || isWanted(session, projects, files));
		} catch (error) {
			if (!(error instanceof Error)) throw error;
			unreachable = error.message;
			for (const sync of syncs.slice(projects.length)) projects.push(await statusOf(sync, undefined, errors));
		}
		const failed = errors.filter(({ code }) => code !== "unreachable" || unreachable !== undefined);
		// The head shows why the store does not answer.
		const others = errors.filter(({ session }) => session !== undefined || unreachable === undefined);
		if (options.json) await writeJson({ store: shown, host: store.host, unreachable, projects, errors });
		else {
			const ofProjects = projects.flatMap((one) => lines(one, errors));
			await write(`${[...head(connection, unreachable), ...ofProjects, ...failures(others)].join("\n")}\n`);
		}
		return unreachable !== undefined || failed.length > 0 || projects.some(({ problems }) => problems.length > 0)
			? 1
			: 0;
	};
	return withStore(options, work, async () => {});
}

/**
 * Whether a session still has to be pushed or pulled: it may have been deleted since it failed.
 * @param {string} session
 * @param {Project[]} projects
 * @param {Set<string>} files the ids in the names of all session files of this machine
 */
const isWanted = (session, projects, files) =>
	projects.some(({ toPush, toPull }) => [...toPush, ...toPull].some((one) => one.session === session)) ||
	(files.has(session) && !projects.some(({ deleted }) => deleted.includes(session)));

/**
 * @param {import("../index.js").SessionSync} sync
 * @param {import("../index.js").SessionList | undefined} list the stored sessions of its project; undefined if unknown
 * @param {import("../machine/last-errors.js").LastError[]} errors
 * @param {() => Promise<Set<string>>} [listedAnywhere] returns the ids of all sessions that the store lists
 * @returns {Promise<Project>}
 */
async function statusOf(sync, list, errors, listedAnywhere) {
	const { items, deleted } = list ? await sync.compare({ list }) : { items: [], deleted: [] };
	const gone = new Set(deleted.map(({ session }) => session));
	const why = (/** @type {string} */ session, /** @type {string} */ otherwise) =>
		errors.find((one) => one.session === session)?.message ?? otherwise;
	const local = await sync.local();
	const here = local.filter(({ session }) => !gone.has(session));
	const secret = local.filter((one) => sync.isPrivate(one));
	let listed = list && idsIn(list);
	// A session that was stored under another name of its project is not in the list of this project.
	if (here.some(({ session }) => sync.isNoted(session) && listed?.has(session) === false))
		listed = await listedAnywhere?.();
	const toPush = await parallel.inParallel(here, async (one) => {
		const bytes = await (listed ? lagOf(sync, one, listed) : sync.lagOf(one));
		// If a redaction, or another program, has replaced the file, all of it may be stored.
		const isCompared = bytes < (statSync(one.file, { throwIfNoEntry: false })?.size ?? 0);
		const otherwise = !sync.isNoted(one.session)
			? "never pushed"
			: listed?.has(one.session) === false
				? "the store does not contain it any more"
				: isCompared
					? "not stored yet"
					: "the next push compares it with the store";
		return { session: one.session, file: one.file, bytes, why: why(one.session, otherwise) };
	});
	const toPull = await sync.behind(items);
	return {
		project: sync.project,
		dir: sync.dir,
		stored: list && {
			sessions: list.sessions.length,
			bytes: list.sessions.reduce((sum, { bytes }) => sum + bytes, 0),
			hosts: [...new Set(list.sessions.flatMap(({ hosts }) => hosts))].sort(),
			newest: list.sessions.map(({ modified }) => modified).sort((a, b) => b.getTime() - a.getTime())[0],
		},
		toPush: toPush.filter(({ bytes }) => bytes > 0),
		toPull: toPull.map(({ session, file = "", stored, state }) => ({
			session,
			file,
			bytes: stored.bytes,
			why:
				state === "open"
					? OPEN
					: why(session, state === "new" ? "not on this machine yet" : "may have changed since the last pull"),
		})),
		private: secret.length,
		privateStored: secret
			.map(({ session }) => session)
			.filter((session) => list?.sessions.some((one) => one.session === session)),
		problems: list?.problems ?? [],
		deleted: [...gone],
	};
}

/** @param {import("./store-connection.mjs").Connection} connection @param {string | undefined} unreachable */
const head = ({ store, shown }, unreachable = "") => [
	`Store    ${safeLine(shown)}  ${paint.red(safeLine(unreachable.replace(`${shown}: `, "")))}`.trimEnd(),
	`Host     ${safeLine(store.host)}`,
];

/** @param {Project} status @param {import("../machine/last-errors.js").LastError[]} errors */
function lines({ project, stored, toPush, toPull, problems, deleted, private: all, privateStored }, errors) {
	const kept = all - privateStored.length;
	return [
		`Project  ${safeLine(project)}: ${stored ? storedLine(stored) : "its stored sessions are not known"}`,
		...some("to be stored", toPush, errors),
		...some("to be pulled", toPull, errors),
		...(kept > 0 ? [`  ${counted(kept, "private session")}, never stored`] : []),
		...(privateStored.length > 0
			? [
					`  ${counted(privateStored.length, "private session")}, stored before: pi-sync delete removes it ` +
						"from the store",
				]
			: []),
		...privateStored.slice(0, SHOWN).map((session) => `    ${clip(session, 36)}`),
		...problems
			.slice(0, SHOWN)
			.map(
				({ session, where, message }) =>
					`  ${paint.red("unreadable")}  ${clip(session, 36)}: ${safeLine(where)}: ${safeLine(message)}`,
			),
		...(deleted.length > 0
			? [
					`  ${counted(deleted.length, "session")} deleted from the store, with a file on this machine: ` +
						`${clip(deleted.join(", "), 80)}`,
				]
			: []),
	];
}

/** @param {NonNullable<Project["stored"]>} stored */
function storedLine({ sessions, bytes, hosts, newest }) {
	const by = hosts.length > 0 ? `, by ${shownHosts(hosts)}` : "";
	return `${counted(sessions, "stored session")}, ${size(bytes)}${by}${newest ? `, last changed ${ago(newest)}` : ""}`;
}

/** @param {Date} then */
const ago = (then) => (age(then) === "now" ? "now" : `${age(then)} ago`);

/**
 * @param {string} what
 * @param {Waiting[]} waiting
 * @param {import("../machine/last-errors.js").LastError[]} errors which follow
 */
function some(what, waiting, errors) {
	if (waiting.length === 0) return [];
	const follows = new Set(errors.slice(0, SHOWN).map(({ message }) => message));
	const named = waiting
		.slice(0, SHOWN)
		.map(
			({ session, bytes, why }) =>
				`    ${clip(session, 36)}  ${size(bytes)}: ${
					follows.has(why) ? "failed, see below" : safeLine(withoutId(why, session))
				}`,
		);
	return [
		`  ${counted(waiting.length, "session")} ${what}`,
		...named,
		...(waiting.length > SHOWN ? [`    and ${waiting.length - SHOWN} more`] : []),
	];
}

/** @param {import("../machine/last-errors.js").LastError[]} errors */
const failures = (errors) =>
	errors
		.slice(0, SHOWN)
		.map(
			({ session, at, message }) =>
				`${paint.red("failed")}   ${ago(new Date(at))}` +
				`${session === undefined ? "" : `, session ${safeLine(session)}`}: ${safeLine(withoutId(message, session))}`,
		);

/** Lists each stored session. @param {Options} options */
const storedSessions = (options) =>
	withStore(options, async (connection) => {
		const { store, shown } = connection;
		const { sessions, problems } = await store.list(
			options.all ? {} : { project: (await syncHere(connection, options)).project },
		);
		if (options.json) await writeJson({ store: shown, host: store.host, sessions, problems });
		else {
			const newest = sessions.sort((a, b) => b.modified.getTime() - a.modified.getTime());
			const rows = newest.map(({ session, project, hosts, bytes, modified }) => [
				clip(session, 36),
				clip(project ?? "", 60),
				shownHosts(hosts),
				size(bytes),
				age(modified),
			]);
			await write(
				rows.length === 0
					? `No sessions in ${safeLine(shown)}` +
							`${options.all ? "" : " of this project; --all lists the sessions of every project"}\n`
					: `${table(["SESSION", "PROJECT", "HOSTS", "SIZE", "AGE"], rows).join("\n")}\n`,
			);
			for (const { session, where, message } of problems)
				await write(`${paint.red("unreadable")}  ${safeLine(session)}: ${safeLine(where)}: ${safeLine(message)}\n`);
		}
		return problems.length > 0 ? 1 : 0;
	});
