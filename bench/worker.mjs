// One measurement in a process of its own. Told what to do by its argument, answers with one line of JSON.
import { pathToFileURL } from "node:url";
import { OPERATIONS } from "./operations.mjs";

const { module, operation, path, scratch } = JSON.parse(process.argv[2]);
const { SessionManager } = await import(pathToFileURL(module).href);
const context = { SessionManager, path, scratch };
const { prepare, run, measure } = OPERATIONS[operation];

/** Twice: the second collection takes what the finalizers of the first let go. */
function settledRss() {
	gc();
	gc();
	return process.memoryUsage.rss();
}

const answer = {};
if (measure) {
	answer.times = await measure(context);
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
answer.peak = process.resourceUsage().maxRSS * 1024;
process.stdout.write(`\n${JSON.stringify(answer)}\n`);
