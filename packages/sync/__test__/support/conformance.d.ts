import type { LineStore } from "../../lib/index.js";

/** An empty store. `open` may be called any number of times, each time for the named host. */
export interface StoreUnderTest {
	open(host: string): Promise<LineStore>;
	/**
	 * Leaves the files of a process of the host that was killed while it appended to the session: the beginning of its
	 * write. Omit it for stores in which an append is there completely or not at all.
	 */
	tear?(session: string, host: string): Promise<void>;
}

export interface ConformanceCase {
	name: string;
	/** Rejects with an `AssertionError` that describes the store's fault. */
	run(store: StoreUnderTest): Promise<void>;
}

/** The rules for every store. Each case needs an empty store. */
export const conformanceCases: readonly ConformanceCase[];
