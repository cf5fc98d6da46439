// The limits of `npm run bench -- --check` and `npm run bench:extension -- --check`.
//
// A figure is what a case reaches on a quiet machine, so a failed check shows a case that has become slower. Lower a
// figure only in the commit that makes the case slower, and give the reason there.

/**
 * By case. `ratio` and `median` are pi's time divided by ours: the best round must reach `ratio`, the median of the
 * rounds must reach `median`. `memory` is the most that we may keep, divided by pi's, and `more` the milliseconds that
 * we may take longer. `wanted` is a ratio that is not reached; docs/benchmarks.md, "Where it falls short", has the
 * reasons.
 */
export const FIGURES = {
	"append-image": { ratio: 6 },
	"append-japanese": { ratio: 1.9 },
	"append-memory": { ratio: 1.25 },
	"append-message": { ratio: 1.5 },
	"append-tool-result": { ratio: 1.8, wanted: 2.2 },
	"context-128mb": { ratio: 18 },
	"footer-128mb": { ratio: 4.5, wanted: 6 },
	"looks-128mb": { ratio: 1.4, memory: 1.17, wanted: 1.7 },
	"start-answer": { median: 0.9, wanted: 1 },
	"start-answer-10mb": { median: 1, wanted: 1.1 },
	"start-answer-128mb": { median: 2.3, wanted: 2.5 },
	"start-first": { more: 100 },
	"terminal-128mb": { ratio: 4.5, wanted: 5.5 },
};

/** On other releases of Node than pi's own, no case may come near to pi's time. Starts of pi use pi's own Node. */
export const OTHER_RUNTIMES = Object.fromEntries(
	Object.keys(FIGURES)
		.filter((name) => !name.startsWith("start-"))
		.map((name) => [name, { ratio: 1.1 }]),
);

/** The same for the extension. `memory` compares the largest memory of both. */
export const EXTENSION_FIGURES = {
	list: { ratio: 30 },
	letter: { ratio: 1 },
	switch: { median: 3, memory: 0.45, wanted: 3.5 },
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

/** Prints what `fallen` finds, and which wanted figures are not reached. Sets the exit status for the former. */
export function check(rows, figures = FIGURES) {
	const lines = fallen(rows, figures);
	console.log(
		lines.length > 0 ? `\nBelow the figures of bench/check.mjs:\n${lines.join("\n")}` : "\nNone is below its figure.",
	);
	if (lines.length > 0) process.exitCode = 1;
	const missed = rows.filter(({ case: name, ratio }) => ratio < (figures[name]?.wanted ?? 0));
	if (missed.length === 0) return;
	const texts = missed.map(({ case: name, ratio }) => `${name}: ${shown(ratio)}, wanted ${figures[name].wanted}`);
	console.log(
		`\nWanted, and not reached by the median (docs/benchmarks.md, "Where it falls short"):\n${texts.join("\n")}`,
	);
}

const shown = (number) => (number === undefined || Number.isNaN(number) ? "not measured" : number.toFixed(2));
