/** Results of `npm run bench -- --readme`, as `docs/benchmarks.json` has them. */
export interface Results {
	node: string;
	machine: string;
	date: string;
	commit: string;
	rows: Record<string, unknown>[];
}
export const FILES: { results: string; chart: string; readme: string };
export const ROWS: { case: string; name: string }[];
export const ROUNDS: Map<string, number>;
export function readmeWith(readme: string, results: Results): string;
export function chartWith(results: Results): string;
