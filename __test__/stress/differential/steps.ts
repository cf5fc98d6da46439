// The parts of a case. A step can run on either side, any number of times: its arguments are created anew from seeds
// and tokens, and never shared.
import { Random } from "./random.js";
import type { Side } from "./side.js";

export interface Arg {
	/** A description for the log of a failing case. */
	show(): string;
	get(side: Side): unknown;
}

export interface ReadPlan {
	seed: number;
	/** The ids of entries to read, normalised. */
	ids: readonly string[];
}

export interface Step {
	/** Its number in the generated case, which tokens contain. */
	n: number;
	now: number;
	name: string;
	args: readonly Arg[];
	run(side: Side): unknown;
	/** The manager that it uses. */
	slot?: string;
	/** The result is a manager, which is kept in `slot`. */
	makesManager?: boolean;
	/** The result is an entry, which must stay the same object. */
	makesEntry?: boolean;
	/** If it throws, the reference may have changed, but ours must not. */
	mayMoveReference?: boolean;
	/**
	 * The reads that follow. If there are none, objects that are created at their first use stay uncreated for the next
	 * step.
	 */
	reads?: ReadPlan;
	/** Parts that can be removed from a failing case, and the step without some of them. */
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

/** An id or a path in its normalised form. */
export function named(text: string): Arg {
	return { show: () => JSON.stringify(text), get: (side) => side.names.resolve(text) };
}

/** A value from a seed, a different object on each side. Reading it must return that object. */
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
