// The limits of `npm run bench -- --check`: for each case the smallest ratio, and the largest memory.
//
// A figure was measured when the case was last made faster, or was decided. Lower a figure only in the commit that
// makes the case slower, and give the reason there.

/** By case: `ratio` is pi's time divided by ours, `memory` is our kept memory divided by pi's. */
export const FIGURES = {
	"append-image": { ratio: 6 },
	"append-japanese": { ratio: 1.9 },
	"append-memory": { ratio: 1.25 },
	"append-message": { ratio: 1.5 },
	"append-tool-result": { ratio: 2.2 },
	"context-128mb": { ratio: 19 },
	"footer-128mb": { ratio: 6 },
	"looks-128mb": { ratio: 1.7, memory: 1.15 },
	"start-answer": { ratio: 1 },
	"start-answer-10mb": { ratio: 1.1 },
	"start-answer-128mb": { ratio: 2.5 },
	"terminal-128mb": { ratio: 5.5 },
};

/**
 * The cases of which no round reached the figure, so that they are below it by more than their spread. Measured cases
 * without a figure are ignored.
 */
export function fallen(rows) {
	return rows.flatMap((row) => {
		const figure = FIGURES[row.case];
		if (!figure) return [];
		const { high, ratio, piGrowth, oursGrowth } = row;
		const found = [];
		if (!(high >= figure.ratio))
			found.push(`${row.case}: ${shown(ratio)} times as fast as pi, at best ${shown(high)}, less than ${figure.ratio}`);
		const memory = oursGrowth / piGrowth;
		if (figure.memory && !(memory <= figure.memory))
			found.push(`${row.case}: ${shown(memory)} of the memory of pi, more than ${figure.memory}`);
		return found;
	});
}

const shown = (number) => (number === undefined || Number.isNaN(number) ? "not measured" : number.toFixed(2));
