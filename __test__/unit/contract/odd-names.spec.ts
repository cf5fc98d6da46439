// Names that Windows does not allow, uses for devices, or shortens: each call treats them as pi does, on every system.
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { basename, join, toNamespacedPath } from "node:path";
import { expect, test } from "vitest";
import { loadReference } from "../../support/reference.js";
import {
	type Api,
	api,
	assistant,
	header,
	message,
	ownAgent,
	scratch,
	setEnv,
	user,
	writeSession,
} from "../../support/scratch.js";
import { isWindows } from "../../support/windows.js";

const pi = (await loadReference()) as unknown as Api;

/** The result of a call, or the code of its error. */
function outcomeOf(work: () => unknown): unknown {
	try {
		return work();
	} catch (error) {
		return (error as { code?: string }).code ?? "an error without a code";
	}
}

/** The results of a module for a name below its own directory. */
async function outcomes(
	{ SessionManager, loadEntriesFromFile, findMostRecentSession }: Api,
	name: string,
): Promise<Record<string, unknown>> {
	const dir = scratch();
	const path = join(dir, name);
	const opened = outcomeOf(() => {
		const manager = SessionManager.open(path, undefined, dir);
		return [manager.getSessionFile() === path, manager.getEntries().length];
	});
	const created = outcomeOf(() => {
		const manager = SessionManager.create(dir, path);
		return [manager.getSessionDir() === path, manager.getEntries().length];
	});
	return {
		opened,
		created,
		listed: (await SessionManager.list(dir, path)).length,
		listedAll: (await SessionManager.listAll(path)).length,
		loaded: outcomeOf(() => loadEntriesFromFile(path).length),
		recent: outcomeOf(() => findMostRecentSession(path)),
		appended: outcomeOf(() => {
			const manager = SessionManager.open(join(dir, `${name}.jsonl`), undefined, dir);
			manager.appendMessage(assistant("hello"));
			return loadEntriesFromFile(join(dir, `${name}.jsonl`)).length;
		}),
		listedBeside: (await SessionManager.listAll(dir)).map((info) => basename(info.path)),
		// Under wine an open file keeps a temporary name.
		files: readdirSync(dir)
			.filter((file) => !file.startsWith(".pi-session-"))
			.sort(),
	};
}

test.each(["a?b", "a?b.jsonl", 'a"b', "nul", "con.jsonl", "a ", "a."])("%s", async (name) => {
	expect(await outcomes(api, name)).toEqual(await outcomes(pi, name));
});

// Windows does not shorten names and long paths that begin with `\\\\?\\`, and returns them in this form. Elsewhere it
// is the path itself.
test.each([
	["a plain one", "plain"],
	["one whose name ends with a dot", "a."],
	["one with a long path", `${"long/".repeat(60)}x`],
])("a directory by a namespaced path: %s", async (_, name) => {
	const dir = toNamespacedPath(join(scratch(), name));
	mkdirSync(dir, { recursive: true });
	const file = writeSession(dir, [header({ cwd: dir }), message("a", null, user("hello"))], "s.jsonl");
	const findings = async ({ SessionManager, findMostRecentSession, loadEntriesFromFile }: Api) => ({
		listed: await SessionManager.list(dir, dir),
		listedAll: await SessionManager.listAll(dir),
		recent: findMostRecentSession(dir),
		continued: SessionManager.continueRecent(dir, dir).getSessionFile(),
		opened: SessionManager.open(file).getEntries(),
		loaded: loadEntriesFromFile(file),
		created: basename(SessionManager.create(dir, dir).getSessionDir()),
	});
	const ours = await findings(api);
	expect(ours).toEqual(await findings(pi));
	expect(ours.listedAll).toMatchObject([{ path: join(dir, "s.jsonl"), firstMessage: "hello" }]);
});

// Regression: SQLite accepts paths in users' form, so there it opened another file than the one that had been checked.
test.each(["a.", "a "])("on Windows a directory named %j has no catalog", async (name) => {
	ownAgent();
	const dir = scratch();
	const agent = join(dir, name);
	setEnv({ PI_CODING_AGENT_DIR: agent });
	const project = join(agent, "sessions", "--project--");
	mkdirSync(project, { recursive: true });
	writeSession(project, [header({ cwd: "/project" }), message("a", null, user("hello"))], "s.jsonl");
	for (let times = 0; times < 2; times++)
		expect(await api.SessionManager.listAll()).toMatchObject([{ firstMessage: "hello" }]);
	expect([readdirSync(dir), existsSync(join(agent, "session-catalog.sqlite"))]).toEqual([[name], !isWindows]);
});
