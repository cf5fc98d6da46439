import type { LineStore } from "./index.js";

/** One empty store, opened as often as asked, each time for the host that is named. */
export interface StoreUnderTest {
	open(host: string): Promise<LineStore>;
}

export interface ConformanceCase {
	name: string;
	/** Rejects with an `AssertionError` that says what the store did. */
	run(store: StoreUnderTest): Promise<void>;
}

/** What every store must do. Each case wants an empty store. */
export const conformanceCases: readonly ConformanceCase[];
