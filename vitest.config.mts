import { BaseSequencer, type TestSpecification } from "vitest/node";
import { defineConfig } from "vitest/config";

/** Vitest begins with large files. The longest tests stand in small ones: begun last, they would leave a processor idle. */
class LongestFirst extends BaseSequencer {
	override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
		const isLong = ({ moduleId }: TestSpecification): boolean => /\/stress\/differential\/|\/store\/in-pi\.|\/docs\/docs\.|\/slow\/(?:memory|search)\//.test(moduleId);
		const sorted = await super.sort(files);
		return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
	}
}

export default defineConfig({
	test: {
		include: ["__test__/**/*.spec.ts"],
		setupFiles: ["__test__/support/own-home.ts"],
		// One process per file: the addon's state, the environment and the clock of one file never reach another.
		pool: "forks",
		// One more than two processors can run: tests of processes and stores often wait.
		maxWorkers: 3,
		sequence: { sequencer: LongestFirst },
		// Only against tests that hang.
		testTimeout: 600_000,
		hookTimeout: 600_000,
	},
});
