// The exported functions on plain arrays: entries of open managers, of parsed files, and of migrated files.
import { existsSync, readFileSync } from "node:fs";
import { attempt } from "./compare.js";
import { textBlock } from "./messages.js";
import { Random } from "./random.js";
import type { Fields } from "./sessions.js";
import type { Side } from "./side.js";
import { literal, named, type Step } from "./steps.js";
import { text } from "./values.js";
import type { World } from "./world.js";

const EDITS: readonly ((r: Random) => unknown)[] = [
	() => undefined,
	() => ({ type: "context_edit", replacement: null }),
	(r) => ({ type: "context_edit", replacement: { content: text(r) } }),
	(r) => ({ type: "context_edit", replacement: { content: [textBlock(r)] } }),
	() => ({ replacement: {} }),
];

/**
 * Calls each context function on an array, with the leaf ids and maps of its signature. Skips functions that pi does
 * not export, because releases before 1.5 have no `projectContextEntry`.
 */
function callAll(side: Side, pi: Side["module"], entries: readonly Fields[], seed: number): Record<string, unknown> {
	const r = new Random(seed);
	const { module } = side;
	const results: Record<string, unknown> = {};
	const call = (name: string, ...args: unknown[]) => {
		if (pi[name] === undefined) return;
		const outcome = attempt(() => module[name]?.(...args));
		// Here the reference throws V8's own text.
		results[`${Object.keys(results).length} ${name}`] =
			"value" in outcome ? outcome.value : (outcome.error as Error).constructor.name;
	};
	const byId = new Map(entries.map((entry) => [entry.id, entry]));
	const partial = new Map([...byId].filter((_, i) => i % 3 !== 0));
	for (let i = 0; i < 3; i++) {
		const leaf = entries.length > 0 && r.chance(0.5) ? r.pick(entries).id : r.pick([undefined, null, "", "0badc0de"]);
		const map = r.pick([undefined, byId, partial, new Map(), null]);
		for (const name of ["buildContextEntries", "buildSessionProjection", "buildSessionContext"])
			call(name, entries, leaf, map);
	}
	call("getLatestCompactionEntry", entries);
	call("getLatestCompactionEntry", entries.slice(0, r.int(entries.length + 1)));
	for (const entry of entries.slice(0, 12)) {
		call("sessionEntryToContextMessages", entry);
		call("projectContextEntry", entry, r.pick(EDITS)(r));
	}
	return results;
}

/** On the entries of a manager: the results contain the same objects that the manager returns. */
export function functionsOnManager(world: World, slot: string): Step {
	const seed = world.r.uint32();
	return {
		...world.nextStep(true),
		name: "(exported functions on its entries)",
		args: [],
		slot,
		// The ids need names before the results can be compared.
		reads: { seed, ids: [] },
		run: (side) => {
			const entries = side.manager(slot).getEntries?.() as Fields[];
			for (const entry of entries) side.names.register(entry.id);
			return callAll(side, world.reference.module, entries, seed);
		},
	};
}

const isObject = (value: unknown): value is Fields =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** Calls parseSessionEntries and migrateSessionEntries on the text of a file. Both sides get the reference's text. */
export function functionsOnFile(world: World): Step | undefined {
	const { r, reference } = world;
	const files = world.files();
	if (files.length === 0) return undefined;
	const file = r.pick(files);
	const path = reference.names.resolve(file);
	// With tokens in place of ids, so that each side gets its own ids. An id without a token would get a different one on
	// each side.
	const content = reference.names.normalise(existsSync(path) ? readFileSync(path, "utf8") : "");
	if (/"id":"[0-9a-f]{8}"/.test(content)) return undefined;
	const seed = r.uint32();
	const edge = r.pick(["", "\ufeff", "\n\n", " \u00a0"]);
	return {
		...world.nextStep(true),
		name: "(parse, migrate and project the text of)",
		args: [named(file), literal(edge)],
		run: (side) => {
			const parsed = side.module.parseSessionEntries?.(edge + side.names.resolve(content)) as unknown[];
			const asParsed = JSON.stringify(parsed);
			// The reference fails on values that are not entries, and on message entries without a message.
			const entries = parsed.filter(isObject).filter((entry) => entry.type !== "message" || isObject(entry.message));
			const before = callAll(side, reference.module, entries, seed);
			// Migration changes the objects in place, so both results contain the same objects.
			const returned = side.module.migrateSessionEntries?.(entries);
			for (const entry of entries) side.names.register(entry.id);
			return { asParsed, parsed, before, returned, entries, after: callAll(side, reference.module, entries, seed) };
		},
	};
}

/** Calls loadEntriesFromFile on any file. */
export function load(world: World, loadable: (file: string) => boolean): Step | undefined {
	const { r } = world;
	const files = world.files().filter(loadable);
	const file =
		files.length === 0 || r.chance(0.1) ? r.pick(["<root>/missing/none.jsonl", "~/missing.jsonl"]) : r.pick(files);
	const arg = named(r.chance(0.1) ? `file://${file}`.replace("~/", "/nowhere/") : file);
	return {
		...world.nextStep(true),
		name: "loadEntriesFromFile",
		args: [arg],
		run: (side) => {
			const entries = side.module.loadEntriesFromFile?.(arg.get(side)) as Fields[];
			for (const entry of entries) side.names.register(isObject(entry) ? entry.id : undefined);
			return entries;
		},
	};
}

/** The small functions: assertValidSessionId, getDefaultSessionDir and the version. */
export function smallFunctions(world: World): Step {
	const { r } = world;
	const id = literal(
		r.pick(["a", "a.b", "A-1_z", "", ".", "-a", "a-", "a b", "ä", "a\n", "0", "x".repeat(300), null, undefined]),
	);
	const args = [
		id,
		world.cwd(),
		r.chance(0.5) ? literal(undefined) : named(r.pick(["<root>/agent-2", "~/agent-3", "agent-4"])),
	];
	return {
		...world.nextStep(true),
		name: "(assertValidSessionId, getDefaultSessionDir)",
		args,
		run: (side) => {
			const [sessionId, cwd, agentDir] = args.map((arg) => arg.get(side));
			const valid = attempt(() => side.module.assertValidSessionId?.(sessionId));
			return {
				version: side.module.CURRENT_SESSION_VERSION,
				valid: "value" in valid ? valid.value : String(valid.error),
				dir: side.module.getDefaultSessionDir?.(cwd, agentDir),
			};
		},
	};
}
