// Stores what is appended to pi's sessions while pi runs, and claims them: a process of its own (see store.mjs).
//
// Others' lines are pulled, too, every few seconds: the sessions of pi's project, those that pi has open included. pi's managers take in
// what changed in their files. A session that another process of this machine has open is left to that one's follower.
//
// Each line of standard input is a JSON object. The first tells where notes are (`notes`), what earlier processes did not manage to
// store (`leftover`), the `projects` of working directories, the ids of sessions that other hosts use (`inUse`), pi's session
// directory where others' lines are to be pulled (`pull`), and for how long this process may go on without pi (`timeout`, in
// milliseconds); later ones what pi has `open`. Each line of standard output reports one thing to pi's process: a `project`, a session
// that is `claimed` or `inUse`, or a line to `show`. A `call` asks pi's process to change the file of a session that it has open; the
// `answer` comes by standard input.
import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { Claims } from "./store-claims.mjs";
import { STORE_VARIABLE, isExclusive, notStored, packed, placeHere, projectIn, rulesBeside } from "./store-shared.mjs";

const require = createRequire(import.meta.url);
const { SessionSync, hostId, openStore } = require("../store/index.js");
const { callHere } = require("../store/manager.js");
const { Pending } = require("../store/pending.js");

const TICK_MS = 400;
/** When a claim is renewed. */
const RENEW_MS = 20_000;
/** How many sessions that earlier processes left are begun at the same time: each takes some megabytes. */
const SESSIONS_AT_ONCE = 4;
/** How soon the next ones follow. */
const NEXT_MS = 50;
/** How soon others' lines are asked for again; after a failure twice as long each time, up to a minute. */
const PULL_MS = 5000;
const LONGEST_PULL_MS = 60_000;
/** After how long without a word here they are asked for once a minute. */
const IDLE_MS = 10 * 60_000;
const begun = Date.now();
/** A session that is open here is pulled up to this size, in bytes: pi waits while its file is written. A larger one waits for the next start. */
const LARGEST_OPEN = 32 << 20;

const address = process.env[STORE_VARIABLE];
let notes;
let timeout = 0;
let leftover = [];
let open = [];
/** By working directory. */
const projects = new Map();
/** Promises, by the directory of the files and the working directory. */
const syncs = new Map();
/** When each session was last claimed. */
const claimedAt = new Map();
/** Ids of sessions that other hosts use. */
const inUse = new Set();
/** Ids of sessions that were stored to their end, or could not be. */
const settled = new Set();
const shown = new Set();
/** What waits for answers of pi's process, by their ids. */
const calls = new Map();
let opening;
let store;
let claims;

/** Ends at once. A call that hangs would keep `process.exit` waiting. */
const end = () => process.kill(process.pid, "SIGKILL");

/**
 * Stores the last lines and gives up the claims of a pi that was killed: one that ends by itself stops this process, and does that.
 */
async function finish() {
	clearInterval(looking);
	setTimeout(end, timeout);
	const opened = await Promise.allSettled(syncs.values());
	await Promise.allSettled(opened.map(({ value: sync }) => sync?.flush({ timeout })));
	if (store?.claim) await Promise.allSettled((claims?.sessions ?? []).map((session) => store.claim(session, { ttl: 0 })));
	end();
}

const report = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);

function hear(line) {
	const message = JSON.parse(line);
	({ notes = notes, timeout = timeout, leftover = leftover, open = open } = message);
	if (message.pull) void pullAgain(message.pull);
	if (message.answer) calls.get(message.answer.id)?.(message.answer);
	for (const [cwd, project] of message.projects ?? []) projects.set(cwd, project);
	for (const session of message.inUse ?? []) inUse.add(session);
	look();
}

function look() {
	for (const one of open) void attend(one, true);
}

/** Begins with the next sessions that earlier processes left. */
function storeLeft() {
	for (const one of leftover.filter(({ session }) => !settled.has(session)).slice(0, SESSIONS_AT_ONCE)) void attend(one, false);
}

