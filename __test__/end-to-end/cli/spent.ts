// Model calls that `stats` adds up.
import { assistant, entry, type Json, message, user } from "../../support/scratch.js";

/** What a call used. */
export const usage = (input: number, output: number, total: number): Json => ({
	input,
	output,
	cacheRead: 10,
	cacheWrite: 1,
	totalTokens: input + output + 11,
	cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total },
});

/** A call of one model at a time. */
export const call = (used: Json, timestamp: number): Json => ({
	...assistant("x"),
	provider: "acme",
	model: "large",
	usage: used,
	timestamp,
});

/** A session with calls on two branches, a warm-up and a compaction. */
export const spent: Json[] = [
	message("a", null, user("go")),
	message("b", "a", call(usage(100, 20, 0.5), Date.UTC(2025, 0, 1, 12))),
	message("c", "a", call(usage(100, 30, 0.25), Date.UTC(2025, 0, 2, 23, 30))),
	message("d", "b", { ...call(usage(1, 2, 0.01), Date.UTC(2025, 0, 2, 12)), provider: "other", model: "small" }),
	entry("usage", "e", "d", {
		kind: "warm",
		provider: "acme",
		model: "large",
		usage: usage(0, 0, 0.1),
		timestamp: "2025-01-03T00:00:00.000Z",
	}),
	entry("compaction", "f", "e", {
		summary: "s",
		firstKeptEntryId: "f",
		tokensBefore: 1,
		usage: usage(5, 5, 0.04),
		timestamp: "2025-01-03T00:00:00.000Z",
	}),
	message("g", "f", user("x".repeat(3000))),
];
