// The table of cases. A case has a name, an operation, its data (data.mjs) and a number of rounds. `memory` also
// reports peak and growth. `onDemand` cases are large and run only when named.

/** The default number of rounds. */
const USUAL = 5;
/** For long cases with little variation. */
const FEW = 3;
/** For starts of a process, which vary most. */
const STARTS = 11;

export const CASES = [
	// Starts of pi, for which users wait.
	{ name: "start-answer", operation: "start to first answer", rounds: STARTS, memory: true },
	{ name: "start-answer-10mb", operation: "start to first answer", data: "10 MiB", rounds: STARTS, memory: true },
	{ name: "start-answer-128mb", operation: "start to first answer", data: "128 MiB", rounds: STARTS, memory: true },
	{ name: "start-first", operation: "first start of a new pi to first answer", rounds: STARTS },
	{ name: "start-screen", operation: "start to first screen", rounds: STARTS },
	{ name: "start-screen-10mb", operation: "start to first screen", data: "10 MiB", rounds: STARTS },
	{ name: "start-screen-128mb", operation: "start to first screen", data: "128 MiB", rounds: STARTS },
	{ name: "start-version", operation: "pi --version", rounds: STARTS },
	{ name: "start-list-models", operation: "pi --list-models", rounds: STARTS },
	{ name: "start-native-version", operation: "pi-native --version", rounds: STARTS },
	{ name: "start-0.87.1", operation: "pi 0.87.1, start to first answer", rounds: STARTS, memory: true },
	{ name: "start-application", operation: "import and open", data: "1 MiB", rounds: STARTS },
	{ name: "open-1mb", operation: "open", data: "1 MiB", rounds: USUAL },
	{ name: "open-10mb", operation: "open", data: "10 MiB", rounds: USUAL },
	{ name: "open-128mb", operation: "open", data: "128 MiB", rounds: USUAL, memory: true },
	{ name: "context-1mb", operation: "open and context", data: "1 MiB", rounds: USUAL },
	{ name: "context-10mb", operation: "open and context", data: "10 MiB", rounds: USUAL },
	{ name: "context-128mb", operation: "open and context", data: "128 MiB", rounds: USUAL, memory: true },
	{ name: "entries-10mb", operation: "open and all entries", data: "10 MiB", rounds: USUAL },
	{ name: "entries-128mb", operation: "open and all entries", data: "128 MiB", rounds: USUAL, memory: true },
	{ name: "first-append-128mb", operation: "open and first append", data: "128 MiB", rounds: USUAL, memory: true },
	{ name: "footer-10mb", operation: "open, footer, context entries", data: "10 MiB", rounds: USUAL },
	{ name: "footer-128mb", operation: "open, footer, context entries", data: "128 MiB", rounds: USUAL, memory: true },
	{ name: "bodies-128mb", operation: "open and every body", data: "128 MiB", rounds: USUAL, memory: true },
	{ name: "looks-128mb", operation: "open and look at every body", data: "128 MiB", rounds: USUAL, memory: true },
	{
		name: "terminal-128mb",
		operation: "open, footer, every body of the context",
		data: "128 MiB",
		rounds: USUAL,
		memory: true,
	},
	{ name: "branched-10mb", operation: "createBranchedSession", data: "10 MiB", rounds: USUAL },
	{ name: "branched-128mb", operation: "createBranchedSession", data: "128 MiB", rounds: USUAL, memory: true },
	{ name: "branched-footer-128mb", operation: "createBranchedSession, handed out", data: "128 MiB", rounds: USUAL },
	{ name: "fork-10mb", operation: "forkFrom", data: "10 MiB", rounds: USUAL },
	{ name: "fork-128mb", operation: "forkFrom", data: "128 MiB", rounds: USUAL, memory: true },
	// pi's decoder and V8 are fastest with only ASCII.
	{ name: "ascii-open", operation: "open", data: "128 MiB, ASCII", rounds: USUAL, memory: true },
	{
		name: "ascii-footer",
		operation: "open, footer, context entries",
		data: "128 MiB, ASCII",
		rounds: USUAL,
		memory: true,
	},
	{
		name: "ascii-looks",
		operation: "open and look at every body",
		data: "128 MiB, ASCII",
		rounds: USUAL,
		memory: true,
	},
	{ name: "small-open", operation: "open", data: "small", rounds: USUAL },
	{ name: "small-context", operation: "open and context", data: "small", rounds: USUAL },
	{ name: "small-footer", operation: "open, footer, context entries", data: "small", rounds: USUAL, memory: true },
	{ name: "warm-small", operation: "warm reads", data: "small", rounds: USUAL },
	{ name: "warm-128mb", operation: "warm reads", data: "128 MiB", rounds: FEW },
	{ name: "append-message", operation: "append 20 bytes", rounds: USUAL },
	{ name: "append-tool-result", operation: "append 10 KB tool result", rounds: USUAL },
	{ name: "append-japanese", operation: "append 10,000 Japanese characters", rounds: USUAL },
	{ name: "append-image", operation: "append 1 MiB image", rounds: USUAL },
	{ name: "append-memory", operation: "append 20 bytes in memory", rounds: USUAL },
	{ name: "turn", operation: "turn", data: "turn", rounds: USUAL },
	{ name: "turn-uncompacted", operation: "turn", data: "turn, uncompacted", rounds: USUAL },
	// Without an agent's directory, so that there is no catalog.
	{ name: "list-25", operation: "list", data: "25 files", rounds: USUAL },
	...directory("25", "25 files", { rounds: USUAL }),
	{
		name: "images-512mb",
		operation: "open, footer, context entries",
		data: "512 MiB images",
		rounds: FEW,
		memory: true,
	},
	{ name: "list-1000", operation: "list", data: "1,000 files", rounds: FEW, memory: true, onDemand: true },
	...directory("1000", "1,000 files", { rounds: FEW, memory: true, onDemand: true }),
];

/** The operations on all sessions. */
function directory(size, data, more) {
	const operations = {
		"list-all-cold": "listAll, no catalog",
		"list-all": "listAll",
		"list-turns": "turns of listAll",
		"usage-cold": "usage, no catalog",
		usage: "usage",
		"all-texts": "listAll, every text",
		continue: "continueRecent",
		find: "findById",
	};
	return Object.entries(operations).map(([name, operation]) => ({ name: `${name}-${size}`, operation, data, ...more }));
}

/** The cases whose names begin with one of `names`; by default all cases that are not on demand. */
export function select(wanted, quick) {
	if (!wanted) return CASES.filter((entry) => !entry.onDemand && !(quick && /^(128|512) MiB/.test(entry.data ?? "")));
	const unknown = wanted.filter((name) => !CASES.some((entry) => entry.name.startsWith(name)));
	if (unknown.length > 0) {
		const known = CASES.map((entry) => entry.name).join(", ");
		throw new Error(`No such case: ${unknown.join(", ")}. There are: ${known}`);
	}
	return CASES.filter((entry) => wanted.some((name) => entry.name.startsWith(name)));
}
