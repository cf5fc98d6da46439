// Stores what is appended to pi's sessions while pi runs, and claims them: a process of its own (see store.mjs).
//
// Each line of standard input is a JSON object. The first tells where notes are (`notes`), what earlier processes did not manage to
// store (`leftover`), the `projects` of working directories, and the ids of sessions that other hosts use (`inUse`); later ones what
// pi has `open`. Each line of standard output tells one thing that pi's process is to know: a `project`, a session that is
// `claimed` or `inUse`, or a line to `show`.
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { CLAIM_MS, IN_USE, STORE_VARIABLE, isExclusive, notStored } from "./store-shared.mjs";

const require = createRequire(import.meta.url);
const { SessionSync, StoreError, hostId, openStore } = require("../store/index.js");
const { findProject } = require("../store/project.js");

const TICK_MS = 400;
/** When a claim is renewed. */
const RENEW_MS = 20_000;

const address = process.env[STORE_VARIABLE];
let notes;
let leftover = [];
let open = [];
/** By working directory. */
const projects = new Map();
/** Promises, by the directory of the files and the working directory. */
const syncs = new Map();
/** @type {Map<string, { at: number, epoch: number | undefined }>} */
const claims = new Map();
/** Ids of sessions that other hosts use. */
const inUse = new Set();
const shown = new Set();
let store;

/** Ends at once. A call that hangs would keep `process.exit` waiting. */
const end = () => process.kill(process.pid, "SIGKILL");

const report = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);

function hear(line) {
	const message = JSON.parse(line);
	({ notes = notes, leftover = leftover, open = open } = message);
	for (const [cwd, project] of message.projects ?? []) projects.set(cwd, project);
	for (const session of message.inUse ?? []) inUse.add(session);
	look();
}

function look() {
	for (const one of leftover) void attend(one, false);
	for (const one of open) void attend(one, true);
}

/** Follows a session, and claims it if it is open. What fails is tried again with the next look. */
async function attend(one, isOpen) {
	try {
		const sync = await syncOf(one);
		sync.follow({ ...one, epoch: () => epochOf(one.session) });
		if (isOpen && isClaimDue(one.session) && (sync.lagOf(one) === 0 || inUse.has(one.session))) await claim(one.session);
	} catch (error) {
		fail(error, one.session);
	}
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
	store ??= await openStore(address, { host: hostId(notes) });
	return new SessionSync({ store, address, notes, dir, cwd, project: await projectOf(cwd), onError: fail });
}

async function projectOf(cwd) {
	const known = projects.get(cwd);
	if (known !== undefined) return known;
	const { project, problem } = await findProject(cwd);
	projects.set(cwd, project);
	report({ project: [cwd, project] });
	if (problem !== undefined) show(problem);
	return project;
}

/** Where the store has claims: none while one is asked for, which may take for ever. */
const isClaimDue = (session) => store.claim !== undefined && performance.now() - (claims.get(session)?.at ?? -Infinity) >= RENEW_MS;

async function claim(session) {
	let epoch = claims.get(session)?.epoch;
	claims.set(session, { at: Infinity, epoch });
	try {
		({ epoch } = await store.claim(session, { ttl: CLAIM_MS }));
		inUse.delete(session);
		report({ claimed: [session, epoch] });
	} catch (error) {
		if (error.code !== "claimed") throw error;
		if (!inUse.has(session)) show(`${error.message}: its lines will be another branch of the tree`);
		inUse.add(session);
		report({ inUse: [session, error.message] });
	} finally {
		claims.set(session, { at: performance.now(), epoch });
	}
}

/** The claim that appends go by where this host is to have the session alone. Throws if another host has it. */
function epochOf(session) {
	if (!isExclusive()) return undefined;
	if (inUse.has(session)) throw new StoreError("claimed", IN_USE);
	return claims.get(session)?.epoch;
}

/** Errors that may pass are retried, and reported when pi ends if they did not. */
function fail(error, session) {
	if (!error.retryable) show(notStored(session, error));
}

function show(line) {
	if (shown.has(line)) return;
	shown.add(line);
	report({ show: line });
}

// A terminal sends these to pi, too, which may go on.
for (const signal of ["SIGINT", "SIGHUP"]) process.on(signal, () => {});
for (const stream of [process.stdin, process.stdout]) stream.on("error", end);
// However pi ends, its end of standard input closes.
createInterface({ input: process.stdin }).on("line", hear).on("close", end);
setInterval(look, TICK_MS);
