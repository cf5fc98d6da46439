// Sessions for `/find`, and its screen.
import { assistant, toolResult, user } from "../../support/scratch.js";
import { put, said, type World } from "./pi.js";

/** Sessions of this project and of another. One is hostile to a terminal, one is a fork. */
export function fill(at: World): { here: string; fork: string; there: string } {
	const shared = [
		said("a", null, user("How do we bake the quince pie?"), 50),
		said("b", "a", assistant("Bake the quince pie at 180 degrees."), 50),
	];
	const here = put(at, "0194-here", [
		...shared,
		said("c", "b", user("And the crust?"), 49),
		said("d", "c", assistant("Butter and flour."), 49),
	]);
	const fork = put(at, "0194-fork", [...shared, said("e", "b", user("Another question"), 3)]);
	const there = put(
		at,
		"0194-there",
		[
			said("a", null, user("\u001b[2J\u001b]0;evil\u0007quince \u202e elsewhere"), 70 * 24),
			said("t", "a", toolResult("quince output"), 70 * 24),
		],
		{ cwd: at.root },
	);
	return { here, fork, there };
}

/** The overlay is closed. */
export const closed = /^(?![\s\S]*Find {2}(?:this|all))/;
export const find = "Find  this project · messages · any time";