/** Follows a session, and claims it if it is open. What fails is tried again with the next look. */
async function attend(one, isOpen) {
	const { session } = one;
	try {
		const sync = await syncOf(one);
		sync.follow(one);
		const isStored = sync.lagOf(one) === 0;
		// A last line without an end is not stored, and may never get one.
		if (isStored || sync.hasStored(one)) settled.add(session);
		if (!isOpen || !isClaimDue(session) || !(isStored || claims.has(session) || inUse.has(session))) return;
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
	opening ??= openStore(address, { host: hostId(notes), locks: notes }).then((opened) => {
		store = opened;
		claims = new Claims(store);
	});
	opening.catch(() => (opening = undefined));
	return opening;
}

/** Pulls what is new, again and again. */
async function pullAgain({ dir }, wait = PULL_MS, seen = "") {
	let next = isIdle() ? LONGEST_PULL_MS : PULL_MS;
	try {
		const { goesOn, now } = await pullNew(dir, seen);
		seen = now;
		if (goesOn) next = 0;
	} catch (error) {
		if (!error.retryable) show(`others' lines are not pulled: ${error.message}`);
		next = Math.min(LONGEST_PULL_MS, Math.max(wait, PULL_MS) * 2);
	}
	setTimeout(() => void pullAgain({ dir }, next, seen), next);
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
async function pullNew(dir, seen) {
	await openOnce();
	const place = await placeHere(dir, address);
	const sync = new SessionSync({ ...place, store, project: await projectOf(place.cwd), claim: claimBefore(), call: callWhereOpen });
	const list = await store.list({ project: sync.project, headers: false, claims: false });
	const now = JSON.stringify(list.sessions.map(({ session, bytes, modified, redactions, hosts }) => [session, bytes, modified, redactions, hosts]));
	if (now === seen) return { goesOn: false, now };
	const { items } = await sync.compare(undefined, list);
	const elsewhere = new Pending(notes, address).openElsewhere(process.ppid);
	let isComplete = true;
	let pulled = 0;
	const onResult = ({ session, error }) => {
		isComplete &&= error === undefined;
		pulled += error === undefined ? 1 : 0;
		if (error && !error.retryable && error.code !== "ERR_SESSION_LOCKED") show(`session ${session} is not pulled: ${error.message}`, `pull ${session} ${error.code}`);
	};
	const isLarge = (file) => isOpen(file) && (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > LARGEST_OPEN;
	const wanted = items.filter(({ file }) => !elsewhere.has(file) && !isLarge(file));
	const results = await sync.pull({ items: wanted, duration: PULL_MS, onResult });
	const isWhole = results.length === wanted.filter(({ state }) => state === "new" || state === "changed").length;
	// What was left out, or failed, is asked for again.
	return { goesOn: !isWhole && pulled > 0, now: isComplete && isWhole && elsewhere.size === 0 ? now : "" };
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

async function claim(session) {
	claimedAt.set(session, Infinity);
	try {
		if (!(await claims.claim(session))) return;
		inUse.delete(session);
		report({ claimed: session });
	} catch (error) {
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
	if (claims.has(session)) return;
	await claim(session);
	if (!claims.has(session)) claimedAt.delete(session);
}

/** Errors that may pass are retried, and reported when pi ends if they did not. */
function fail(error, session) {
	settled.add(session);
	if (error.code === "claimed") claims.forget(session);
	else if (!error.retryable) show(notStored(session, error), `${session} ${error.code}`);
}

/** Says a line, if it is the first one about `what`. */
function show(line, what = line) {
	if (shown.has(what)) return;
	shown.add(what);
	report({ show: line });
}

// A terminal sends these to pi, too, which may go on.
for (const signal of ["SIGINT", "SIGHUP"]) process.on(signal, () => {});
process.stdin.on("error", end);
// What is said to a pi that is gone is lost.
process.stdout.on("error", () => {});
// However pi ends, its end of standard input closes.
createInterface({ input: process.stdin }).on("line", hear).on("close", finish);
const looking = setInterval(look, TICK_MS);
setInterval(storeLeft, NEXT_MS);
