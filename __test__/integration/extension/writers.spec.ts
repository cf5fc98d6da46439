// Who wrote a session last: what is shown in a selector's rows, and what is left as it was.
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { root, scratch } from "../../support/scratch.js";

const { lastWriters, showWriters } = await import(pathToFileURL(join(root, "lib/extension/writers.mjs")).href);
const { Notes } = createRequire(import.meta.url)(join(root, "packages/sync/lib/machine/notes.js"));

/** An agent with a store, and sessions of which it has notes; what it has none of is not looked up again. */
async function noted(writers: Record<string, string | undefined>) {
	const agentDir = scratch();
	const [store, dir] = [join(agentDir, "store"), join(agentDir, "sessions")];
	mkdirSync(dir);
	writeFileSync(join(agentDir, "session-store.json"), JSON.stringify({ store }), { mode: 0o600 });
	const notes = new Notes(join(agentDir, "session-stores"), store, dir);
	const sessions = [];
	for (const [id, writer] of Object.entries(writers)) {
		const path = join(dir, `${id}.jsonl`);
		writeFileSync(path, "0123456789");
		await notes.set(id, { cursor: "c", offset: 10, fingerprint: "x", mustReload: false, writer });
		sessions.push({ id, path, messageCount: 2 });
	}
	return { getAgentDir: () => agentDir, sessions };
}

test("the host's name for people; nothing for this machine's own, for what was written since, and for what is no id", async () => {
	const pi = await noted({ theirs: "anna-laptop-0123abcd", own: undefined, since: "anna-laptop-0123abcd", evil: "\u001b[2J", long: "a".repeat(100) });
	writeFileSync(pi.sessions[2]?.path as string, "0123456789 and more");
	const writerOf = lastWriters(pi);
	expect(pi.sessions.map(writerOf)).toEqual(["anna-laptop", undefined, undefined, undefined, `${"a".repeat(29)}…`]);
	expect(writerOf({ id: "../..", path: "/nowhere/x.jsonl" })).toBe(undefined);
});

test("a selector draws the writers of the rows that it draws; the sessions stay as they are, and so does another selector", async () => {
	const pi = await noted({ theirs: "anna-laptop-0123abcd", own: undefined });
	class Container {
		children: { render(width: number): string[] }[] = [];
		render(width: number): string[] {
			return this.children.flatMap((child) => child.render(width));
		}
	}
	class SessionSelectorComponent extends Container {
		list = {
			...{ allSessions: [], selectedIndex: 0, selectionTouched: false, sortMode: "recent", keybindings: { matches: () => false } },
			...{ filterSessions() {}, setSessions() {}, getSelectedSessionPath() {} },
			filteredSessions: pi.sessions.map((session) => ({ session })),
			render() {
				return this.filteredSessions.map(({ session }) => `${session.id} ${session.messageCount}`);
			},
		};
		override children = [this.list];
		getSessionList() {
			return this.list;
		}
	}
	const before = structuredClone(pi.sessions);
	const restore = showWriters({ ...pi, SessionSelectorComponent });
	expect(new SessionSelectorComponent().render(80)).toEqual(["theirs anna-laptop · 2", "own 2"]);
	expect(pi.sessions).toEqual(before);
	restore();
	expect(Object.hasOwn(SessionSelectorComponent.prototype, "render")).toBe(false);
	expect(new SessionSelectorComponent().render(80)).toEqual(["theirs 2", "own 2"]);
	class Other extends Container {
		override render() {
			return ["as it was"];
		}
	}
	const own = Other.prototype.render;
	showWriters({ ...pi, SessionSelectorComponent: Other })();
	showWriters(pi)();
	expect(Other.prototype.render).toBe(own);
});
