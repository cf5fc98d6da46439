// What a run of vitest found, from its JSON report: counted, and what failed by name, for the end of a long log.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
/** The spec runner, to be started by whichever runtime is meant. */
export const VITEST = join(root, "node_modules/vitest/vitest.mjs");
/** Of a message: what it says comes first, differences and stacks later. */
const LINES_SAID = 4;

const said = (message) => message?.trim().split("\n").slice(0, LINES_SAID).join("\n      ") ?? "";

/**
 * Runs `start(reporters)`, which hands the options to a run of vitest and gives its exit code, and reads the report. Gives
 * `{ code, passed, failed, names }`: `names` has the file, the test and the start of the message of each that failed. A
 * file that fails without one of its tests counts as one, because it does not load, say; so does a run that fails outside of its files.
 */
export async function reported(start) {
	const scratch = mkdtempSync(join(tmpdir(), "pi-session-native-report-"));
	try {
		const file = join(scratch, "report.json");
		const code = await start(["--reporter=default", "--reporter=json", `--outputFile.json=${file}`]);
		const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(file, "utf8"));
		const names = testResults.flatMap(({ name, status, message, assertionResults }) => {
			const path = relative(root, name);
			const failures = assertionResults.filter((test) => test.status === "failed");
			// What stands before or after the tests, or the file itself.
			if (status === "failed" && failures.length === 0) return [`${path}, not one of its tests: ${said(message)}`];
			return failures.map((test) => `${path} > ${test.fullName}\n      ${said(test.failureMessages[0])}`);
		});
		const failed = Math.max(names.length, numFailedTests);
		// An unhandled rejection, say.
		if (code !== 0 && failed === 0) return { code, passed: numPassedTests, failed: 1, names: [`outside of the tests: exit code ${code}`] };
		return { code, passed: numPassedTests, failed, names };
	} catch (error) {
		return { code: 1, passed: 0, failed: 1, names: [`no report of the tests: ${error.message}`] };
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
}
