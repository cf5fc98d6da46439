// One step on an existing manager: all methods that change something, with usual and unusual arguments.
import { content, message, textBlock, usage } from "./messages.js";
import type { Random } from "./random.js";
import type { Side } from "./side.js";
import { type Arg, literal, made, type Step } from "./steps.js";
import { anything, plain, text, unwritable } from "./values.js";
import type { World } from "./world.js";

interface Operation {
	weight: number;
	method: string;
	args(world: World, slot: string): Arg[];
	/** It derives a session file's name from the clock, so it needs a time of its own. */
	namesFile?: boolean;
	makesEntry?: boolean;
	mayMoveReference?: boolean;
	allowed?(world: World, slot: string): boolean;
}

/** An argument that usually has its type, and sometimes is any value. */
function mostly(world: World, make: (r: Random) => unknown): Arg {
	return world.r.chance(0.93)
		? made(world.r, make)
		: made(world.r, (r) => r.pick([undefined, null, "", 0, 5, true, plain(r)]));
}

const details = (world: World): Arg[] => (world.r.chance(0.5) ? [] : [made(world.r, anything)]);

/** The last arguments `details, fromHook, usage`, any number of them. */
function trailing(world: World): Arg[] {
	const all = [
		made(world.r, anything),
		literal(world.r.pick([undefined, true, false, null])),
		made(world.r, (r) => (r.chance(0.3) ? undefined : usage(r))),
	];
	return all.slice(0, world.r.int(4));
}

const REPLACEMENTS: readonly ((r: Random, world: World) => unknown)[] = [
	() => null,
	(r) => ({ content: text(r) }),
	(r) => ({ content: [textBlock(r)] }),
	(r) => ({ content: [], extra: text(r) }),
	(r) => ({ note: "kept beside", content: text(r) }),
	(r) => Object.freeze({ content: Object.freeze([textBlock(r)]) }),
];

const BAD_REPLACEMENTS: readonly unknown[] = [
	undefined,
	"text",
	5,
	true,
	{},
	[],
	{ content: 5 },
	{ content: null },
	{ content: undefined },
	{ content: { 0: "x", length: 1 } },
];

const editable = (entry: Record<string, unknown>) => entry.type === "message" || entry.type === "custom_message";

