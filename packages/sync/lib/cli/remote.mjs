// `pi-sessions remote`, `remote delete` and `remote move`: what is in a store.
import { age, clip, counted, safeLine, size } from "../../../../lib/shared/text.mjs";
import { displayName, isId } from "../base/names.js";
import { workingDirectory } from "../../../../lib/cli/dir-options.mjs";
import { CommandError, UsageError } from "../../../../lib/cli/errors.mjs";
import { paint, write, writeJson } from "../../../../lib/cli/output.mjs";
import { findOne } from "../../../../lib/cli/sessions.mjs";
import { projectHere, syncHere, withStore } from "./store-connection.mjs";
import { table } from "../../../../lib/cli/table.mjs";

/** @typedef {import("./store-connection.mjs").Connection} Connection */
/** @typedef {import("./store-connection.mjs").Options} Options */

/**
 * What is stored.
 * @param {Options} options
 */
export async function remote(options) {
	return withStore(options, async (connection) => {
		const { store, shown } = connection;
		const filter = options.all ? {} : { project: (await syncHere(connection, options)).project };
		const { sessions, problems } = await store.list({ ...filter, presence: true });
		if (options.json) {
			const rows = sessions.map(({ session, project, hosts, bytes, modified, presence }) => ({ session, project, hosts, bytes, modified, presence }));
			await writeJson({ store: shown, host: store.host, sessions: rows, problems });
		} else {
			const rows = sessions
				.sort((a, b) => b.modified.getTime() - a.modified.getTime())
				.map(({ session, project, hosts, bytes, modified, presence = [] }) => [clip(session, 36), clip(project ?? "", 60), clip(hosts.map(displayName).join(", "), 60), size(bytes), age(modified), clip(presence.map(displayName).join(", "), 30)]);
			const columns = [
				{ title: "SESSION", paint: paint.cyan },
				{ title: "PROJECT", least: 12, rank: 2 },
				{ title: "HOSTS", least: 8, rank: 3 },
				{ title: "SIZE", align: /** @type {const} */ ("right"), rank: 4 },
				{ title: "AGE", align: /** @type {const} */ ("right"), rank: 1 },
				{ title: "IN USE BY", rank: 5 },
			];
			await write(rows.length === 0 ? `No sessions in ${safeLine(shown)}${options.all ? "" : " of this project; --all lists those of every one"}\n` : `${table(columns, rows).join("\n")}\n`);
			for (const { session, where, message } of problems) await write(`${paint.red("unreadable")}  ${safeLine(session)}: ${safeLine(where)}: ${safeLine(message)}\n`);
		}
		return problems.length > 0 ? 1 : 0;
	});
}

/**
 * Deletes a session from the store. Its files stay where they are.
 * @param {string} query
 * @param {Options} options
 */
export async function remoteDelete(query, options) {
	refuseAll("delete", options);
	return withStore(options, async (connection) => {
		const { store, shown } = connection;
		const list = await listedFor(connection, query);
		// One that was deleted before may have been stopped before its lines were removed.
		const session = list.deleted.find((one) => one.session === query)?.session ?? storedSession(query, list);
		if (!options.dryRun) await store.delete(session);
		if (options.json) await writeJson({ store: shown, session, dryRun: Boolean(options.dryRun) });
		else await write(`${options.dryRun ? "would delete" : "deleted"}  ${safeLine(session)} from ${safeLine(shown)}; the files of it that machines have stay\n`);
		return 0;
	});
}

/**
 * Gives the sessions of a project another one's name: by default that of the working directory.
 * @param {string} from
 * @param {string | undefined} to
 * @param {Options} options
 */
export async function remoteMove(from, to, options) {
	refuseAll("move", options);
	return withStore(options, async ({ store, shown }) => {
		const here = await projectHere(workingDirectory(options), store.host);
		const project = to ?? here.project;
		// For the others the sessions would be gone.
		if (here.why !== undefined && project === here.project) throw new UsageError(`${here.why}; name the project that is to have the sessions: pi-sessions remote move ${from} <to>`);
		if (project === "" || from === "") throw new UsageError("The name of a project must not be empty; pi-sessions remote --all lists the projects");
		if (project === from) throw new UsageError(`${safeLine(from)} is the project's name already; name the one that it is to have: pi-sessions remote move ${safeLine(from)} <to>`);
		const [there, target] = await Promise.all([from, project].map((project) => store.list({ project })));
		const sessions = there.sessions.map(({ session }) => session);
		if (sessions.length + there.problems.length === 0) throw new CommandError(`No session of a project ${safeLine(from)} is stored; pi-sessions remote --all lists the projects`);
		if (!options.dryRun) await store.move(from, project);
		const joined = target.sessions.length > 0 ? `, which has ${counted(target.sessions.length, "session")} already` : "";
		if (options.json) await writeJson({ store: shown, from, to: project, dryRun: Boolean(options.dryRun), sessions });
		else await write(`${options.dryRun ? "would move" : "moved"}  ${counted(sessions.length, "session")} from ${safeLine(from)} to ${safeLine(project)}${joined}\n`);
		return 0;
	});
}

/** Refuses an option of `remote` itself, which is parsed wherever it stands. @param {string} command @param {Options} options */
function refuseAll(command, { all }) {
	if (all) throw new UsageError(`remote ${command} has no option --all`);
}

/**
 * What is stored: of a session if its whole id is given, else of all.
 * @param {Connection} connection
 * @param {string} query
 */
export async function listedFor({ store }, query) {
	const list = isId(query) ? await store.list({ session: query }) : undefined;
	return list && list.sessions.length + list.problems.length + list.deleted.length > 0 ? list : store.list();
}

/**
 * The stored session that an id or its beginning names, one that cannot be read included.
 * @param {string} query
 * @param {import("../index.js").SessionList} list
 */
export function storedSession(query, { sessions, problems }) {
	const items = sessions.map(({ session, hosts, modified }) => ({ id: session, about: `${age(modified)}  ${hosts.map(displayName).join(", ")}` }));
	const readable = new Set(items.map(({ id }) => id));
	const unreadable = new Set(problems.map((problem) => problem.session).filter((id) => !readable.has(id)));
	for (const id of unreadable) items.push({ id, about: "(unreadable)" });
	return findOne(query, items, ({ id, about }) => `${clip(id, 64)}  ${clip(about, 60)}`, "stored session").id;
}
