// The limits of `npm run bench -- --check` and `npm run bench:extension -- --check`.
//
// A figure was measured when the case was last made faster, or was decided. Lower a figure only in the commit that
// makes the case slower, and give the reason there. docs/benchmarks.md names the figures that are not reached.

/**
 * By case. `ratio` and `median` are pi's time divided by ours: the best round must reach `ratio`, the median of the
 * rounds must reach `median`. `memory` is the most that we may keep, divided by pi's, and `more` the milliseconds that we
 * may take longer.
 */
export const FIGURES = {
	"append-image": { ratio: 6 },
	"append-japanese": { ratio: 1.9 },
	"append-memory": { ratio: 1.25 },
	"append-message": { ratio: 1.5 },
	"append-tool-result": { ratio: 2.2 },
	"context-128mb": { ratio: 19 },
	"footer-128mb": { ratio: 6 },
	"looks-128mb": { ratio: 1.7, memory: 1.15 },
	"start-answer": { median: 1 },
	"start-answer-10mb": { median: 1.1 },
	"start-answer-128mb": { median: 2.5 },
	"start-first": { more: 100 },
	"terminal-128mb": { ratio: 5.5 },
};

/** The same for the extension. `memory` compares the largest memory of both. */
export const EXTENSION_FIGURES = {
	list: { ratio: 30 },
	letter: { ratio: 1 },
	switch: { median: 3.5, memory: 0.45 },
};

/** What is worse than its figure, a line each. Measured cases without a figure are ignored. */
export function fallen(rows, figures = FIGURES) {
	return rows.flatMap((row) => {
		const figure = figures[row.case];
		if (!figure) return [];
		const { high, ratio, pi, ours, piGrowth, oursGrowth } = row;
		const found = [];
		if (figure.ratio && !(high >= figure.ratio))
			found.push(`${row.case}: ${shown(ratio)} times as fast as pi, at best ${shown(high)}, less than ${figure.ratio}`);
		if (figure.median && !(ratio >= figure.median))
			found.push(`${row.case}: ${shown(ratio)} times as fast as pi, less than ${figure.median}`);
		const memory = oursGrowth / piGrowth;
		if (figure.memory && !(memory <= figure.memory))
			found.push(`${row.case}: ${shown(memory)} of the memory of pi, more than ${figure.memory}`);
		if (figure.more && !(ours - pi <= figure.more))
			found.push(`${row.case}: ${shown(ours - pi)} ms more than pi, more than ${figure.more} ms`);
		return found;
	});
}

/** Prints what `fallen` finds, and sets the exit status. */
export function check(rows, figures = FIGURES) {
	const lines = fallen(rows, figures);
	console.log(
		lines.length > 0 ? `\nBelow the figures of bench/check.mjs:\n${lines.join("\n")}` : "\nNone is below its figure.",
	);
	if (lines.length > 0) process.exitCode = 1;
}

const shown = (number) => (number === undefined || Number.isNaN(number) ? "not measured" : number.toFixed(2));