const OPERATIONS: readonly Operation[] = [
	{
		weight: 30,
		method: "appendMessage",
		args: (w) => [made(w.r, (r) => message(r, { oddContent: w.traits.oddContent, inMemory: true }))],
	},
	{
		weight: 3,
		method: "appendThinkingLevelChange",
		args: (w) => [mostly(w, (r) => r.pick(["off", "low", "high", text(r)]))],
	},
	{ weight: 3, method: "appendModelChange", args: (w) => [mostly(w, () => "anthropic"), mostly(w, text)] },
	{
		weight: 3,
		method: "appendUsage",
		makesEntry: true,
		args: (w) => [
			mostly(w, () => "cache_warm"),
			mostly(w, text),
			mostly(w, text),
			mostly(w, usage),
			...(w.r.chance(0.5) ? [mostly(w, text)] : []),
		],
	},
	{
		weight: 4,
		method: "appendCompaction",
		args: (w, slot) => [
			mostly(w, text),
			w.r.chance(0.2) ? literal(null) : w.entryId(slot, 0.15, w.r.chance(0.3) ? (e) => e.type === "label" : undefined),
			mostly(w, (r) => r.int(1e6)),
			...trailing(w),
		],
	},
	{ weight: 4, method: "appendCustomEntry", args: (w) => [mostly(w, text), ...details(w)] },
	{
		weight: 3,
		method: "appendSessionInfo",
		args: (w) => [
			w.r.chance(0.1)
				? literal(w.r.pick([undefined, null, 5]))
				: made(w.r, (r) =>
						r.pick([
							"",
							"name",
							"  padded\u00a0\ufeff ",
							"two\r\n\r\nlines",
							"\n",
							"tail\n",
							"sep\u2028arator",
							text(r),
						]),
					),
		],
	},
	{
		weight: 4,
		method: "appendCustomMessageEntry",
		args: (w) => [
			mostly(w, text),
			made(w.r, (r) => content(r, { oddContent: false, inMemory: true })),
			mostly(w, (r) => r.chance(0.5)),
			...details(w),
		],
	},
	{
		weight: 8,
		method: "appendContextEdit",
		args: (w, slot) => [
			w.entryId(slot, 0.08, w.r.chance(0.85) ? editable : undefined),
			w.r.chance(0.12) ? literal(w.r.pick(BAD_REPLACEMENTS)) : made(w.r, (r) => r.pick(REPLACEMENTS)(r, w)),
		],
	},
	{
		weight: 8,
		method: "appendLabelChange",
		args: (w, slot) => [
			w.entryId(slot),
			w.r.chance(0.25) ? literal(w.r.pick([undefined, "", null, 5])) : made(w.r, text),
		],
	},
	{ weight: 8, method: "branch", args: (w, slot) => [w.entryId(slot)] },
	{ weight: 2, method: "resetLeaf", args: () => [] },
	{
		weight: 4,
		method: "branchWithSummary",
		args: (w, slot) => [w.r.chance(0.2) ? literal(null) : w.entryId(slot), mostly(w, text), ...trailing(w)],
	},
	{
		weight: 4,
		method: "createBranchedSession",
		namesFile: true,
		args: (w, slot) => [w.entryId(slot, 0.1, w.r.chance(0.3) ? (e) => e.type === "label" : undefined)],
	},
	{ weight: 1, method: "newSession", namesFile: true, args: (w) => [w.sessionOptions()] },
	{ weight: 2, method: "setSessionFile", namesFile: true, mayMoveReference: true, args: (w) => [w.file()] },
	// A value that cannot be written. It is used only if the file exists, because at a first write the reference leaves
	// half a file, and the next try fails (docs/moving-from-pi.md, "a failed write").
	{
		weight: 1,
		method: "appendMessage",
		allowed: (w, slot) => w.hasFile(slot),
		args: (w) => [made(w.r, (r) => ({ role: "user", content: unwritable(r) }))],
	},
	{
		weight: 1,
		method: "appendCustomEntry",
		allowed: (w, slot) => w.hasFile(slot),
		args: (w) => [literal("x"), made(w.r, unwritable)],
	},
	{
		weight: 1,
		method: "branchWithSummary",
		mayMoveReference: true,
		allowed: (w, slot) => w.hasFile(slot),
		args: (w, slot) => [w.entryId(slot, 0), literal("s"), made(w.r, unwritable)],
	},
];

/** A random operation on the manager in a slot. */
export function operation(world: World, slot: string): Step {
	const { r } = world;
	if (r.chance(0.06) && !world.hasFile(slot)) return mutation(world, slot);
	const possible = OPERATIONS.filter((op) => op.allowed?.(world, slot) ?? true);
	const op = r.weighted(possible.map((item) => [item.weight, item] as const));
	const args = op.args(world, slot);
	return {
		...world.nextStep(!op.namesFile),
		name: op.method,
		args,
		slot,
		makesEntry: op.makesEntry,
		mayMoveReference: op.mayMoveReference,
		reads: world.readPlan(slot),
		run: (side) => side.manager(slot)[op.method]?.(...args.map((arg) => arg.get(side))),
	};
}

/**
 * The caller changes an object after passing it, before a file contains it. The new state is written and returned.
 */
function mutation(world: World, slot: string): Step {
	const target = world.entryId(slot, 0, (entry) => entry.type === "message" || entry.type === "custom");
	return {
		...world.nextStep(true),
		name: "(the caller adds to its own object)",
		args: [target],
		slot,
		reads: world.readPlan(slot),
		run: (side: Side) => {
			const entry = side.manager(slot).getEntry?.(target.get(side)) as { message?: { content?: unknown } } | undefined;
			const blocks = entry?.message?.content;
			if (Array.isArray(blocks) && !Object.isFrozen(blocks)) blocks.push({ type: "text", text: "added later" });
		},
	};
}
