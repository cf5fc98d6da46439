import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Vitest begins with large files. The longest tests stand in small ones: begun last, they would leave a processor idle.
 */
const LONGEST = [
	/\/stress\/differential\/|\/slow\/(?:memory|search|lazy\/costs)|\/(?:agent\/cli|docs|extension\/(?:find[\w-]*|resume)|packages|sync\/__test__\/.*\/(?:commands|redact|redaction|s3))\.spec/,
	/\/(?:slow|stress|end-to-end)\//,
	/./,
];

class LongestFirst extends BaseSequencer {
	override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
		const rank = ({ moduleId }: TestSpecification): number => LONGEST.findIndex((pattern) => pattern.test(moduleId));
		const sorted = await super.sort(files);
		return sorted.sort((a, b) => rank(a) - rank(b));
	}
}

export default defineConfig({
	test: {
		include: ["__test__/**/*.spec.ts", "packages/*/__test__/**/*.spec.ts"],
		setupFiles: ["__test__/support/environment.ts"],
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
