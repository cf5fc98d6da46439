// Runs many cases of one kind. At the first difference it shortens the case, and says how to repeat it.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { count } from "../../support/counts.mjs";
import { differsOnPurpose, loadReference, loadSubject } from "../../support/reference.js";
import { withFakeClock } from "./clock.js";
import { caseSeed } from "./random.js";
import { type CaseResult, type Modules, runCase, type Scenario } from "./run-case.js";
import { SCENARIOS } from "./scenarios.js";
import { keepingProcess } from "./side.js";
import { describe, type Step } from "./steps.js";

/** How often a failing case may be repeated to shorten it. */
const SHRINK_BUDGET = 400;

export interface Plan {
	/** Base seeds, each with the number of its cases. */
	batches: { seed: number; cases: number }[];
	/** Runs only this case. */
	only?: number;
}

/**
 * The plan of this run. `share` is the share of cases for this kind. Without a seed the plan is always the same, so
 * that a failure comes from the change under test. `npm run differential` tries new seeds.
 */
export function plan(kind: string, share: number): Plan | undefined {
	const { PSN_SEED, PSN_CASE } = process.env;
	if (PSN_CASE) {
		const [wanted, seed] = PSN_CASE.split(":");
		return wanted === kind ? { batches: [], only: Number(seed) } : undefined;
	}
	const cases = Math.max(1, Math.round(count("differential_cases") * share));
	return { batches: [{ seed: Number(PSN_SEED ?? 1), cases }] };
}

/** Runs the plan. Returns the text to print. At a difference it throws with the shortened case. */
export async function runPlan(kind: string, { batches, only }: Plan): Promise<string> {
	const scenario = SCENARIOS[kind] as Scenario;
	const modules: Modules = { reference: await loadReference(), subject: await loadSubject(), better: differsOnPurpose };
	return keepingProcess(() =>
		withFakeClock(async () => {
			const seeds =
				only !== undefined
					? [only]
					: batches.flatMap(({ seed, cases }) => Array.from({ length: cases }, (_, i) => caseSeed(seed, i)));
			let steps = 0;
			for (const seed of seeds) {
				markBegun(kind, seed);
				const result = await runCase(scenario, seed, modules);
				steps += result.steps.length;
				if (result.failure) throw new Error(await report(kind, scenario, seed, modules, result));
			}
			const source =
				only !== undefined
					? `case ${only}`
					: batches.map(({ seed, cases }) => `${cases} under seed ${seed}`).join(", ");
			markBegun(kind, -1);
			return `${kind}: ${seeds.length} cases agree (${steps} steps; ${source})`;
		}),
	);
}

/** If the process crashes, there is no report. Then `npm run differential` names the case that began last. */
function markBegun(kind: string, seed: number): void {
	const folder = process.env.PSN_PROGRESS;
	if (folder) writeFileSync(join(folder, kind), String(seed));
}

async function report(
	kind: string,
	scenario: Scenario,
	seed: number,
	modules: Modules,
	found: CaseResult,
): Promise<string> {
	const short = await shrink(scenario, seed, modules, found);
	return [
		`${kind} case ${seed}: the two managers differ.`,
		`Run it again: npm run differential -- --case ${kind}:${seed}`,
		`Shortened to ${short.steps.length} of ${found.steps.length} steps:`,
		...short.steps.map((step) => `  ${describe(step)}`),
		short.failure?.name === "Error" ? short.failure.message : (short.failure?.stack ?? ""),
	].join("\n");
}

/** Omits steps, then parts of steps, as long as the case still fails. */
async function shrink(scenario: Scenario, seed: number, modules: Modules, found: CaseResult): Promise<CaseResult> {
	let best = found;
	let budget = SHRINK_BUDGET;
	const attempt = async (steps: readonly Step[]): Promise<boolean> => {
		if (budget-- <= 0) return false;
		const result = await runCase(scenario, seed, modules, steps);
		// An error of the shortening itself is not a difference between the two.
		if (!result.failure || result.failure.constructor !== found.failure?.constructor) return false;
		best = result;
		return true;
	};
	for (let size = Math.ceil(best.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
		for (let end = best.steps.length; end > 0; end -= size) {
			const start = Math.max(0, end - size);
			await attempt([...best.steps.slice(0, start), ...best.steps.slice(end)]);
			if (end > best.steps.length) end = best.steps.length + size;
		}
	}
	for (let i = 0; i < best.steps.length; i++) {
		for (let part = (best.steps[i]?.parts?.count ?? 0) - 1; part >= 0; part--) {
			const parts = best.steps[i]?.parts;
			if (parts && part < parts.count)
				await attempt(best.steps.map((step, j) => (j === i ? parts.without(new Set([part])) : step)));
		}
	}
	return best;
}
