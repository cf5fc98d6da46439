// Compares two outcomes, and describes a difference.
import type { Side } from "./side.js";

export type Outcome = { value: unknown } | { error: unknown };

/** A difference between the two managers, which a case is meant to find. */
export class Difference extends Error {
	constructor(
		readonly what: string,
		readonly expected: string,
		readonly actual: string,
	) {
		super(`${what}\n${excerpts(expected, actual)}`);
	}
}

/** Both texts around their first different character. */
function excerpts(expected: string, actual: string): string {
	let at = 0;
	while (at < expected.length && expected[at] === actual[at]) at++;
	const cut = (text: string) =>
		`${at > 100 ? "…" : ""}${text.slice(Math.max(0, at - 100), at + 200)}${text.length > at + 200 ? "…" : ""}`;
	return `  at character ${at}\n  pi:   ${cut(expected)}\n  ours: ${cut(actual)}`;
}

export function attempt<T>(body: () => T): { value: T } | { error: unknown } {
	try {
		return { value: body() };
	} catch (error) {
		return { error };
	}
}

export async function attemptAsync(body: () => unknown): Promise<Outcome> {
	try {
		return { value: await body() };
	} catch (error) {
		return { error };
	}
}

function field(error: unknown, name: string): unknown {
	return typeof error === "object" && error !== null ? (error as Record<string, unknown>)[name] : undefined;
}

function describeError(side: Side, error: unknown): string {
	if (!(error instanceof Error)) return `thrown ${side.dumper.dump(error)}`;
	return `${error.constructor.name} ${JSON.stringify(side.names.normalise(error.message))}`;
}

/**
 * There are three rules for errors of the reference. If the reference throws its own error, ours has the same text. If
 * an engine's error occurs in it (a TypeError of V8 or of Node's argument checks), ours is a TypeError with its own
 * text. If the file system fails, our error names the path if the reference's does.
 */
export function compareErrors(what: string, reference: Side, expected: unknown, ours: Side, actual: unknown): void {
	const differs = () =>
		new Difference(`${what} throws differently`, describeError(reference, expected), describeError(ours, actual));
	if (!(actual instanceof Error) && expected instanceof Error) throw differs();
	if (expected instanceof TypeError) {
		if (!(actual instanceof TypeError)) throw differs();
	} else if (typeof field(expected, "syscall") === "string") {
		const path = field(expected, "path");
		if (
			typeof path === "string" &&
			!ours.names.normalise(String(field(actual, "message"))).includes(reference.names.normalise(path))
		)
			throw differs();
	} else if (describeError(reference, expected) !== describeError(ours, actual)) {
		throw differs();
	}
}

/** Throws unless both ended alike. Returns whether both threw. */
export function compareOutcomes(
	what: string,
	reference: Side,
	expected: Outcome,
	ours: Side,
	actual: Outcome,
): "threw" | "returned" {
	if ("error" in expected) {
		if (!("error" in actual))
			throw new Difference(`${what} should throw`, describeError(reference, expected.error), "returned");
		compareErrors(what, reference, expected.error, ours, actual.error);
		return "threw";
	}
	if ("error" in actual)
		throw new Difference(`${what} should not throw`, "returned", describeError(ours, actual.error));
	return "returned";
}

/** Throws unless both values are printed alike. The error names the shortest path to the difference. */
export function compareValues(
	what: string,
	reference: Side,
	expected: unknown,
	ours: Side,
	actual: unknown,
	keep = false,
): void {
	const left = reference.dumper.dump(expected, keep);
	const right = ours.dumper.dump(actual, keep);
	if (left === right) return;
	throw new Difference(`${what}${differingPath(reference, expected, ours, actual)}`, left, right);
}

/** A path such as `.a[1].b` to the innermost value that is printed differently. */
function differingPath(reference: Side, expected: unknown, ours: Side, actual: unknown, depth = 0): string {
	// Values may be cyclic, and if only identities differ, there is no innermost value.
	if (depth > 40) return "…";
	if (typeof expected !== "object" || typeof actual !== "object" || expected === null || actual === null) return "";
	const show = (side: Side, value: unknown) => {
		// Kept objects that were printed before are printed as their label, but here we need their content.
		side.dumper.startStep();
		return side.dumper.dump(value);
	};
	const keys = Object.keys(expected);
	if (keys.join("\n") !== Object.keys(actual).join("\n")) return "";
	for (const key of keys) {
		const left = (expected as Record<string, unknown>)[key];
		const right = (actual as Record<string, unknown>)[key];
		if (show(reference, left) !== show(ours, right)) {
			return `${Array.isArray(expected) ? `[${key}]` : `.${key}`}${differingPath(reference, left, ours, right, depth + 1)}`;
		}
	}
	return "";
}
