// Two checkouts of a project on one machine, which are one host for the store, and processes of one checkout that pull
// at once.
import { AsyncLocalStorage } from "node:async_hooks";
import { appendFileSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { api } from "../../../../__test__/support/scratch.js";
import { SessionSync } from "../../lib/index.js";
import { entries, entry, library, SESSION } from "../support/lines.js";
import { idsIn, NAME, text, world } from "../support/machines.js";

const { RedactionFile } = createRequire(library)("./sync/redaction-file.js");

afterEach(() => vi.restoreAllMocks());

test("two checkouts on one machine exchange their lines", async () => {
	const { machine, begin } = world();
	const [one, two] = [machine("one", { host: "laptop" }), machine("two", { host: "laptop" })];
	begin(one, entry("a1"));
	await one.sync.push();
	expect(await two.sync.pull()).toMatchObject([{ isNew: true, added: 1 }]);
	appendFileSync(one.file, text(entry("a2")));
	appendFileSync(two.file, text(entry("b2")));
	for (const { sync } of [one, two]) await sync.push();
	for (const { sync } of [one, two]) await sync.pull();
	expect(idsIn(one.file).sort()).toEqual(["a1", "a2", "b2"]);
	expect(idsIn(two.file)).toEqual(idsIn(one.file));
});

// Regression: if the file was opened by another path, its notes were not found.
test("notes do not depend on the spelling of paths", async () => {
	const { machine, begin } = world();
	const { options, dir, file, notes, sync } = machine("a");
	begin({ dir, file }, Buffer.from('{"type":"custom","id":"first","parentId":null,"data":"hunter2"}'));
	await sync.push();
	await sync.redact({ session: SESSION, file }, { text: "hunter2" });
	const link = join(dir, "..", "link");
	symlinkSync(dir, link, "junction");
	for (const same of [{ dir: link }, { address: `file://${options.address}/` }])
		expect(new SessionSync({ ...options, ...same }).isNoted(SESSION)).toBe(true);
	for (const other of [{ dir: join(dir, "other") }, { address: `${options.address}-other` }])
		expect(new SessionSync({ ...options, ...other }).isNoted(SESSION)).toBe(false);
	const redacted = (file: string) => new RedactionFile(notes, { session: SESSION, file }).all();
	expect(redacted(file)).toHaveLength(1);
	expect(redacted(join(link, NAME))).toEqual(redacted(file));
});

test("two pulls that create the same file both succeed", async () => {
	const { machine, begin } = world();
	const [a, b] = [machine("a"), machine("b")];
	begin(a, ...entries("n", 3));
	await a.sync.push();
	// Both have found that it is new before either of them creates it.
	const { items } = await b.sync.compare();
	const results = [await b.sync.pull({ items }), await b.again().pull({ items })];
	expect(results).toMatchObject([[{ isNew: true, added: 3 }], [{ isNew: false, added: 0, problems: [] }]]);
	expect(results.flat().map(({ error }) => error)).toEqual([undefined, undefined]);
	expect(await b.again().pull()).toEqual([]);
});

test("a pull notes nothing wrong beside another pull", async () => {
	const { machine, synced } = world();
	const [a, z, me] = await synced([entry("s1")], "a", "z", "me");
	await z.addAndPush(entry("z2"));
	// One process has loaded all lines, and is slow.
	const slow = machine("me");
	let goOn: () => void = () => {};
	const held = new Promise<void>((resolve) => (goOn = resolve));
	const loaded = new Promise<void>((resolve) => {
		const load = slow.store.load.bind(slow.store);
		slow.store.load = async (...args) => {
			const page = await load(...args);
			resolve();
			await held;
			return page;
		};
	});
	const isSlow = new AsyncLocalStorage<boolean>();
	const second = isSlow.run(true, () => slow.sync.pull());
	await loaded;
	// This line precedes the other's line in the order of the store.
	await a.addAndPush(entry("a2"));
	// The slow one ends right after the other's merge, before the other writes its note.
	const { merge } = api.SessionManager;
	let merges = 0;
	vi.spyOn(api.SessionManager, "merge").mockImplementation((...args) => {
		const report = merge.call(api.SessionManager, ...args);
		if (++merges === 1) goOn();
		return report;
	});
	const { promises } = createRequire(library)("node:fs");
	const open = promises.open.bind(promises);
	vi.spyOn(promises, "open").mockImplementation(async (...args: unknown[]) => {
		if (merges === 1 && !isSlow.getStore()) await second;
		return open(...args);
	});
	await me.sync.pull();
	vi.restoreAllMocks();
	await second;
	await me.again().pull();
	await z.sync.pull();
	expect(idsIn(me.file)).toEqual(["s1", "a2", "z2"]);
	expect(idsIn(z.file)).toEqual(idsIn(me.file));
});
