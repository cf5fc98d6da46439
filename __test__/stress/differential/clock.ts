// One fake clock for both managers. Only the case advances it, so both write the same times.
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

/** Runs `body` with the fake clock. Afterwards the real one is restored, even after an error. */
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
