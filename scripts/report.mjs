// Reports a run of tests: the numbers of tests that passed, failed and were not run, and for each failure its name, its
// message and the command that repeats it.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
/** The spec runner, which any runtime can start. */
export const VITEST = join(root, "node_modules/vitest/vitest.mjs");
/** Relative to the folder of the tests, because vitest on Windows does not accept a path of this system. */
const HANGING = "./scripts/hanging.mjs";
/** The number of lines shown of a message, whose later lines are differences and stacks. */
const MESSAGE_LINES = 4;
/** The environment variables that select random cases. */
const DECIDES = /^(?:PSN_(?:COUNTS|SEED|MODULE|RULES|FUZZ_\w+|[A-Z_]+S)|PROPTEST_RNG_SEED)$/;
/** The message of a test without its tool: the line that installs the tool. */
const LACKS = /\S+ is (?:missing|needed): \S+ install .*/;

const isForeignFrame = (line) => /^\s+at .*(?:node_modules|<anonymous>)/.test(line);
const start = (message = "") =>
	message
		.trim()
		.split("\n")
		.filter((line) => !isForeignFrame(line))
		.slice(0, MESSAGE_LINES)
		.join("\n      ");
/** The path of a spec file relative to its clone, on any system. */
const pathOf = (file) =>
	relative(root, file.replaceAll("\\", "/")).replace(/^(?:.*?\/)??(?=(?:packages\/\w+\/)?__test__\/)/, "");
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const literally = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** The variables that a command needs to do the same, to be written in front of it. */
const variables = (env) =>
	Object.entries(env)
		.filter(([name, value]) => DECIDES.test(name) && !(name === "PSN_COUNTS" && value === "taste"))
		.map(([name, value]) => `${name}=${value} `)
		.join("");

/** A failure as the end of a run shows it. If the message says how to repeat the failure, we print only that. */
const failure = (name, message, repeat) => {
	const own = /^\s*Run it again: (.*)$/m.exec(message ?? "")?.[1];
	const seed = /\bseed:? (\d+)/i.exec(message ?? "")?.[1];
	return [name, start(message), ...(seed ? [`seed: ${seed}`] : []), `again: ${own ?? repeat}`]
		.filter(Boolean)
		.join("\n      ");
};

/**
 * Calls `run(reporters)`, which runs vitest with these options and returns its exit code, and reads the report. Returns
 * `{ code, passed, failed, notRun, names, passes, missing }`: `names` are the texts of the failures, each beginning
 * with its name; `passes` are the names of passed tests, `missing` the tools of tests that were not run. These also
 * count as one failure: a file that fails without a failed test, because it does not load for example; a run that fails
 * outside of its files; and a test that is skipped although its tool exists, unless the run `isFiltered` by name.
 */
