// A machine of a test: it appends to one session, pushes and pulls at random, and prints each entry once it is
// appended. It ends when it is killed, or by a line on standard input once everything is stored and pulled.
import { randomUUID } from "node:crypto";
import { readFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { setTimeout as pause } from "node:timers/promises";

const require = createRequire(import.meta.url);
const { address, host, dir, notes, session, file, seed, skew, server } = JSON.parse(process.argv[2]);
const now = Date.now.bind(Date);
// Independent of its clock.
Date.now = () => now() + skew;
const { PostgresStore, S3Store, SessionSync, openStore } = require("../../lib/index.js");
const { SessionManager } = require("pi-session-native");

const open = async (timeout) => {
	const Store = server?.url ? PostgresStore : S3Store;
	const store = server ? new Store({ ...server, host, timeout }) : await openStore(address, { host });
	return { store, sync: new SessionSync({ store, address, notes, dir, cwd: dir, project: "kills" }) };
};
// A partition ends soon in this test, not only after half a minute.
const { store, sync } = await open(1000);
const say = (line) => writeSync(1, `${JSON.stringify(line)}\n`);

let state = seed >>> 0;
const random = () => {
	state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
	return state / 2 ** 32;
};

let isEnding = false;
process.stdin.on("data", () => (isEnding = true));

const isHere = () => {
	try {
		return readFileSync(file).length > 0;
	} catch {
		return false;
	}
};
while (!isHere()) {
	await sync.pull({ session }).catch(() => {});
	await pause(20);
}
const manager = SessionManager.open(file);
const local = [{ session, file }];
/** Stores the appended entries, again and again. */
const following = (async () => {
	while (!isEnding) {
		await sync.push({ local }).catch(() => {});
		await pause(20);
	}
})();
while (!isEnding) {
	if (random() < 0.7) {
		const name = randomUUID();
		const secret = randomUUID();
		manager.appendCustomEntry("n", { name, text: "x".repeat(random() * 2000), secret });
		say({ appended: name });
		// The store may stop it at any point.
		if (random() < 0.05) await sync.redact({ session, file }, { text: secret }).then(() => say({ redacted: secret }));
	}
	// Failed calls are repeated, because a partition ends.
	if (random() < 0.2)
		for (const { error } of await sync.pull().catch((error) => [{ error }]))
			if (error && !error.retryable) say({ failed: error.message });
	if (random() < 0.2) await sync.push({ local }).catch(() => {});
	await pause(random() * 10);
}
await following;
await store.close();
// The connection works again. However busy this computer is, an answer comes.
const last = await open();
const settle = async (work) => {
	for (;;) {
		const results = await work().catch((error) => [{ error }]);
		const failed = results.find(({ error }) => error)?.error;
		// No other machine writes any more, so that all stored lines can be read.
		const [problem] = results.flatMap(({ problems = [] }) => problems);
		if (problem) throw new Error(`${problem.where}: ${problem.message}`);
		if (!failed) return;
		if (!failed.retryable) throw failed;
		await pause(100);
	}
};
await settle(() => last.sync.push());
say({ pushed: true });
await new Promise((resolve) => process.stdin.once("data", resolve));
await settle(() => last.sync.pull());
await last.store.close();
say({ pulled: true });
process.exit();
