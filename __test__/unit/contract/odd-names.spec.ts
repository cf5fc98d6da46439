// Names that Windows does not have, or has for devices, and that it shortens: calls do with them what pi does, on every system.
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { loadReference } from "../../support/reference.js";
import { type Api, api, assistant, scratch } from "../../support/scratch.js";

const pi = (await loadReference()) as unknown as Api;

/** What a call gives, or the code of its error. */
function outcomeOf(work: () => unknown): unknown {
	try {
		return work();
	} catch (error) {
		return (error as { code?: string }).code ?? "an error without a code";
	}
}

/** What a module makes of a name below a directory of its own. */
async function outcomes({ SessionManager, loadEntriesFromFile, findMostRecentSession }: Api, name: string): Promise<Record<string, unknown>> {
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
		// What is still open keeps a temporary name under wine.
		files: readdirSync(dir).filter((file) => !file.startsWith(".pi-session-")).sort(),
	};
}

test.each(["a?b", "a?b.jsonl", 'a"b', "nul", "con.jsonl", "a ", "a."])("%s", async (name) => {
	expect(await outcomes(api, name)).toEqual(await outcomes(pi, name));
});
