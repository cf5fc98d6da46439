// A reporter of vitest that ends a hanging run and names the running files. A test's own time limit cannot end a
// process that never returns to its event loop.
import { ChildProcess } from "node:child_process";
import { writeFileSync } from "node:fs";

const LIMIT_MINUTES = 20;

export default class {
	#running = new Map();
	#last = Date.now();

	onInit() {
		setInterval(() => Date.now() - this.#last > LIMIT_MINUTES * 60_000 && this.#end(), 10_000).unref();
	}

	onTestModuleStart({ moduleId }) {
		this.#note(moduleId, "before its tests");
	}

	onTestCaseReady(test) {
		this.#note(test.module.moduleId, `in its test "${test.fullName}"`);
	}

	onTestCaseResult(test) {
		this.#note(test.module.moduleId, `after its test "${test.fullName}"`);
	}

	onTestModuleEnd({ moduleId }) {
		this.#last = Date.now();
		this.#running.delete(moduleId);
	}

	#note(file, place) {
		this.#last = Date.now();
		this.#running.set(file, place);
	}

	#end() {
		const testResults = [...this.#running].map(([name, place]) => {
			return {
				name,
				status: "failed",
				message: `Nothing happened for ${LIMIT_MINUTES} minutes ${place}`,
				assertionResults: [],
			};
		});
		const file = process.argv.find((arg) => arg.startsWith("--outputFile.json="))?.replace(/^[^=]*=/, "");
		if (file) writeFileSync(file, JSON.stringify({ numPassedTests: 0, testResults }));
		for (const { name, message } of testResults) console.error(`${name}: ${message}`);
		// A process in an endless loop does not notice the end of this process.
		for (const child of process._getActiveHandles?.() ?? []) if (child instanceof ChildProcess) child.kill("SIGKILL");
		process.exit(1);
	}
}
