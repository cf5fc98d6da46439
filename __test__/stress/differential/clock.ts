// One fake clock for both managers. It moves only when a case says so, so what the two write carries equal times.
const RealDate = Date;
let now = 0;

class FakeDate extends RealDate {
	constructor(...args: unknown[]) {
		if (args.length === 0) super(now);
		else super(...(args as [number]));
	}

	static override now(): number {
		return now;
	}
}

/** Runs `body` under the fake clock. The real one is back afterwards, whatever happened. */
export async function withFakeClock<T>(body: () => Promise<T>): Promise<T> {
	globalThis.Date = FakeDate as DateConstructor;
	try {
		return await body();
	} finally {
		globalThis.Date = RealDate;
	}
}

export function setClock(ms: number): void {
	now = ms;
}
