// Runs one measurement in its own process. The argument describes it; the answer is one line of JSON.
import { pathToFileURL } from "node:url";
import { OPERATIONS } from "./operations.mjs";

const { module, operation, path, scratch, home, ours } = JSON.parse(process.argv[2]);
const { prepare, run, measure, starts, imports } = OPERATIONS[operation];
const url = pathToFileURL(module).href;
// Some operations measure the import, or start a process themselves.
const { SessionManager } = starts || imports ? {} : await import(url);
const context = { SessionManager, url, path, scratch, home, ours };

/** Two collections: the second collects objects that finalizers of the first have released. */
function settledRss() {
	gc();
	gc();
	return process.memoryUsage.rss();
}

const answer = {};
if (measure) {
	const measured = await measure(context);
	if (starts) Object.assign(answer, measured);
	else answer.times = measured;
} else {
	const prepared = prepare?.(context);
	const before = settledRss();
	const start = process.hrtime.bigint();
	const held = await run(context, prepared);
	answer.times = { "": Number(process.hrtime.bigint() - start) / 1e6 };
	answer.growth = settledRss() - before;
	// It stays alive until here, because its memory is part of the growth.
	answer.held = held !== undefined;
}
if (!starts) answer.peak = process.resourceUsage().maxRSS * 1024;
process.stdout.write(`\n${JSON.stringify(answer)}\n`);
