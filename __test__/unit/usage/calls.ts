// Model calls with their cost, and rows of reports.
import { assistant, type Json } from "../../support/scratch.js";

/** An answer of a model that cost so much. */
export const call = (cost: number, timestamp: number, more: Json = {}): any =>
	assistant("x", {
		...{ provider: "acme", model: "large", timestamp },
		usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, totalTokens: 10, cost: { total: cost } },
		...more,
	});

/** The time of an hour of the first days of 2025. */
export const at = (hour: number): number => Date.UTC(2025, 0, 1, hour);

/** The rows of a report: key, cost and calls, and of sessions the number of subagents. */
export const rows = (report: any, by: string) =>
	report.by[by].map(({ key, cost, calls, subagents }: any) => ({
		key,
		cost,
		calls,
		...(by === "session" ? { subagents } : {}),
	}));
