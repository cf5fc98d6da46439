// list and listAll: sessions, order, progress, abort.
import { readFileSync, writeFileSync } from "node:fs";
import { attempt } from "./compare.js";
import { sessionFiles, stampFiles } from "./files.js";
import type { Fields } from "./sessions.js";
import type { Side } from "./side.js";
import { type Arg, literal, named, type Step } from "./steps.js";
import type { World } from "./world.js";

interface Info {
	path: string;
	modified: Date;
}

type Abort = "never" | "before" | "after the call" | "at the first progress";

interface Observed {
	infos: Info[];
	calls: string[];
	problems: string[];
}

const isNewestFirst = (infos: readonly Info[]) =>
	infos.every((info, i) => i === 0 || (infos[i - 1] as Info).modified.getTime() >= info.modified.getTime());
const paths = (infos: readonly Info[]) => infos.map((info) => info.path);

/**
 * Runs a list and checks its progress in a way that does not depend on which file is read first: one call per file,
 * with rising numbers; partial lists are sorted newest first, and are a part of the result; the last one is the whole
 * result; no call follows after the promise has settled. For `list` it is fixed which calls have a partial list; for
 * `listAll` this depends on when the newest file is read.
 */
async function observe(
	run: (progress: (loaded: number, total: number, partial?: Info[]) => void) => Promise<Info[]>,
	all: boolean,
): Promise<Observed> {
	const calls: string[] = [];
	const problems: string[] = [];
	const partials: Info[][] = [];
	let settled = false;
	const infos = await run((loaded, total, partial) => {
		if (settled) problems.push("progress after the promise settled");
		calls.push(`${loaded}/${total}${partial && (!all || loaded === total) ? " with a list" : ""}`);
		if (partial) partials.push([...partial]);
	});
	settled = true;
	await new Promise((resolve) => setImmediate(resolve));
	for (const partial of partials) {
		if (!isNewestFirst(partial)) problems.push("a partial list out of order");
		const known = new Set(paths(infos));
		if (!paths(partial).every((path) => known.has(path)))
			problems.push("a partial list with a session that the result lacks");
	}
	const last = partials.at(-1);
	if (last && calls.length > 0 && paths(last).sort().join() !== paths(infos).sort().join())
		problems.push("the last partial list is not the result");
	return { infos, calls, problems };
}

/**
 * The files in the form from which the reference returns the result that we should: without CR and, from Node 24 on,
 * raw U+2028 and U+2029, because its `readline` ends lines there (docs/moving-from-pi.md); without null content; and
 * with `parentSession` in place of `branchedFrom`.
 */
async function withReferencesView<T>(side: Side, stamp: number, body: () => Promise<T>): Promise<T> {
	const saved = sessionFiles(side).map((path) => [path, readFileSync(path)] as const);
	for (const [path, bytes] of saved)
		writeFileSync(path, bytes.toString("utf8").split("\n").flatMap(peersLine).join("\n"));
	stampFiles(side, stamp);
	try {
		return await body();
	} finally {
		for (const [path, bytes] of saved) writeFileSync(path, bytes);
		stampFiles(side, stamp);
	}
}

/** Whether Node's `readline` ends lines at U+2028 and U+2029, so that pi's list loses messages. */
const endsLinesAtSeparators = Number(process.versions.node.split(".")[0]) >= 24;

function peersLine(line: string): string[] {
	const parsed = attempt(() => JSON.parse(line) as Fields | null);
	if (!("value" in parsed)) return [];
	const { value } = parsed;
	const message = value?.message as Fields | null | undefined;
	if (message?.content === null) message.content = [];
	if (value?.type === "session" && value.branchedFrom !== undefined && value.parentSession === undefined)
		value.parentSession = value.branchedFrom;
	const text = JSON.stringify(value);
	return [endsLinesAtSeparators ? text.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029") : text];
}

/** The number of session files in a directory on the reference's side, because some ways to abort need several. */
function countIn(world: World, dir: string): number {
	const prefix = world.reference.names.resolve(dir.replace(/\/$/, ""));
	return sessionFiles(world.reference).filter((path) => path.startsWith(`${prefix}/`)).length;
}

export function list(world: World): Step {
	const { r } = world;
	const all = r.chance(0.4);
	const { n, now } = world.nextStep(false);
	const dir = r.pick(["<root>/sessions-a", "<root>/hostile", "<root>/hostile/", "<root>/no/such/folder"]);
	const withDir = r.chance(0.7);
	const files = withDir ? countIn(world, dir) : 0;
	const abort: Abort = r.chance(0.85)
		? "never"
		: files > 11
			? r.pick(["before", "after the call", "at the first progress"] as const)
			: files > 0
				? r.pick(["before", "after the call"] as const)
				: "before";
	const dirArg: Arg = withDir ? named(dir) : literal(r.chance(0.8) ? undefined : "");
	const cwd = world.cwd();
	const quiet = abort === "never" && r.chance(0.2);
	const skipsDir = all && !withDir && r.chance(0.5);
	const run = async (side: Side) => {
		// If the reference is aborted while it reads, it rejects, but its open streams also throw outside of every catch.
		const when =
			abort === "at the first progress" && (side.isReference || !world.traits.better) ? "after the call" : abort;
		const controller = new AbortController();
		const reason = new Error("the caller's reason");
		if (when === "before") controller.abort(reason);
		const observed = observe(async (report) => {
			const progress = (loaded: number, total: number, partial?: Info[]) => {
				report(loaded, total, partial);
				if (when === "at the first progress") controller.abort(reason);
			};
			const signal = when === "never" ? undefined : controller.signal;
			const tail = quiet ? [] : [progress, signal];
			const { SessionManager } = side.module;
			const args = all ? (skipsDir ? tail : [dirArg.get(side), ...tail]) : [cwd.get(side), dirArg.get(side), ...tail];
			const promise = SessionManager[all ? "listAll" : "list"]?.(...args) as Promise<Info[]>;
			if (when === "after the call") controller.abort(reason);
			return promise;
		}, all);
		return observed.catch((error: unknown) => ({ rejected: error === reason ? "with the reason" : String(error) }));
	};
	return {
		n,
		now,
		name: all ? "listAll" : "list",
		args: all ? [dirArg] : [cwd, dirArg],
		run: (side) => {
			stampFiles(side, n);
			return side.isReference && world.traits.better ? withReferencesView(side, n, () => run(side)) : run(side);
		},
	};
}
