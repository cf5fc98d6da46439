import { defineConfig } from "vitest/config";

export default defineConfig({
	test: {
		include: ["__test__/**/*.spec.ts"],
		// One process per file: the addon's state, the environment and the clock of one file never reach another.
		pool: "forks",
		maxWorkers: 2,
		// Only against tests that hang.
		testTimeout: 600_000,
		hookTimeout: 600_000,
	},
});
