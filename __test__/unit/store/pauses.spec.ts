// How soon others' lines are asked for again.
import { expect, test } from "vitest";

type State = { hasFailed: boolean; goesOn: boolean; isIdle: boolean };
const { doubled, pullPause } = (await import("../../../lib/register/store-shared.mjs" as string)) as { doubled: (pause: number, least: number, most: number) => number; pullPause: (before: number, state: State) => number };
const state = (more: Partial<State> = {}): State => ({ hasFailed: false, goesOn: false, isIdle: false, ...more });

// Regression: after a pull that had more to do the pause was zero, and twice that again: a store that failed then was asked without an end.
test.each([0, 5000])("after each pull that fails the next one waits longer, a minute at most, also after a pause of %s", (first) => {
	const pauses = [first];
	for (let n = 0; n < 5; n++) pauses.push(pullPause(pauses.at(-1) as number, state({ hasFailed: true })));
	expect(pauses.slice(1)).toEqual([10_000, 20_000, 40_000, 60_000, 60_000]);
});

test("a pull that succeeds is followed by the next one soon, at once if there is more, and after a minute where nobody says anything", () => {
	expect([state(), state({ goesOn: true }), state({ isIdle: true }), state({ goesOn: true, isIdle: true })].map((one) => pullPause(60_000, one))).toEqual([5000, 0, 60_000, 0]);
});

test("a process that ends by itself is started again later each time", () => {
	expect([1000, 2000, 40_000, 60_000].map((pause) => doubled(pause, 1000, 60_000))).toEqual([2000, 4000, 60_000, 60_000]);
});
