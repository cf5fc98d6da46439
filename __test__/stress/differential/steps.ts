// What a case is made of. A step can be run on either side, any number of times: its arguments are made anew from seeds
// and tokens, never shared.
import { Random } from "./random.js";
import type { Side } from "./side.js";

export interface Arg {
	/** For the log of a failing case. */
	show(): string;
	get(side: Side): unknown;
}

export interface ReadPlan {
	seed: number;
	/** Entry ids to ask for, normalised. */
	ids: readonly string[];
}

export interface Step {
	/** Its number in the case as generated; tokens carry it. */
	n: number;
	now: number;
	name: string;
	args: readonly Arg[];
	run(side: Side): unknown;
	/** The manager it concerns. */
	slot?: string;
	/** The result is a manager, to be kept in `slot`. */
	makesManager?: boolean;
	/** The result is an entry, to be the same object ever after. */
	makesEntry?: boolean;
	/** If it throws, the reference may have moved, and ours must not. */
	mayMoveReference?: boolean;
	/** Which reads follow; none: the next step comes unseen, so that what is made lazily stays unmade. */
	reads?: ReadPlan;
	/** Parts that a failing case can be freed of, and the step without some of them. */
	parts?: { count: number; without(dropped: ReadonlySet<number>): Step };
}

export function describe(step: Step): string {
	return `#${step.n} ${step.slot && !step.makesManager ? `${step.slot}.` : ""}${step.name}(${step.args.map((arg) => arg.show()).join(", ")})${step.makesManager ? ` -> ${step.slot}` : ""}${step.reads ? "" : "  [not read]"}`;
}

function shorten(text: string): string {
	return text.length > 160 ? `${text.slice(0, 150)}… (${text.length})` : text;
}

/** The same primitive on both sides. */
export function literal(value: unknown): Arg {
	return { show: () => (typeof value === "string" ? JSON.stringify(value) : String(value)), get: () => value };
}

/** An id or path in its normalised form. */
export function named(text: string): Arg {
	return { show: () => JSON.stringify(text), get: (side) => side.names.resolve(text) };
}

/** A value made from a seed, on each side its own; reading it back must give that very object. */
export function made(r: Random, make: (r: Random) => unknown): Arg {
	const seed = r.uint32();
	return {
		show: () => shorten(inspect(make(new Random(seed)))),
		get: (side) => {
			const value = make(new Random(seed));
			side.dumper.keep(value);
			return value;
		},
	};
}

function inspect(value: unknown): string {
	try {
		return (
			JSON.stringify(value, (_, v: unknown) =>
				v === undefined ? "<undefined>" : typeof v === "bigint" ? `${v}n` : v,
			) ?? String(value)
		);
	} catch (error) {
		return `<${String(error)}>`;
	}
}
