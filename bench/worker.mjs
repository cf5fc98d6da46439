// One measurement in a process of its own. Told what to do by its argument, answers with one line of JSON.
import { pathToFileURL } from "node:url";
import { OPERATIONS } from "./operations.mjs";

const { module, operation, path, scratch, home, ours } = JSON.parse(process.argv[2]);
const { prepare, run, measure, starts, imports } = OPERATIONS[operation];
const url = pathToFileURL(module).href;
// Some operations are about the import, or about a process of their own.
const { SessionManager } = starts || imports ? {} : await import(url);
const context = { SessionManager, url, path, scratch, home, ours };

/** Twice: the second collection takes what the finalizers of the first let go. */
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
	// Alive until here: what it holds is part of the growth.
	answer.held = held !== undefined;
}
if (!starts) answer.peak = process.resourceUsage().maxRSS * 1024;
process.stdout.write(`\n${JSON.stringify(answer)}\n`);
