// Pulls before pi starts, and pushes after it has ended (see store.mjs). The task comes on standard input, the result goes to
// standard output.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);
const { SessionSync, hostId, openStore } = require("../store/index.js");
const address = process.env.PI_SESSION_NATIVE_STORE;
const task = JSON.parse(readFileSync(0, "utf8"));

/** Before pi starts: pulls what this project's sessions lack. */
async function pullProject() {
	const { defaultDir, sessionDir, sessionsRoot } = await import("../cli/session-dir.mjs");
	const cwd = process.cwd();
	const own = sessionDir({ dir: task.dir, cwd });
	const notes = join(dirname(sessionsRoot()), "session-stores");
	const store = await openStore(address, { host: hostId(notes) });
	const sync = new SessionSync({ store, address, notes, dir: own ?? defaultDir(cwd), isShared: own !== undefined, cwd });
	const { items, problems } = await sync.compare();
	const inUse = items.flatMap(({ session, stored }) => (stored.claim && stored.claim.host !== store.host ? [{ session, host: stored.claim.host }] : []));
	const results = await sync.pull({ items });
	const errors = results.flatMap(({ session, error, renamed, problems }) => [
		...(error ? [`session ${session}: ${error.message}`] : []),
		...renamed.map(({ id, newId }) => `session ${session}: entry ${id} is ${newId} now, another host's came first with that id`),
		...problems.map(told),
	]);
	// What an earlier process did not manage to store.
	const known = (await sync.local()).filter((local) => sync.isNoted(local.session) && sync.lagOf(local) > 0);
	return { errors: [...problems.map(told), ...errors], inUse, leftover: known.map((local) => ({ ...local, cwd })) };
}

const told = ({ session, where, message }) => `session ${session}: ${where}: ${message}`;

/** After pi has ended: pushes what is not stored yet. */
async function pushRest() {
	const { notes, sessions, claimed } = task;
	const store = await openStore(address, { host: hostId(notes) });
	const errors = [];
	for (const { session, file, cwd } of sessions) {
		const sync = new SessionSync({ store, address, notes, dir: dirname(file), cwd });
		for (const { error } of await sync.push({ session, tries: 1 })) if (error) errors.push(error.message);
	}
	for (const session of claimed) await store.claim?.(session, { ttl: 0 }).catch(() => {});
	return { errors };
}

const result = await (task.task === "pull" ? pullProject() : pushRest()).catch((error) => ({ errors: [error.message], inUse: [], leftover: [] }));
process.stdout.write(JSON.stringify(result), () => process.exit());
