// The kinds of cases. A kind decides the initial state and the steps.
import { functionsOnFile, functionsOnManager, load, smallFunctions } from "./functions.js";
import { type HostileFile, hostileFile } from "./hostile.js";
import { list } from "./listing.js";
import { operation } from "./operations.js";
import type { Random } from "./random.js";
import type { Modules, Scenario } from "./run-case.js";
import { find, makeManager, writeFile } from "./statics.js";
import type { Step } from "./steps.js";
import type { Traits, World } from "./world.js";

function traits(r: Random, { better }: Modules, own: Partial<Traits>): Traits {
	return {
		oddContent: r.chance(0.4),
		readRate: r.pick([1, 1, 0.4, 0.1]),
		agentDir: r.pick([undefined, "", "<root>/agent", "~/agent-home", "agent-relative"]),
		hostile: false,
		better,
		...own,
	};
}

/** A hostile file may be one that only one side's plain loader accepts. */
const unloadable = new WeakMap<World, Set<string>>();

function hostileStep(world: World, path: string, listable: boolean): Step {
	const cwd = world.r.pick(["/somewhere/else", "<root>/proj"]);
	const file: HostileFile = hostileFile(world.r, { cwd, better: world.traits.better, listable });
	if (!file.sameForBoth) (unloadable.get(world) ?? unloadable.set(world, new Set()).get(world))?.add(path);
	return writeFile(world, path, file);
}

const loadable = (world: World) => (path: string) => !unloadable.get(world)?.has(path);

function anyStep(world: World): Step {
	const slots = world.slots();
	if (slots.length === 0) return makeManager(world);
	const slot = world.r.pick(slots);
	const step = world.r.weighted<() => Step | undefined>([
		[80, () => operation(world, slot)],
		[7, () => makeManager(world)],
		[3, () => functionsOnManager(world, slot)],
		[1, () => find(world)],
		[1, () => smallFunctions(world)],
		[world.traits.oddContent ? 0 : 1, () => list(world)],
		[1, () => load(world, loadable(world))],
		[1, () => functionsOnFile(world)],
	])();
	return step ?? operation(world, slot);
}

/**
 * Long histories of managers: all that the API can do with sessions that it created. Files are compared byte by byte.
 */
const operations: Scenario = {
	traits: (r, modules) => traits(r, modules, {}),
	next: (world) => (world.steps < 4 || (world.steps < 100 && !world.r.chance(0.05)) ? anyStep(world) : undefined),
};

/** Existing files, which are loaded, opened, forked, continued, branched from and appended to. */
const hostile: Scenario = {
	traits: (r, modules) => traits(r, modules, { hostile: true, oddContent: true }),
	next: (world) => {
		const { r } = world;
		if (world.steps === 0 || (world.steps === 1 && r.chance(0.3)))
			return hostileStep(world, `<root>/hostile/file-${world.steps}.jsonl`, false);
		if (world.steps > 14 || (world.steps > 6 && r.chance(0.15))) return undefined;
		if (world.slots().length === 0 || r.chance(0.25)) {
			return (
				r.weighted<() => Step | undefined>([
					[6, () => makeManager(world)],
					[2, () => load(world, loadable(world))],
					[1, () => functionsOnFile(world)],
				])() ?? makeManager(world)
			);
		}
		return anyStep(world);
	},
};

/** Small stores, listed and searched. */
const listing: Scenario = {
	traits: (r, modules) => traits(r, modules, { hostile: true, oddContent: false }),
	next: (world) => {
		const { r } = world;
		const folders = [
			"hostile",
			"sessions-a",
			"agent/sessions/--one--",
			"agent/sessions/--two--",
			"home/.pi/agent/sessions/--three--",
		];
		if (world.steps < 3 || (world.steps < 30 && !r.chance(0.12)))
			return hostileStep(
				world,
				`<root>/${r.weighted([
					[4, folders[0]],
					[2, folders[1]],
					[1, folders[2]],
					[1, folders[3]],
					[1, folders[4]],
				])}/${r.pick(["a", "B", "_", "é", "2024-01-01T"])}${world.steps}.jsonl`,
				true,
			);
		if (world.steps > 60 || r.chance(0.2)) return undefined;
		// After this number no more files are written.
		world.steps = Math.max(world.steps, 30);
		return r.weighted<() => Step>([
			[5, () => list(world)],
			[1, () => find(world)],
			[1, () => makeManager(world)],
		])();
	},
};

export const SCENARIOS: Readonly<Record<string, Scenario>> = { operations, hostile, listing };
