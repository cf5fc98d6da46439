// The process beside pi that talks to its store, for as long as pi runs (see store-process.mjs, which starts it).
//
// pi writes, a JSON object a line on standard input:
//   first    `notes`, `timeout`, whether this process `pushes`, and the `projects` of directories as far as pi knows them
//   open     the sessions that pi has open: they are followed and claimed
//   answer   what became of a `call`
//   request  pi waits until it is `done`, two seconds at most. "start": pull what is lacking, and store what earlier processes left.
//            "end": store the rest of what pi has written down (see pending.js) and of `sessions`, give up the claims, and end.
//            "reach": ask whether the store answers
// When the input ends without a request for that, pi is gone: the last lines are stored, for two seconds at most. This process reports on
// standard output, a file, and on a second one, the descriptor 3; it waits for nothing but answers:
//   done, error              the name of a request, and why it failed
//   isReached                the store has answered a request
//   lacking, unstored        how many sessions wait to be pulled at the start, and to be stored at the end
//   project, claimed, inUse  the project of a directory; a session that is claimed here, or used elsewhere
//   show                     a line for whoever runs pi
//   call                     a change of the file of a session that pi has open: pi makes it, and its managers take it in
//   goesOn                   the reports go on in the other file, see `report`
//   hasEnded                 this process ends
// A session that another process of this machine has open is left to that one's follower.
import { randomUUID } from "node:crypto";
import { existsSync, fstatSync, statSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { CLAIM_MS, STORE_VARIABLE, doubled, isExclusive, notStored, packed, placeHere, projectIn, pullCommand, pullPause, rulesBeside } from "./store-shared.mjs";

const require = createRequire(import.meta.url);
const { SessionSync, hostId, openStore } = require("../store/index.js");
const { inParallel } = require("../store/in-parallel.js");
const { LastErrors } = require("../store/last-errors.js");
const { callHere } = require("../store/manager.js");
const { displayName } = require("../store/names.js");
const { Pending } = require("../store/pending.js");

const TICK_MS = 400;
/** When a claim is renewed. */
const RENEW_MS = 20_000;
/** How many sessions that earlier processes left are begun at the same time: each takes some megabytes. */
const SESSIONS_AT_ONCE = 4;
/** How soon they are tried again, if that may help: twice as late each time. */
const RETRY_MS = 500;
const LONGEST_RETRY_MS = 60_000;
/** For how long a pull in the background begins more sessions. */
const PULL_MS = 5000;
/** After how long without a word here others' lines are asked for once a minute. */
const IDLE_MS = 10 * 60_000;
/** A session that is open here is pulled up to this size, in bytes: pi waits while its file is written. A larger one waits for the next start. */
const LARGEST_OPEN = 32 << 20;
/** How many lines of one kind are said when pi starts. */
const MAX_LINES = 5;
/** From which size on the other file of reports is used, in bytes. */
const LONGEST_REPORTS = 1 << 20;
const begun = Date.now();
/** Its number would be another one's when it is gone. */
const pi = process.ppid;

const address = process.env[STORE_VARIABLE];
let notes;
let timeout = 0;
let pushes = true;
/** What earlier processes did not manage to store. */
let leftover = [];
let open = [];
/** What was open here so far, by file. */
const attended = new Map();
/** By working directory. */
const projects = new Map();
/** Where reports go: to the first file. */
const reports = [1, 3];
/** Promises, by the directory of the files and the working directory. */
const syncs = new Map();
/** Ids of sessions that are claimed here, and when each claim was last asked for. */
const claimed = new Set();
const claimedAt = new Map();
/** Ids of sessions that other hosts use. */
const inUse = new Set();
const shown = new Set();
/** What waits for answers of pi's process, by their ids. */
const calls = new Map();
/** Pulls what this process does not. */
let command;
let opening;
let store;
/** Whether pi knows that the store answers. */
let isReached = false;
let isEnding = false;
let nextPull;

/** Ends at once. A call that hangs would keep `process.exit` waiting. */
const end = () => process.kill(process.pid, "SIGKILL");

/**
 * Writes a report without waiting: this process may be stopped at any time. A long file of reports is left for the other one, unless pi has
 * not read that to its end, and so emptied it.
 */
function report(what) {
	write(what);
	if (fstatSync(reports[0]).size <= LONGEST_REPORTS || fstatSync(reports[1]).size > 0) return;
	write({ goesOn: true });
	reports.reverse();
}

function write(what) {
	const bytes = Buffer.from(`${JSON.stringify(what)}\n`);
	for (let at = 0; at < bytes.length; ) at += writeSync(reports[0], bytes, at);
}

function hear(line) {
	const message = JSON.parse(line);
	({ notes = notes, timeout = timeout, pushes = pushes, open = open } = message);
	if (message.answer) calls.get(message.answer.id)?.(message.answer);
	for (const [cwd, project] of message.projects ?? []) projects.set(cwd, project);
	if (message.request) void respond(message.request);
	look();
}

const requests = {
	start: startPulls,
	end: async (request) => storeRest({ ...request, sessions: [...new Pending(notes, address, pi).own(), ...request.sessions] }),
	reach: () => ask({ session: "0" }),
};

async function respond(request) {
	isReached = false;
	const error = await requests[request.name](request).then(() => undefined, (error) => error.message);
	report({ done: request.name, error });
	if (request.name === "end") end();
}

/** Pulls what this project's sessions lack, now and again and again, and stores what earlier processes did not manage to. */
async function startPulls({ dir, pulls }) {
	command = pullCommand(dir);
	const place = await placeHere(dir, address);
	const options = { ...place, project: await projectOf(place.cwd), claim: claimBefore(), call: callWhereOpen };
	leftover = await leftBehind(options);
	const error = pulls ? await pullAgain(options) : undefined;
	if (pulls) leftover = await leftBehind(options);
	if (pushes) void storeLeft();
	if (error) throw error;
}

/** What earlier processes did not manage to store: of this project's sessions, and of whatever they had open. */
async function leftBehind(options) {
	const sync = new SessionSync(options);
	const { cwd } = options;
	const found = (await sync.local()).filter((local) => sync.isNoted(local.session) && sync.lagOf(local) > 0).map((local) => ({ ...local, cwd }));
	const files = new Set(found.map(({ file }) => file));
	const others = [];
	new Pending(notes, address).review((one) => {
		const isLacking = isUnstored(one);
		if (isLacking && !files.has(one.file)) others.push(one);
		files.add(one.file);
		return isLacking;
	});
	for (const one of others) {
		if (projects.has(one.cwd)) continue;
		// The name that is set here is not that of another directory.
		projects.set(one.cwd, one.project ?? (await projectIn(one.cwd, hostId(notes), notes, "")).project);
	}
	return [...found, ...others];
}

/** Whether a file has lines that are not known to be stored, by this machine's notes. */
const isUnstored = ({ session, file, cwd }) =>
	existsSync(file) && new SessionSync({ address, notes, dir: dirname(file), cwd, project: "", ...rulesBeside(notes) }).lagOf({ session, file }) > 0;

/** Stores what earlier processes left: once, though its last line may never get an end. */
async function storeLeft(pause = RETRY_MS) {
	await inParallel(SESSIONS_AT_ONCE, leftover, async (one) => {
		const error = await push(one);
		if (error) fail(error, one.session);
		if (!error?.retryable && error?.code !== "claimed") leftover = leftover.filter((other) => other !== one);
	});
	if (leftover.length > 0 && !isEnding) setTimeout(() => void storeLeft(doubled(pause, RETRY_MS, LONGEST_RETRY_MS)), pause);
}

/** Pulls what is new, and then again and again. Gives the error, if there is one. What was `seen` in the store before is undefined at first. */
async function pullAgain(options, before = 0, seen) {
	const done = await pullNew(options, seen).catch((error) => ({ error, goesOn: false, seen: seen ?? "" }));
	const pause = pullPause(before, { hasFailed: done.error !== undefined, goesOn: done.goesOn, isIdle: isIdle() });
	if (isEnding) return done.error;
	nextPull = setTimeout(async () => {
		const error = await pullAgain(options, pause, done.seen);
		if (error && !error.retryable) show(`others' lines are not pulled: ${error.message}`);
	}, pause);
	return done.error;
}

/** Whether nothing was said here for a while. */
function isIdle() {
	const times = open.map(({ file }) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0);
	return Date.now() - Math.max(begun, ...times) > IDLE_MS;
}

/**
 * Pulls unless the store's list is the one that was seen before; gives what is seen now. After a few seconds it begins no more sessions, so
 * that one that was begun meanwhile comes before the older ones that are left: `goesOn` says that there are some, and that others came.
 */
async function pullNew(options, seen) {
	const isFirst = seen === undefined;
	await openOnce();
	const sync = new SessionSync({ ...options, store });
	const list = await ask({ project: sync.project, claims: isFirst && "renewed" });
	const now = JSON.stringify(list.sessions.map(({ session, bytes, modified, redactions, hosts }) => [session, bytes, modified, redactions, hosts]));
	if (now === seen) return { goesOn: false, seen };
	const { items, problems } = await sync.compare(undefined, list);
	if (isFirst) nameUses(items);
	const elsewhere = isFirst ? new Set() : new Pending(notes, address, pi).openElsewhere();
	const isLarge = (file) => isOpen(file) && (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > LARGEST_OPEN;
	const wanted = items.filter(({ file }) => !elsewhere.has(file) && !isLarge(file));
	const of = wanted.filter(({ state }) => state === "new" || state === "changed").length;
	const reportLeft = (done) => isFirst && of > 0 && report({ lacking: { left: of - done, of } });
	reportLeft(0);
	let isComplete = true;
	let pulled = 0;
	const onResult = ({ session, error }) => {
		isComplete &&= error === undefined;
		pulled += error === undefined ? 1 : 0;
		if (!isFirst && error && !error.retryable && error.code !== "ERR_SESSION_LOCKED") show(`session ${session} is not pulled: ${error.message}`, pullOf(session, error));
	};
	const results = await sync.pull({ items: wanted, duration: isFirst ? timeout : PULL_MS, onProgress: reportLeft, onResult });
	if (isFirst) {
		for (const { session, error } of results) if (error) shown.add(pullOf(session, error));
		showFew([...problems.map(described), ...results.flatMap(outcome)], (count) => `${count} more problems; ${command} names them`);
	}
	const isWhole = results.length === of;
	// What was left out, or failed, is asked for again.
	return { goesOn: !isWhole && pulled > 0, seen: isComplete && isWhole && elsewhere.size === 0 ? now : "" };
}

/** What a pull has to say of a session. */
const outcome = ({ session, error, redacted, renamed, problems }) => [
	...(redacted > 0 ? [`session ${session}: what was redacted elsewhere is redacted here`] : []),
	...(error ? [`session ${session}: ${error.message}`] : []),
	...renamed.map(({ id, newId }) => `session ${session}: entry ${id} is ${newId} now, another host's came first with that id`),
	...problems.map(described),
];
const described = ({ session, where, message }) => `session ${session}: ${where}: ${message}`;
const pullOf = (session, { code }) => `pull ${session} ${code}`;

/** Names the sessions that other hosts use. */
function nameUses(items) {
	const lines = [];
	for (const { session, stored } of items) {
		if (!stored.claim || stored.claim.host === store.host) continue;
		const use = `${session} is in use on ${displayName(stored.claim.host)}`;
		inUse.add(session);
		report({ inUse: [session, `Session ${use}`] });
		lines.push(`session ${use}`);
	}
	showFew(lines, (count) => `${count} more sessions are in use on other hosts; pi-sessions remote shows them`);
}

const isOpen = (path) => open.some(({ file }) => file === path);

/** Changes a session's file: in pi's process if that has it open, for its manager is to take that in at once. */
async function callWhereOpen(name, file, input) {
	if (!isOpen(file)) return callHere(name, file, input);
	const id = randomUUID();
	const answer = await new Promise((resolve) => {
		calls.set(id, resolve);
		report({ call: { id, name, file, input: packed(input) } });
	});
	calls.delete(id);
	if (answer.error) throw Object.assign(new Error(answer.error.message), { code: answer.error.code });
	return answer.report;
}

function look() {
	if (isEnding || !pushes) return;
	for (const one of open) void attend(one);
}

/** Follows a session that is open, and claims it. What fails is tried again with the next look. */
async function attend(one) {
	const { session } = one;
	attended.set(one.file, one);
	try {
		const sync = await syncOf(one);
		if (sync.isPrivate(one)) return;
		sync.follow(one);
		if (!isClaimDue(session) || !(sync.lagOf(one) === 0 || claimed.has(session) || inUse.has(session))) return;
	} catch (error) {
		fail(error, session);
		return;
	}
	await claim(session).catch((error) => {
		if (error.code !== "claimed" && !error.retryable) show(`session ${session} is not claimed: ${error.message}`, `claim ${session} ${error.code}`);
	});
}

/** One for each directory of files and working directory, though the next look may come before git has answered. */
function syncOf({ file, cwd }) {
	const key = `${dirname(file)}\n${cwd}`;
	const known = syncs.get(key);
	if (known) return known;
	const opening = openSync(dirname(file), cwd);
	syncs.set(key, opening);
	opening.catch(() => syncs.delete(key));
	return opening;
}

async function openSync(dir, cwd) {
	await openOnce();
	return new SessionSync({ store, address, notes, dir, cwd, project: await projectOf(cwd), claim: claimBefore(), onError: fail, ...rulesBeside(notes) });
}

/** Opens the store, of which there is one here. */
function openOnce() {
	opening ??= openStore(address, { host: hostId(notes), locks: notes }).then((opened) => (store = opened));
	opening.catch(() => (opening = undefined));
	return opening;
}

/** What the store lists. One that answers something may still take its time with the rest; one that does not is left alone for a while. */
async function ask(filter) {
	const errors = new LastErrors(notes, address);
	const onAnswer = () => {
		if (!isReached) report({ isReached: true });
		isReached = true;
	};
	try {
		await openOnce();
		const list = await store.list({ headers: false, claims: false, ...filter, onAnswer });
		onAnswer();
		errors.set(undefined, undefined);
		return list;
	} catch (error) {
		errors.set(undefined, error);
		throw error;
	}
}

/** Where this host is to have a session alone, what claims it before an append. */
const claimBefore = () => (isExclusive() ? claimUnlessHeld : undefined);

async function projectOf(cwd) {
	const known = projects.get(cwd);
	if (known !== undefined) return known;
	const { project, problem } = await projectIn(cwd, hostId(notes), notes);
	projects.set(cwd, project);
	report({ project: [cwd, project] });
	if (problem !== undefined) show(problem);
	return project;
}

/** Where the store has claims: not while one is asked for, which may take forever. */
const isClaimDue = (session) => store.claim !== undefined && performance.now() - (claimedAt.get(session) ?? -Infinity) >= RENEW_MS;

/** Claims a session, or prolongs the claim, unless the store does not have it. Rejects if another host has the claim. */
async function claim(session) {
	claimedAt.set(session, Infinity);
	try {
		await store.claim(session, { ttl: CLAIM_MS });
		claimed.add(session);
		inUse.delete(session);
		report({ claimed: session });
	} catch (error) {
		if (error.code === "claimed" || error.code === "not-found") claimed.delete(session);
		if (error.code === "not-found") return;
		if (error.code === "claimed") {
			const then = isExclusive() ? "what is said here is stored when that host has given it up" : "what is said here becomes a second branch";
			if (!inUse.has(session)) show(`${error.message}: ${then}`);
			inUse.add(session);
			report({ inUse: [session, error.message] });
		}
		throw error;
	} finally {
		claimedAt.set(session, performance.now());
	}
}

/** What the store does not have yet is claimed once it has. */
async function claimUnlessHeld(session) {
	if (claimed.has(session)) return;
	await claim(session);
	if (!claimed.has(session)) claimedAt.delete(session);
}

/** pi's end: stores what is not stored yet, but only if the store is to be asked, and gives up the claims. */
async function storeRest({ sessions, asks = true, tries }) {
	isEnding = true;
	clearTimeout(nextPull);
	const all = new Map([...leftover, ...attended.values(), ...sessions].map((one) => [one.file, one]));
	const rest = pushes ? [...all.values()].filter(isUnstored) : [];
	// An earlier process may have claimed what pi had open. Giving up what another host has changes nothing.
	const opened = pushes ? [...attended.values(), ...sessions.filter(({ file }) => existsSync(file))] : [];
	const givenUp = new Set([...claimed, ...opened.map(({ session }) => session)]);
	// Another host may have taken a session over since: it is claimed again before anything is stored.
	claimed.clear();
	report({ unstored: rest.length });
	const errors = [];
	try {
		if (!asks || rest.length + givenUp.size === 0) return;
		// It is known soon whether the store answers.
		if (tries === undefined) await ask({ session: "0" });
		await inParallel(SESSIONS_AT_ONCE, rest, async (one) => {
			const error = await push(one, tries);
			// The next start has no more success with what was deleted from the store.
			if (error?.code === "deleted" || error?.code === "held-back") show(notStored(one.session, error), `${one.session} ${error.code}`);
			else if (error) errors.push(error);
		});
		await Promise.allSettled([...givenUp, ...claimed].map((session) => store?.claim?.(session, { ttl: 0 })));
	} finally {
		const pending = new Pending(notes, address, pi);
		for (const one of sessions) if (!isUnstored(one)) pending.remove(one.file);
	}
	if (errors.length > 0) throw errors[0];
}

/** Stores what a session's file holds; gives the error, if there is one. If it is followed, the later one finds that it is stored. */
async function push(one, tries = 1) {
	try {
		const sync = await syncOf(one);
		const [result] = await sync.push({ session: one.session, tries });
		return result?.error;
	} catch (error) {
		return error;
	}
}

/** Errors that may pass are retried, and reported when pi ends if they did not. */
function fail(error, session) {
	// Another host took the session over.
	if (error.code === "claimed") claimed.delete(session);
	else if (!error.retryable) show(notStored(session, error), `${session} ${error.code}`);
}

/** Says a line, if it is the first one about `what`. */
function show(line, what = line) {
	if (shown.has(what)) return;
	shown.add(what);
	report({ show: line });
}

/** The first lines, and how many more there are. */
function showFew(lines, more) {
	for (const line of lines.slice(0, MAX_LINES)) show(line);
	if (lines.length > MAX_LINES) show(more(lines.length - MAX_LINES));
}

/** pi is gone, without having asked for its end, or while it waited for it. */
async function finish() {
	setTimeout(end, timeout);
	if (isEnding) return;
	await storeRest({ sessions: [], tries: Infinity }).catch(() => {});
	end();
}

process.on("exit", () => report({ hasEnded: true }));
process.stdin.on("error", end);
createInterface({ input: process.stdin }).on("line", hear).on("close", finish);
setInterval(look, TICK_MS);
