// Pulls before pi starts, and pushes after it has ended (see store.mjs), or only asks whether the store answers. The task comes on standard input. Results go to
// standard output, one JSON object a line; a later line adds to those before it. `isReached`: the store has answered. `isDone`: the task is
// done. `isOver`: the process is ending, with or without an error.
import { existsSync, readFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { Claims } from "./store-claims.mjs";
import { STORE_VARIABLE, isExclusive, notStored, placeHere, projectIn, rulesBeside } from "./store-shared.mjs";

const require = createRequire(import.meta.url);
const { SessionSync, hostId, openStore } = require("../store/index.js");
const { LastErrors } = require("../store/last-errors.js");
const { displayName } = require("../store/names.js");
const { Notes } = require("../store/notes.js");
const { Pending } = require("../store/pending.js");
const address = process.env[STORE_VARIABLE];
const task = JSON.parse(readFileSync(0, "utf8"));

/** Before pi starts: pulls what this project's sessions lack. */
async function pullProject() {
	const place = await placeHere(task.dir, address);
	const { notes } = place;
	const { project, problem } = await projectIn(place.cwd, hostId(notes), notes);
	const options = { ...place, project };
	// First: this process may be stopped before the store answers.
	answer({ project, problem });
	answer({ leftover: await leftovers(new SessionSync(options), notes) });
	if (task.pulls === false) return { errors: [] };
	const store = await openStore(address, { host: hostId(notes), locks: notes });
	const sync = new SessionSync({ ...options, store, claim: claimWith(new Claims(store)) });
	const list = await reach(store, { project, headers: false, claims: "renewed" });
	const { items, problems } = await sync.compare(undefined, list);
	const inUse = items.flatMap(({ session, stored }) => (stored.claim && stored.claim.host !== store.host ? [{ session, host: displayName(stored.claim.host) }] : []));
	answer({ inUse });
	const lacking = items.filter(({ state }) => state === "new" || state === "changed").length;
	if (lacking > 0) answer({ lacking: { left: lacking, of: lacking } });
	const results = await sync.pull({ items, onProgress: (done) => answer({ lacking: { left: lacking - done, of: lacking } }) });
	const errors = results.flatMap(({ session, error, redacted, renamed, problems }) => [
		...(redacted > 0 ? [`session ${session}: what was redacted elsewhere is redacted here`] : []),
		...(error ? [`session ${session}: ${error.message}`] : []),
		...renamed.map(({ id, newId }) => `session ${session}: entry ${id} is ${newId} now, another host's came first with that id`),
		...problems.map(described),
	]);
	return { errors: [...problems.map(described), ...errors], leftover: await leftovers(sync, notes) };
}

/** What earlier processes did not manage to store: of this project's sessions, and of whatever they had open. */
async function leftovers(sync, notes) {
	const cwd = process.cwd();
	const found = (await sync.local()).filter((local) => sync.isNoted(local.session) && sync.lagOf(local) > 0).map((local) => ({ ...local, cwd }));
	const files = new Set(found.map(({ file }) => file));
	const others = [];
	new Pending(notes, address).review((one) => {
		const isLacking = existsSync(one.file) && new SessionSync({ address, notes, dir: dirname(one.file), cwd: one.cwd, project: "", ...rulesBeside(notes) }).lagOf(one) > 0;
		if (isLacking && !files.has(one.file)) others.push(one);
		files.add(one.file);
		return isLacking;
	});
	for (const one of others) {
		// The name that is set here is not that of another directory.
		if (one.cwd === cwd) delete one.project;
		else one.project ??= (await projectIn(one.cwd, hostId(notes), notes, "")).project;
	}
	return [...found, ...others];
}

const described = ({ session, where, message }) => `session ${session}: ${where}: ${message}`;

/** After pi has ended: pushes what is not stored yet. */
async function pushRest() {
	const { notes, sessions, claimed } = task;
	// First, because the store may not answer. Sessions that ended within a moment have no note yet.
	for (const { session, file } of sessions) mark(notes, session, file);
	const store = await openStore(address, { host: hostId(notes), locks: notes });
	await reach(store, { session: "0", claims: false });
	const errors = [];
	const told = [];
	const claims = new Claims(store);
	const projects = new Map();
	for (const { session, file, cwd, project } of sessions) {
		if (!projects.has(cwd)) projects.set(cwd, project ?? (await projectIn(cwd, store.host, notes)).project);
		const sync = new SessionSync({ store, address, notes, dir: dirname(file), cwd, project: projects.get(cwd), claim: claimWith(claims), ...rulesBeside(notes) });
		try {
			for (const { error } of await sync.push({ session, tries: 1, restores: false })) if (error) {
				// The next start has no more success with what was deleted from the store.
				if (error.code === "deleted" || error.code === "held-back") told.push(notStored(session, error));
				else errors.push(error.message);
			}
		} catch (error) {
			errors.push(error.message);
		}
	}
	for (const session of new Set([...claimed, ...claims.sessions])) await store.claim?.(session, { ttl: 0 }).catch(() => {});
	return { errors, told };
}

/** Only asks. */
async function askStore() {
	await reach(await openStore(address, { host: hostId(task.notes), locks: task.notes }), { session: "0", claims: false });
	return { errors: [] };
}

/** Marks a session as one that is to be stored, so that the next start goes on with it. */
function mark(notes, session, file) {
	try {
		new Notes(notes, address, dirname(file)).mark(session);
	} catch {
		// It is pushed now all the same.
	}
}

/** What a store lists. One that answers something may still take its time with the rest; one that does not is left alone for a while. */
async function reach(store, filter) {
	const errors = new LastErrors(task.notes ?? (await placeHere(task.dir, address)).notes, address);
	const list = await store.list({ ...filter, onAnswer: () => answer({ isReached: true }) }).catch((error) => {
		errors.set(undefined, error);
		throw error;
	});
	errors.set(undefined, undefined);
	answer({ isReached: true });
	return list;
}

/** Where this host is to have a session alone, what claims it before an append. */
const claimWith = (claims) => (isExclusive() ? async (session) => void (claims.has(session) || (await claims.claim(session))) : undefined);

/** Writes a result without waiting: this process may be stopped at any time. */
function answer(result) {
	const bytes = Buffer.from(`${JSON.stringify(result)}\n`);
	for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
}

const tasks = { pull: pullProject, push: pushRest, reach: askStore };
// Whoever waits for it may be gone, or have ended to wait.
if (task.timeout !== undefined) setTimeout(() => process.kill(process.pid, "SIGKILL"), task.timeout);
process.on("exit", () => answer({ isOver: true }));
const done = await tasks[task.task]().catch((error) => ({ errors: [error.message] }));
answer({ ...done, isDone: true });
process.exit();
