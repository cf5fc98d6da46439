import type { LineStore } from "../../lib/index.js";

/** One empty store, opened as often as asked, each time for the host that is named. */
export interface StoreUnderTest {
	open(host: string): Promise<LineStore>;
	/**
	 * Leaves what a process of the host leaves that is killed while it appends to the session: the beginning of what it
	 * writes. Not for stores in which an append is there as a whole or not at all.
	 */
	tear?(session: string, host: string): Promise<void>;
}

export interface ConformanceCase {
	name: string;
	/** Rejects with an `AssertionError` that says what the store did. */
	run(store: StoreUnderTest): Promise<void>;
}

/** What every store must do. Each case wants an empty store. */
export const conformanceCases: readonly ConformanceCase[];
