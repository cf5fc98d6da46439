// `pi-sync delete` and `move`, which change a store.
import { isId } from "../base/names.js";
import { findOne, workingDirectory } from "./sessions.mjs";
import { projectHere, withStore } from "./store-connection.mjs";
import {
	age,
	CommandError,
	clip,
	counted,
	isConfirmed,
	safeLine,
	shownHosts,
	size,
	UsageError,
	write,
	writeJson,
} from "./terminal.mjs";

/** @typedef {import("./store-connection.mjs").Connection} Connection */
/** @typedef {import("./store-connection.mjs").Options & { yes?: boolean }} Options */

/**
 * Deletes a session from the store, if the user agrees. Its files stay where they are.
 * @param {string} query
 * @param {Options} options
 */
export async function deleteSession(query, options) {
	return withStore(options, async ({ store, shown }) => {
		// Of all sessions, because a list of one session has the project's old name after a move.
		const list = await store.list();
		// An earlier deletion may have been interrupted before the lines were removed.
		const session = list.deleted.find((one) => one.session === query)?.session ?? storedSession(query, list);
		const stored = list.sessions.find((one) => one.session === session);
		if (!options.json) await write(`${described(session, stored)}\n`);
		if (!options.dryRun) {
			const question = `Delete it from ${safeLine(shown)} for ever, for everybody who uses the store?`;
			if (!(await isConfirmed(question, options))) return 1;
			await store.delete(session);
		}
		const { project, hosts, bytes } = stored ?? {};
		if (options.json)
			await writeJson({ store: shown, session, project, hosts, bytes, dryRun: Boolean(options.dryRun) });
		else
			await write(
				`${options.dryRun ? "would delete" : "deleted"}  ${safeLine(session)} from ${safeLine(shown)}; its ` +
					`files on machines stay\n`,
			);
		return 0;
	});
}

/** @param {string} session @param {import("../index.js").StoredSession | undefined} stored */
const described = (session, stored) =>
	[
		safeLine(session),
		...(stored
			? [
					`project ${clip(stored.project ?? "", 60)}`,
					`by ${shownHosts(stored.hosts)}`,
					`${size(stored.bytes)}, last changed ${age(stored.modified)}`,
				]
			: []),
	].join("  ");

/**
 * Gives the sessions of a project the name of another project: by default the working directory's.
 * @param {string} from
 * @param {string | undefined} to
 * @param {Options} options
 */
export async function move(from, to, options) {
	return withStore(options, async ({ store, shown }) => {
		const here = await projectHere(workingDirectory(options), store.host, options);
		const project = to ?? here.project;
		// Other machines would not get the sessions any more.
		if (here.why !== undefined && project === here.project)
			throw new UsageError(`${here.why}; name the new project of the sessions: pi-sync move ${from} <to>`);
		if (project === "" || from === "")
			throw new UsageError(
				"The name of a project must not be empty; pi-sync status --all --sessions lists the projects",
			);
		if (project === from)
			throw new UsageError(
				`${safeLine(from)} is already the name of the project; give its new name: pi-sync move ${safeLine(from)} <to>`,
			);
		// Of all projects, because a directory and a bucket list moved sessions under their old project, too.
		const list = await store.list();
		const idsOf = (/** @type {string} */ name) =>
			list.sessions.filter((one) => one.project === name).map(({ session }) => session);
		const [sessions, there] = [idsOf(from), idsOf(project)];
		if (sessions.length === 0)
			throw new CommandError(
				`No session of a project ${safeLine(from)} is stored; pi-sync status --all --sessions lists the projects`,
			);
		if (!options.dryRun) await store.move(from, project);
		const joined = there.length > 0 ? `, which has ${counted(there.length, "session")} already` : "";
		if (options.json) await writeJson({ store: shown, from, to: project, dryRun: Boolean(options.dryRun), sessions });
		else
			await write(
				`${options.dryRun ? "would move" : "moved"}  ${counted(sessions.length, "session")} from ` +
					`${safeLine(from)} to ${safeLine(project)}${joined}\n`,
			);
		return 0;
	});
}

/**
 * A list of one session, if its whole id is given, else of all.
 * @param {Connection} connection
 * @param {string} query
 */
export async function listedFor({ store }, query) {
	const list = isId(query) ? await store.list({ session: query }) : undefined;
	return list && list.sessions.length + list.problems.length + list.deleted.length > 0 ? list : store.list();
}

/**
 * The stored session that an id or its beginning names, also an unreadable one.
 * @param {string} query
 * @param {import("../index.js").SessionList} list
 */
export function storedSession(query, { sessions, problems }) {
	const items = sessions.map(({ session, hosts, modified }) => ({
		id: session,
		about: `${age(modified)}  ${hosts.join(", ")}`,
	}));
	const readable = new Set(items.map(({ id }) => id));
	const unreadable = new Set(problems.map((problem) => problem.session).filter((id) => !readable.has(id)));
	for (const id of unreadable) items.push({ id, about: "(unreadable)" });
	return findOne(
		query,
		items.map(({ id, about }) => ({ id, about: clip(about, 60) })),
		"stored session",
		"pi-sync status --all --sessions shows them",
	).id;
}