export async function reported(
	run,
	{ env = process.env, again = (file) => `npx vitest run ${file}`, isFiltered = false } = {},
) {
	const scratch = mkdtempSync(join(tmpdir(), "pi-session-native-report-"));
	try {
		const file = join(scratch, "report.json");
		const code = await run([
			"--reporter=default",
			"--reporter=json",
			`--reporter=${HANGING}`,
			`--outputFile.json=${file}`,
		]);
		const { numPassedTests, testResults } = JSON.parse(readFileSync(file, "utf8"));
		const names = [];
		const passes = [];
		const missing = [];
		let lacksFile = false;
		for (const { name, status, message, assertionResults } of testResults) {
			const path = pathOf(name);
			const repeat = `${variables(env)}${again(path)}`;
			const failed = assertionResults.filter((test) => test.status === "failed");
			const lack = status === "failed" && failed.length === 0 && !env.PSN_STRICT ? LACKS.exec(message)?.[0] : undefined;
			if (lack) {
				lacksFile = true;
				missing.push(...assertionResults.map(() => lack));
				continue;
			}
			passes.push(
				...assertionResults.filter((test) => test.status === "passed").map((test) => `${path} > ${test.fullName}`),
			);
			for (const test of failed)
				names.push(
					failure(
						`${path} > ${test.fullName}`,
						test.failureMessages[0],
						`${repeat} -t ${quoted(literally(test.fullName))}`,
					),
				);
			const unfinished = assertionResults.filter((test) => test.status === "pending");
			if (unfinished.length > 0)
				names.push(
					failure(
						`${path}, its process ended before its tests did:`,
						`not run to the end: ${unfinished.map((test) => test.fullName).join(", ")}`,
						repeat,
					),
				);
			for (const test of assertionResults.filter(({ status }) => ["skipped", "todo", "disabled"].includes(status))) {
				if (test.meta?.missing) missing.push(test.meta.missing);
				// If the file failed, its tests did not run for that reason.
				else if (status !== "failed" && !isFiltered)
					names.push(failure(`${path} > ${test.fullName}`, "skipped", repeat));
			}
			// Code before or after the tests failed, or the file itself.
			if (status === "failed" && failed.length === 0)
				names.push(failure(`${path}, not one of its tests:`, message, repeat));
		}
		const result = {
			code: lacksFile && names.length === 0 ? 0 : code,
			passed: numPassedTests,
			failed: names.length,
			notRun: missing.length,
			names,
			passes,
			missing,
		};
		// For example an unhandled rejection.
		if (code !== 0 && names.length === 0 && !lacksFile)
			return { ...result, failed: 1, names: [`outside of the tests: exit code ${code}`] };
		return result;
	} catch (error) {
		return {
			code: 1,
			passed: 0,
			failed: 1,
			notRun: 0,
			names: [`no report of the tests: ${error.message}`],
			passes: [],
			missing: [],
		};
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
}

/** The same for the output of `cargo test`. */
export function reportedByCargo(code, output, env = process.env) {
	const results = [...output.matchAll(/^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored/gm)];
	const sum = (group) => results.reduce((whole, result) => whole + Number(result[group]), 0);
	const names = [...output.matchAll(/^test (\S+) .*\.\.\. FAILED$/gm)].map(([, name]) => {
		const printed = output.split(`---- ${name} stdout ----\n`)[1]?.split(/\n(?:---- |failures:|test result: )/)[0];
		const panic = printed?.slice(Math.max(0, printed.search(/^thread .* panicked at/m)));
		return failure(
			`cargo test ${name}`,
			panic,
			`${variables(env)}cargo test -p pi-session-core --lib -- --exact ${name}`,
		);
	});
	// Cargo prints each test at its end; with one thread also before it begins.
	const signal = /process didn't exit successfully: .*\(signal: (.*?)\)/.exec(output)?.[1];
	const long = [...output.matchAll(/^test (\S+) has been running for over/gm)].map(([, name]) => name);
	const hanging = results.length > 0 ? [] : long.filter((name) => !output.includes(`\ntest ${name} ... `));
	const repeat = `${variables(env)}cargo test -p pi-session-core --lib -- --test-threads=1`;
	if (signal)
		names.push(
			failure(
				"cargo test: the process ended in the middle",
				`signal: ${signal}; the last test that the next command names is the cause`,
				repeat,
			),
		);
	else
		for (const name of hanging)
			names.push(
				failure(
					`cargo test ${name}`,
					"did not end",
					`${variables(env)}cargo test -p pi-session-core --lib -- --exact ${name}`,
				),
			);
	const ignored = sum(3);
	if (ignored > 0) names.push(`cargo test: ${ignored} tests are ignored`);
	const passes = [...output.matchAll(/^test (\S+) .*\.\.\. ok$/gm)].map(([, name]) => `cargo test ${name}`);
	// Only a completed run has a sum.
	const passed = results.length > 0 ? sum(1) : passes.length;
	return { code, passed, failed: Math.max(names.length, sum(2)), notRun: 0, names, passes, missing: [] };
}

/**
 * Sums up results. Tests that are known to fail are not counted. A known test that passed is a failure, unless it is
 * `occasional`; in a whole run, a known test that was not run is a failure, too.
 */
export function compared(results, known, isWhole = true, occasional = []) {
	const [names, passes] = ["names", "passes"].map((key) => results.flatMap((result) => result[key]));
	const failing = new Set(names.map((failure) => failure.split("\n")[0]));
	const isKnown = (failure) => known.includes(failure.split("\n")[0]);
	const wrong = known
		.filter((name) => (passes.includes(name) ? !occasional.includes(name) : isWhole && !failing.has(name)))
		.map(
			(name) =>
				`${name}\n      ${passes.includes(name) ? "passes" : "was not run"}, and is in the list of those that ` +
				"are known to fail: take it out",
		);
	const others = names.filter((failure) => !isKnown(failure));
	for (const { code } of results.filter((result) => result.code && result.failed === 0))
		others.push(`a step without a failed test: exit code ${code}`);
	const sum = (key) => results.reduce((whole, result) => whole + result[key], 0);
	// Failures without a name count as well.
	const unnamed = sum("failed") - names.length;
	return {
		passed: sum("passed"),
		failed: others.length + wrong.length + unnamed,
		known: names.filter(isKnown).length,
		notRun: sum("notRun"),
		names: [...others, ...wrong],
	};
}
