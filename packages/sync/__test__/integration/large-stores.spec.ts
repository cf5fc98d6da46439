// Many sessions in a bucket: what a start and the process beside pi ask for, and what comes first.
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { SessionSync, openStore } from "../../lib/index.js";
import { type FakeBucket, fakeBucket } from "../support/fake-s3.js";
import { emptyDirectory } from "../support/lines.js";
import { LONG, MINUTES, beside } from "../support/pi-process.js";

const DAY = 86_400_000;

function machine(bucket: FakeBucket) {
	const path = emptyDirectory();
	const [agent, work] = [join(path, "agent"), join(path, "shop")];
	const dir = join(agent, "sessions", `--${work.slice(1).replaceAll("/", "-")}--`);
	mkdirSync(work);
	const env: NodeJS.ProcessEnv = { ...process.env, ...bucket.env, PI_CODING_AGENT_DIR: agent, HOME: path, PI_SESSION_NATIVE_STORE: bucket.address, PI_SESSION_NATIVE_HOST: "laptop", PI_SESSION_NATIVE_PROJECT: "shop" };
	const notes = join(agent, "session-stores");
	const start = (timeout: number) => beside({ work, env }, { notesDir: notes, timeout, start: {} });
	const fileOf = (session: string) => join(dir, `2025-06-01T09-00-00-000Z_${session}.jsonl`);
	const here = () => (existsSync(dir) ? readdirSync(dir).filter((name) => name.endsWith(".jsonl")) : []);
	return { start, fileOf, here };
}

/** Sessions of which each is an hour older than the one before. */
function fill({ put }: FakeBucket, count: number): string[] {
	const ids = Array.from({ length: count }, (_, at) => `s-${at}`);
	for (const [at, id] of ids.entries()) put(id, { at: Date.now() - DAY - at * 3_600_000 });
	return ids;
}

test("a first start with 300 sessions takes the newest ones whole before it looks at the older ones, and the next start asks little", async () => {
	const bucket = await fakeBucket(() => 5);
	const ids = fill(bucket, 300);
	for (let at = 0; at < 20; at++) bucket.putPresence(`s-${at}`, `host-${at}`, Date.now());
	const at = machine(bucket);
	const first = at.start(Number(MINUTES));
	await first.hears("done");
	expect(first.heard().at(-1)).toEqual({ done: "start" });
	await first.close();
	expect(at.here()).toHaveLength(300);
	const [bodies, heads] = [/^lines\/.*\.lines$/, /^headers\//].map((what) => bucket.asked.map((key, nth) => ({ key, nth })).filter(({ key }) => what.test(key)));
	expect([bodies?.length, heads?.length]).toEqual([300, 300]);
	// As many sessions are begun at a time as requests go together.
	const newest = new Set(ids.slice(0, 64).map((id) => `headers/${id}`));
	expect(heads?.slice(0, 32).every(({ key }) => newest.has(key))).toBe(true);
	expect(heads?.filter(({ nth }) => nth < (bodies?.[0]?.nth ?? 0)).length).toBeLessThan(64);
	bucket.asked.length = 0;
	await at.start(Number(MINUTES)).hears("done");
	expect(bucket.asked.length, bucket.asked.join()).toBeLessThanOrEqual(10);
});

// Regression: the header and the project of each session were read.
test("a list of all projects, with 1,000 sessions in three of them, asks for ten things at most, not for 2,000", async () => {
	const bucket = await fakeBucket(() => 0);
	for (let at = 0; at < 1000; at++) bucket.put(`s-${at}`, { at: Date.now(), project: `shop-${at % 3}` });
	vi.stubEnv("AWS_ACCESS_KEY_ID", "me").stubEnv("AWS_SECRET_ACCESS_KEY", "s3cret");
	onTestFinished(() => void vi.unstubAllEnvs());
	const store = await openStore(bucket.address, { host: "laptop" });
	const { sessions, problems } = await store.list();
	expect([sessions.length, problems]).toEqual([1000, []]);
	expect(sessions.every(({ session, project }) => project === `shop-${Number(session.slice(2)) % 3}`)).toBe(true);
	expect(bucket.asked.length, bucket.asked.join()).toBeLessThanOrEqual(10);
	await store.close();
});

test("with 5,000 sessions of 20 hosts a start asks for ten things at most, and a session by its id for that one", async () => {
	const bucket = await fakeBucket(() => 0);
	fill(bucket, 5000);
	for (let at = 0; at < 20; at++) bucket.putPresence(`s-${at}`, `host-${at}`, Date.now());
	vi.stubEnv("AWS_ACCESS_KEY_ID", "me").stubEnv("AWS_SECRET_ACCESS_KEY", "s3cret");
	onTestFinished(() => void vi.unstubAllEnvs());
	const store = await openStore(bucket.address, { host: "laptop" });
	const sync = new SessionSync({ store, address: bucket.address, notes: emptyDirectory(), dir: join(emptyDirectory(), "none"), cwd: "/x", project: "shop" });
	const { items } = await sync.compare({ list: await store.list({ project: "shop", presence: true }) });
	expect(items).toHaveLength(5000);
	expect(bucket.asked.length, bucket.asked.join()).toBeLessThanOrEqual(10);
	bucket.asked.length = 0;
	expect(await sync.pull({ session: "s-7" })).toMatchObject([{ session: "s-7", isNew: true, added: 1, file: expect.stringMatching(/_s-7\.jsonl$/) }]);
	expect(bucket.asked.filter((key) => !key.startsWith("store")).every((key) => /s-7\b/.test(key)), bucket.asked.join()).toBe(true);
	await store.close();
});

test("a colleague's session that is begun while 300 older ones are pulled in the background comes before them", async () => {
	const bucket = await fakeBucket((key) => (/^lines\/.*\/s-\d+\./.test(key) ? 900 : 1));
	fill(bucket, 300);
	const at = machine(bucket);
	at.start(5000);
	await vi.waitFor(() => expect(at.here().length).toBeGreaterThan(0), LONG);
	bucket.put("new", { at: Date.now() });
	await vi.waitFor(() => expect(existsSync(at.fileOf("new"))).toBe(true), LONG);
	expect(at.here().length).toBeLessThan(300);
	expect(bucket.asked.filter((key) => /^lines\/.*\/s-299\./.test(key))).toEqual([]);
	await vi.waitFor(() => expect(at.here()).toHaveLength(301), LONG);
});

// Regression: each round waited for its largest session, and everybody's new lines with it.
test("a session that takes long does not hold back the others", async () => {
	let isSlow = true;
	const bucket = await fakeBucket((key) => (isSlow && /^lines\/.*\/big\./.test(key) ? 600_000 : 1));
	bucket.put("big", { at: Date.now() - DAY, content: "x".repeat(5 << 20) });
	const at = machine(bucket);
	at.start(5000);
	for (const session of ["first", "second"]) {
		bucket.put(session, { at: Date.now() });
		await vi.waitFor(() => expect(existsSync(at.fileOf(session))).toBe(true), LONG);
	}
	expect(existsSync(at.fileOf("big"))).toBe(false);
	isSlow = false;
	const next = machine(bucket);
	next.start(5000);
	await vi.waitFor(() => expect(next.here()).toHaveLength(3), LONG);
});
