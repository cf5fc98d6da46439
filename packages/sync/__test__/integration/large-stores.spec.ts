// Many sessions in a bucket: the requests of the process beside pi, and their order.
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { openStore, SessionSync } from "../../lib/index.js";
import { LONG, machine } from "../support/beside.js";
import { type FakeBucket, fakeBucket } from "../support/fake-s3.js";
import { emptyDirectory } from "../support/lines.js";

const DAY = 86_400_000;

/** Sessions, each an hour older and smaller than the one before. */
function fill({ put }: FakeBucket, count: number): string[] {
	const ids = Array.from({ length: count }, (_, at) => `s-${at}`);
	for (const [at, id] of ids.entries())
		put(id, { at: Date.now() - DAY - at * 3_600_000, content: "x".repeat(count - at) });
	return ids;
}

// The small sessions came first, so a colleague's newest entries came last, or never.
test("a first start pulls the newest of 300 sessions first", async () => {
	const bucket = await fakeBucket(() => 5);
	const ids = fill(bucket, 300);
	const at = machine(bucket.address, bucket.env);
	const first = at.open("mine");
	await vi.waitFor(() => expect(at.here()).toHaveLength(300), LONG);
	await first.close();
	const [bodies, heads] = [/^lines\/.*\.lines$/, /^headers\//].map((what) =>
		bucket.asked.map((key, nth) => ({ key, nth })).filter(({ key }) => what.test(key)),
	);
	expect([bodies?.length, heads?.length]).toEqual([300, 300]);
	// The number of sessions in work is the number of parallel requests.
	const newest = new Set(ids.slice(0, 64).map((id) => `headers/${id}`));
	expect(heads?.slice(0, 32).every(({ key }) => newest.has(key))).toBe(true);
	expect(heads?.filter(({ nth }) => nth < (bodies?.[0]?.nth ?? 0)).length).toBeLessThan(64);
	bucket.asked.length = 0;
	await at.open("mine").close();
	expect(bucket.asked.length, bucket.asked.join()).toBeLessThanOrEqual(10);
});

// Regression: the header and the project of each session were read.
test("a list of 1,000 sessions needs at most ten requests", async () => {
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

test("a start with 5,000 sessions needs at most ten requests", async () => {
	const bucket = await fakeBucket(() => 0);
	fill(bucket, 5000);
	vi.stubEnv("AWS_ACCESS_KEY_ID", "me").stubEnv("AWS_SECRET_ACCESS_KEY", "s3cret");
	onTestFinished(() => void vi.unstubAllEnvs());
	const store = await openStore(bucket.address, { host: "laptop" });
	const sync = new SessionSync({
		store,
		address: bucket.address,
		notes: emptyDirectory(),
		dir: join(emptyDirectory(), "none"),
		cwd: "/x",
		project: "shop",
	});
	const { items } = await sync.compare({ list: await store.list({ project: "shop" }) });
	expect(items).toHaveLength(5000);
	expect(bucket.asked.length, bucket.asked.join()).toBeLessThanOrEqual(10);
	bucket.asked.length = 0;
	expect(await sync.pull({ session: "s-7" })).toMatchObject([
		{ session: "s-7", isNew: true, added: 1, file: expect.stringMatching(/_s-7\.jsonl$/) },
	]);
	expect(
		bucket.asked.filter((key) => !key.startsWith("store")).every((key) => /s-7\b/.test(key)),
		bucket.asked.join(),
	).toBe(true);
	await store.close();
});
