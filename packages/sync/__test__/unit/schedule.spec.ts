// What the process beside pi does again and again, and when.
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";

interface Schedule {
	add(work: () => Promise<number | undefined>, onError?: (error: unknown) => void): Promise<void>;
	stop(): void;
}
const { Schedule } = (await import("../../lib/beside/schedule.mjs" as string)) as { Schedule: new () => Schedule };

beforeEach(() => {
	vi.useFakeTimers();
	// Pauses as long as they get.
	vi.spyOn(Math, "random").mockReturnValue(1);
	onTestFinished(() => {
		vi.useRealTimers();
		vi.restoreAllMocks();
	});
});

/** The time from one call to the next, for so many pauses. */
async function pausesOf(work: ReturnType<typeof vi.fn>, count: number): Promise<number[]> {
	const pauses = [];
	for (let n = 0; n < count; n++) {
		const [calls, begun] = [work.mock.calls.length, Date.now()];
		while (work.mock.calls.length === calls) await vi.advanceTimersToNextTimerAsync();
		pauses.push(Date.now() - begun);
	}
	return pauses;
}

const failing = () => vi.fn(async (): Promise<number | undefined> => Promise.reject(new Error("away")));

test("failures are repeated after pauses that double up to a minute", async () => {
	const work = failing();
	await expect(new Schedule().add(work)).rejects.toThrow("away");
	expect(await pausesOf(work, 9)).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
	work.mockResolvedValueOnce(250);
	expect(await pausesOf(work, 4)).toEqual([60_000, 250, 500, 1000]);
});

test("half of a pause is random", async () => {
	vi.mocked(Math.random).mockReturnValue(0);
	const work = failing();
	await expect(new Schedule().add(work)).rejects.toThrow("away");
	expect(await pausesOf(work, 2)).toEqual([250, 500]);
});

test("adding work waits for its first run and rejects with its error", async () => {
	const work = vi.fn(async (): Promise<number | undefined> => 10);
	const later: unknown[] = [];
	await new Schedule().add(work, (error) => later.push(error));
	expect(work).toHaveBeenCalledTimes(1);
	const error = new Error("away");
	work.mockRejectedValueOnce(error);
	await pausesOf(work, 2);
	expect(later).toEqual([error]);
	const first: unknown[] = [];
	await expect(new Schedule().add(failing(), (error) => first.push(error))).rejects.toThrow("away");
	expect(first).toEqual([]);
});

test("what gives no time is not done again, nor is anything once the schedule is stopped", async () => {
	const schedule = new Schedule();
	const [once, often] = [
		vi.fn(async (): Promise<number | undefined> => undefined),
		vi.fn(async (): Promise<number | undefined> => 10),
	];
	await schedule.add(once);
	await schedule.add(often);
	await vi.advanceTimersByTimeAsync(35);
	expect([once, often].map(({ mock }) => mock.calls.length)).toEqual([1, 4]);
	schedule.stop();
	await vi.advanceTimersByTimeAsync(100_000);
	await schedule.add(once);
	expect([once, often].map(({ mock }) => mock.calls.length)).toEqual([1, 4]);
});
