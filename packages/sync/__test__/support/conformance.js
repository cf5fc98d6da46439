// The rules for every store, as cases for any test runner:
//
//   for (const { name, run } of conformanceCases) test(name, async () => run({ open: (host) => … }));
const assert = require("node:assert/strict");
const { setImmediate: nextTurn } = require("node:timers/promises");
const { StoreError, compareLines, loadAll } = require("../../lib/index.js");
const { hashOf } = require("../../lib/base/redaction-rules.js");

/** @typedef {import("../../lib/index").LineStore} LineStore */
/** @typedef {import("./conformance").StoreUnderTest} StoreUnderTest */

const SESSION = "01972ab8-2280-7be3-8cc7-05ac027b6185";

/** @param {string} [session] */
const newHeader = (session = SESSION) =>
	Buffer.from(
		`{"type":"session","version":3,"id":"${session}","timestamp":"2025-06-01T09:00:00.000Z","cwd":"/home/me/shop"}`,
	);

/** @param {string} id @param {string} [text] */
const entry = (id, text = id) =>
	Buffer.from(`{"type":"message","id":"${id}","parentId":null,"message":{"role":"user","content":"${text}"}}`);

/** @param {string} letter @param {number} count */
const entries = (letter, count) => Array.from({ length: count }, (_, at) => entry(`${letter}${at}`));

/** @param {import("../../lib/index").Page} page */
const texts = (page) => page.lines.map(({ line }) => line.toString("latin1"));

/** @param {readonly Uint8Array[]} lines */
const asTexts = (lines) => lines.map((line) => Buffer.from(line).toString("latin1"));

/** @param {LineStore} store @param {readonly Uint8Array[]} lines @param {string} [after] */
const append = (store, lines, after) => store.append(SESSION, { header: newHeader(), lines, after });

/** @param {Promise<unknown>} work @param {import("../../lib/index").StoreErrorCode} code */
async function rejects(work, code) {
	await assert.rejects(work, (error) => {
		assert(error instanceof StoreError, `a StoreError is expected, this is ${error}`);
		assert.equal(error.code, code, error.message);
		return true;
	});
}

/** @param {LineStore} store @param {{ session: string }} [filter] */
async function listsNothing(store, filter) {
	const { sessions, problems } = await store.list(filter);
	assert.deepEqual([sessions, problems], [[], []]);
}

/**
 * Repeats a call as its caller would: a store may report any error as retryable.
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
async function persist(work) {
	for (let tries = 1; ; tries++)
		try {
			return await work();
		} catch (error) {
			if (tries === 50 || !(error instanceof StoreError) || !error.retryable) throw error;
		}
}

/** Lines that show whether a store keeps bytes or text. */
const HOSTILE = [
	Buffer.from('{"type":"message","id":"nul","text":"\\u0000"}'),
	Buffer.from('{"type":"message","id":"surrogate","text":"\\ud83d"}'),
	Buffer.from('{"type":"custom","id":"\\u0000\\ud800"}'),
	Buffer.concat([
		Buffer.from('{"type":"message","id":"utf8","text":"'),
		Buffer.from([0xff, 0xc3, 0xed, 0xa0, 0x80]),
		Buffer.from('"}'),
	]),
	Buffer.from(' {"id" : "spaces","type":"x", "n": 1.0e400, "n": -0}\t\r'),
	Buffer.from('{"type":"message","id":"separators","text":"\u2028\u2029\ufeff\\n"}'),
	Buffer.from('{"type":"quotes","id":"\'\\"\\\\{},NULL\\\\x00"}'),
	Buffer.from(`{"type":"message","id":"${"long".repeat(2000)}"}`),
	Buffer.from(`{"type":"message","id":"deep","x":${"[".repeat(2000)}${"]".repeat(2000)}}`),
];

/** @type {Record<string, (store: StoreUnderTest) => Promise<void>>} */
const CASES = {
	async "lines come back byte for byte, in order"({ open }) {
		const store = await open("a");
		const appended = await append(store, HOSTILE);
		assert.equal(appended.stored, HOSTILE.length);
		const page = await store.load(SESSION);
		assert.deepEqual(texts(page), asTexts(HOSTILE));
		assert.deepEqual(page.problems, []);
		assert.equal(page.more, false);
		assert(page.lines.every(({ host }) => host === "a"));
	},

	async "an append of no lines creates no session"({ open }) {
		const store = await open("a");
		const page = await store.load(SESSION);
		assert.deepEqual([page.lines, page.more, page.problems], [[], false, []]);
		assert.deepEqual([await store.redactions(SESSION), await store.header(SESSION)], [[], undefined]);
		assert.equal((await append(store, [])).stored, 0);
		await listsNothing(store);
		await listsNothing(store, { session: SESSION });
		await store.delete(SESSION);
		const { cursor } = await append(await open("b"), entries("b", 1));
		assert.deepEqual(texts(await store.load(SESSION, page.cursor)), asTexts(entries("b", 1)));
		assert.equal((await append(await open("b"), [], cursor)).stored, 0);
		assert.deepEqual((await store.load(SESSION, cursor)).lines, []);
	},

	async "an append may be repeated in other portions"({ open }) {
		const store = await open("a");
		const lines = entries("a", 4);
		const start = (await append(store, lines.slice(0, 2))).cursor;
		assert.equal((await append(store, lines.slice(2, 3), start)).stored, 1);
		// As after a crash: the answer was lost, and the file has grown since then.
		assert.equal((await append(store, lines.slice(2), start)).stored, 1);
		assert.equal((await append(store, lines)).stored, 0);
		assert.equal((await append(await open("a"), [...lines, ...lines])).stored, 0);
		const page = await store.load(SESSION);
		assert.deepEqual(texts(page), asTexts(lines));
	},

	// The caller loads the lines that were appended meanwhile. If that fails, it appends the same lines again.
	async "an append's cursor has not passed lines of others"({ open }) {
		const [store, process] = [await open("a"), await open("a")];
		const { cursor } = await append(store, entries("a", 1));
		await append(process, entries("b", 1), cursor);
		const { cursor: own } = await append(store, entries("c", 1), cursor);
		const { cursor: others } = await append(process, entries("d", 1));
		for (const after of [own, others])
			assert(
				texts(await loadAll(store, SESSION, after)).includes(String(entry("b0"))),
				"a line that the host has not loaded is passed",
			);
		for (const one of [store, process, store]) assert.equal((await append(one, entries("c", 1), cursor)).stored, 0);
		assert.deepEqual(texts(await store.load(SESSION)), asTexts([..."abcd"].flatMap((letter) => entries(letter, 1))));
	},

	async "equal lines of any hosts are one entry"({ open }) {
		const [a, b] = [await open("a"), await open("b")];
		await append(a, entries("x", 3));
		await append(b, [...entries("x", 3), ...entries("y", 1)]);
		assert.deepEqual(texts(await loadAll(a, SESSION)), asTexts([...entries("x", 3), ...entries("y", 1)]));
		// Lines with equal ids are not equal.
		await append(a, [entry("x0", "another text")]);
		assert.equal((await loadAll(b, SESSION)).lines.length, 5);
	},

	async "lines that are appended later come later"({ open }) {
		// Sorted by their ids they would have the other order.
		const [z, a] = [await open("z"), await open("a")];
		await append(z, entries("z", 3));
		const seen = (await a.load(SESSION)).cursor;
		await append(a, entries("a", 2), seen);
		const all = asTexts([...entries("z", 3), ...entries("a", 2)]);
		assert.deepEqual(texts(await loadAll(a, SESSION)), all);
		assert.deepEqual(texts(await loadAll(z, SESSION)), all);
		const again = (await z.load(SESSION)).cursor;
		await append(z, entries("y", 1), again);
		const page = await a.load(SESSION, again);
		assert.deepEqual([texts(page), page.comesAfter], [asTexts(entries("y", 1)), true]);
		assert.deepEqual(texts(await loadAll(a, SESSION)), [...all, ...asTexts(entries("y", 1))]);
	},

	async "hosts that never met see one order, and every line once"({ open }) {
		const hosts = await Promise.all(["c", "a", "b"].map(open));
		for (let round = 0; round < 3; round++)
			for (const store of hosts) {
				const own = await loadAll(store, SESSION);
				await append(store, entries(`${store.host}${round}-`, 2), round === 1 ? own.cursor : undefined);
			}
		const seen = await Promise.all(hosts.map((store) => loadAll(store, SESSION)));
		assert.equal(seen[0]?.lines.length, 18);
		for (const page of seen) assert.deepEqual(texts(page), texts(seen[0]));
		assert.deepEqual([...(seen[0]?.lines ?? [])].sort(compareLines), seen[0]?.lines);
	},

	async "a reader that polls misses nothing while several write"({ open }) {
		const writers = await Promise.all(["a", "b", "c", "a"].map(open));
		const reader = await open("r");
		const seen = new Set();
		let [writing, cursor] = [true, /** @type {string | undefined} */ (undefined)];
		const poll = async () => {
			const page = await persist(() => reader.load(SESSION, cursor));
			for (const text of texts(page)) seen.add(text);
			cursor = page.cursor;
			assert.deepEqual(page.problems, []);
			return page.more;
		};
		const write = async (/** @type {LineStore} */ store, /** @type {number} */ at) => {
			/** @type {string | undefined} */
			let after;
			for (let round = 0; round < 20; round++) {
				const lines = [entry(`w${at}-${round}-0`), entry(`w${at}-${round}-1`)];
				after = (await persist(() => append(store, lines, after))).cursor;
			}
		};
		const polling = (async () => {
			// A store in memory may answer before the writers' timers have a turn.
			for (; writing; await nextTurn()) await poll();
		})();
		const written = Promise.all(writers.map(write)).finally(() => {
			writing = false;
		});
		await Promise.all([written, polling]);
		while (await poll());
		assert.equal(seen.size, writers.length * 40);
		const all = await loadAll(reader, SESSION);
		assert.equal(all.lines.length, seen.size);
		// Each writer's lines are in the order in which it wrote them.
		for (const at of writers.keys()) {
			const own = texts(all).filter((text) => text.includes(`"id":"w${at}-`));
			assert.deepEqual(own, asTexts(Array.from({ length: 40 }, (_, n) => entry(`w${at}-${n >> 1}-${n & 1}`))));
		}
	},

	async "a line that a killed writer left incomplete is ignored"({ open, tear }) {
		if (!tear) return;
		const [a, b] = [await open("a"), await open("b")];
		const { cursor } = await append(a, entries("a", 2));
		await append(b, entries("b", 1), (await b.load(SESSION)).cursor);
		await tear(SESSION, "a");
		const torn = await loadAll(b, SESSION);
		assert.deepEqual([texts(torn), torn.problems], [asTexts([...entries("a", 2), ...entries("b", 1)]), []]);
		await append(await open("a"), entries("c", 1), cursor);
		await tear(SESSION, "a");
		await append(await open("a"), entries("d", 1));
		const page = await loadAll(b, SESSION);
		assert.deepEqual(
			texts(page).sort(),
			asTexts([...entries("a", 2), ...entries("b", 1), ...entries("c", 1), ...entries("d", 1)]),
		);
		assert.deepEqual(page.problems, []);
	},

	async "many small appends stay readable with old cursors"({ open }) {
		const store = await open("a");
		const cursors = [];
		let after;
		for (let at = 0; at < 140; at++) {
			if (at % 20 === 0) cursors.push({ at, cursor: (await store.load(SESSION)).cursor });
			after = (await append(store, [entry(`n${at}`)], after)).cursor;
		}
		const all = entries("n", 140);
		assert.deepEqual(texts(await loadAll(await open("b"), SESSION)), asTexts(all));
		for (const { at, cursor } of cursors)
			assert.deepEqual(texts(await loadAll(store, SESSION, cursor)), asTexts(all.slice(at)));
	},

	async "a long session is loaded in any number of pages"({ open }) {
		const [a, b] = [await open("a"), await open("b")];
		const large = (/** @type {string} */ id) => entry(id, id.padEnd(1024 * 1024, "x"));
		let after;
		const lines = [];
		for (let at = 0; at < 24; at += 2) {
			const portion = [large(`n${at}`), large(`n${at + 1}`)];
			after = (await append(at < 12 ? a : b, portion, at === 12 ? (await loadAll(b, SESSION)).cursor : after)).cursor;
			lines.push(...portion);
		}
		const all = await loadAll(b, SESSION);
		assert.equal(all.lines.length, 24);
		for (const [at, { line }] of all.lines.entries()) assert(line.equals(/** @type {Buffer} */ (lines[at])));
		assert.equal(all.more, false);
	},

	async "the first append decides the header and the project"({ open }) {
		const [a, b] = [await open("a"), await open("b")];
		const ids = ["s-1", "S-1", "s.2", SESSION];
		for (const session of ids) {
			const project = session === SESSION ? undefined : "github.com/me/shop";
			const { cursor } = await b.append(session, { header: newHeader(session), lines: entries("b", 1), project });
			const other = Buffer.from(newHeader(session).toString().replace("/home/me/shop", "/elsewhere"));
			await a.append(session, {
				header: other,
				lines: entries("a", 1),
				project: "another",
				after: (await a.load(session, undefined)).cursor,
			});
			assert(cursor);
		}
		const { sessions, problems } = await a.list();
		assert.deepEqual(problems, []);
		assert.deepEqual(
			sessions.map(({ session }) => session),
			[...ids].sort(),
		);
		for (const { session, project, hosts, bytes, modified } of sessions) {
			assert.equal(String(await b.header(session)), newHeader(session).toString());
			assert.equal(project, session === SESSION ? undefined : "github.com/me/shop");
			assert.deepEqual(hosts, ["a", "b"]);
			assert(
				bytes >=
					entries("b", 1)
						.concat(entries("a", 1))
						.reduce((sum, line) => sum + line.length, 0),
			);
			assert(modified instanceof Date && !Number.isNaN(modified.getTime()));
		}
		const { store } = await b.list();
		const some = await b.list({ project: "github.com/me/shop" });
		assert.deepEqual([some.store, (await a.list({ session: "not-there" })).store], [store, store]);
		assert.deepEqual(
			some.sessions.map(({ session }) => session),
			["S-1", "s-1", "s.2"],
		);
		const one = await b.list({ session: "S-1" });
		assert.deepEqual(
			one.sessions.map(({ session }) => session),
			["S-1"],
		);
		assert.equal((await loadAll(a, "S-1")).lines.length, 2);
	},

	async "a moved project keeps lines that are appended meanwhile"({ open }) {
		const [a, b] = [await open("a"), await open("b")];
		const of = (
			/** @type {string} */ session,
			/** @type {string} */ project,
			/** @type {Buffer[]} */ lines,
			/** @type {string} */ after,
		) => b.append(session, { header: newHeader(session), lines, project, after });
		const { cursor } = await of(SESSION, "old", entries("a", 2));
		await of("new", "new", entries("n", 1));
		await of("other", "other", entries("o", 1));
		const listed = async (/** @type {string} */ project) =>
			(await a.list({ project })).sessions.map(({ session, project }) => [session, project]);
		const [, again] = await Promise.all([a.move("old", "new"), of(SESSION, "old", entries("b", 2), cursor)]);
		await of(SESSION, "new", entries("c", 1), again.cursor);
		assert.deepEqual(await listed("new"), [
			[SESSION, "new"],
			["new", "new"],
		]);
		assert.deepEqual(
			(await a.list({ session: SESSION, project: "new" })).sessions.map(({ session }) => session),
			[SESSION],
		);
		assert.deepEqual(await listed("other"), [["other", "other"]]);
		assert.deepEqual(
			texts(await loadAll(a, SESSION)),
			asTexts([...entries("a", 2), ...entries("b", 2), ...entries("c", 1)]),
		);
		assert.deepEqual(texts(await loadAll(a, SESSION, cursor)), asTexts([...entries("b", 2), ...entries("c", 1)]));
		// Again, under a third name, and from a name that does not exist.
		await a.move("new", "third");
		await a.move("nothing", "third");
		const named = async () => (await a.list()).sessions.map(({ session, project }) => [session, project]).sort();
		assert.deepEqual(await named(), [
			[SESSION, "third"],
			["new", "third"],
			["other", "other"],
		]);
		assert.deepEqual(await listed("third"), [
			[SESSION, "third"],
			["new", "third"],
		]);
		await a.delete(SESSION);
		assert.deepEqual(await listed("third"), [["new", "third"]]);
		assert.deepEqual(
			(await a.list({ project: "third" })).deleted.map(({ session }) => session),
			[SESSION],
		);
		// @ts-expect-error: a name is text
		for (const [from, to] of [
			["a\0", "b"],
			["a", 5],
		])
			await rejects(a.move(from, to), "invalid");
	},

	// Regression: marks of `move` were found by the beginning of their names, and sessions with such names were deleted.
	async "sessions named like marks survive a move there and back"({ open }) {
		const store = await open("a");
		const named = ["from", "from.x", `from.${"0".repeat(32)}`, "to", "to.do", `to.${"0".repeat(32)}`];
		for (const session of named)
			await store.append(session, { header: newHeader(session), lines: entries("a", 2), project: "old" });
		await store.delete("to.do");
		const ids = named.filter((session) => session !== "to.do").sort();
		for (const [from, to] of /** @type {const} */ ([
			["old", "typo"],
			["typo", "old"],
			["old", "new"],
			["new", "third"],
			// These sessions have another name already.
			["old", "fourth"],
		])) {
			await store.move(from, to);
			const project = to === "fourth" ? "third" : to;
			const { sessions, problems } = await store.list();
			assert.deepEqual(
				sessions.map((one) => [one.session, one.project]),
				ids.map((session) => [session, project]),
			);
			const listed = await store.list({ project });
			assert.deepEqual([listed.sessions.map(({ session }) => session), problems], [ids, []]);
			assert.deepEqual(
				listed.deleted.map(({ session }) => session),
				["to.do"],
			);
			if (to === "old") assert.deepEqual((await store.list({ project: from })).sessions, []);
			for (const session of ids) assert.deepEqual(texts(await loadAll(store, session)), asTexts(entries("a", 2)));
		}
	},

	async "a deleted session is gone, and old cursors say so"({ open }) {
		const [a, b] = [await open("a"), await open("b")];
		const { cursor } = await append(a, entries("a", 3));
		const seen = (await b.load(SESSION)).cursor;
		await b.append("another", { header: newHeader("another"), lines: entries("a", 1) });
		await b.delete(SESSION);
		assert.deepEqual([(await a.load(SESSION)).lines, await a.header(SESSION)], [[], undefined]);
		assert.deepEqual(
			(await a.list()).sessions.map(({ session }) => session),
			["another"],
		);
		await rejects(a.load(SESSION, cursor), "reset");
		for (const after of [cursor, seen, undefined]) await rejects(append(a, entries("b", 1), after), "deleted");
		const { deleted } = await b.list();
		assert.deepEqual(
			deleted.map(({ session }) => session),
			[SESSION],
		);
		assert(deleted[0]?.at instanceof Date && !Number.isNaN(deleted[0].at.getTime()));
		assert.deepEqual((await a.list({ session: SESSION })).deleted, deleted);
		assert.deepEqual((await a.list({ session: "another" })).deleted, []);
		// If it is repeated, nothing changes.
		await a.delete(SESSION);
		assert.deepEqual((await b.list()).deleted, deleted);
	},

	async "a redacted line is replaced for ever"({ open }) {
		const [a, b] = [await open("a"), await open("b")];
		const [secret, other, kept] = /** @type {[Buffer, Buffer, Buffer]} */ ([
			entry("s", "a secret"),
			entry("o", "another"),
			entry("k"),
		]);
		const masked = entry("s", "[redacted]");
		await rejects(a.redact(SESSION, [{ hash: hashOf(secret) }]), "not-found");
		const { cursor } = await append(a, [secret, kept]);
		const seen = (await b.load(SESSION)).cursor;
		await append(b, [other, entry("z")], seen);
		const { redactions: before } = /** @type {import("../../lib/index").StoredSession} */ (
			(await a.list()).sessions[0]
		);
		await b.redact(SESSION, [{ hash: hashOf(secret), line: masked }, { hash: hashOf(other) }]);
		assert.deepEqual(texts(await loadAll(a, SESSION)), asTexts([masked, kept, entry("z")]));
		const { redactions: after } = /** @type {import("../../lib/index").StoredSession} */ ((await a.list()).sessions[0]);
		assert(after > before, `${after} redactions, ${before} before`);
		const listed = await a.redactions(SESSION);
		assert.deepEqual(
			listed.map(({ hash, line }) => [hash, line?.toString()]).sort(),
			[
				[hashOf(secret), masked.toString()],
				[hashOf(other), undefined],
			].sort(),
		);
		// Old cursors are still valid, or are refused. Neither the lines nor their replacements are stored again.
		const again = await append(a, [secret, other], cursor).catch((error) => assert.equal(error.code, "reset"));
		assert.equal(again?.stored ?? 0, 0);
		for (const store of [a, b, await open("c")]) assert.equal((await append(store, [secret, other, masked])).stored, 0);
		const c = await open("c");
		assert.equal((await append(c, [secret, entry("c")], (await loadAll(c, SESSION)).cursor)).stored, 1);
		assert.deepEqual(texts(await loadAll(b, SESSION)), asTexts([masked, kept, entry("z"), entry("c")]));
		// A replacement may be redacted, too, and so may a line that is not stored yet.
		await a.redact(SESSION, [{ hash: hashOf(masked), line: entry("s", "[gone]") }, { hash: hashOf(entry("later")) }]);
		assert.deepEqual(texts(await loadAll(b, SESSION)), asTexts([entry("s", "[gone]"), kept, entry("z"), entry("c")]));
		assert.equal((await append(b, [secret, masked, entry("later")])).stored, 0);
		assert.equal(
			(await a.redactions(SESSION)).find(({ hash }) => hash === hashOf(secret))?.line?.toString(),
			entry("s", "[gone]").toString(),
		);
		// The replacement of a line that is not stored is stored like any other line.
		await a.redact(SESSION, [{ hash: hashOf(entry("n", "never stored")), line: entry("n") }]);
		assert.equal(
			(await append(c, [entry("n", "never stored"), entry("n")], (await loadAll(c, SESSION)).cursor)).stored,
			1,
		);
		assert.deepEqual(
			texts(await loadAll(a, SESSION)),
			asTexts([entry("s", "[gone]"), kept, entry("z"), entry("c"), entry("n")]),
		);
		await a.delete(SESSION);
		await rejects(b.redact(SESSION, [{ hash: hashOf(kept) }]), "deleted");
	},

	async "wrong redactions are refused"({ open }) {
		const store = await open("a");
		await append(store, [entry("a"), entry("b")]);
		const [a, b] = [hashOf(entry("a")), hashOf(entry("b"))];
		const bad = [
			undefined,
			[{}],
			[{ hash: "x" }],
			[{ hash: a.toUpperCase() }],
			[{ hash: a, line: Buffer.from("[]") }],
			[{ hash: a, line: "text" }],
			[{ hash: a, line: entry("a") }],
		];
		// @ts-expect-error: some are not of their type
		for (const redactions of [
			...bad,
			[
				{ hash: a, line: entry("b") },
				{ hash: b, line: entry("a") },
			],
		])
			await rejects(store.redact(SESSION, redactions), "invalid");
		await rejects(store.redact("../x", []), "invalid");
		await rejects(store.redactions("../x"), "invalid");
		assert.deepEqual(texts(await store.load(SESSION)), asTexts([entry("a"), entry("b")]));
	},

	async "wrong ids, entries, headers and cursors are refused"({ open }) {
		const store = await open("a");
		const header = newHeader();
		for (const session of [
			"",
			"..",
			"a/b",
			"../x",
			"a\\b",
			".a",
			"a.",
			"a\0",
			"ü",
			"a b",
			"x".repeat(300),
			"con",
			"NUL",
			"aux.txt",
		]) {
			await rejects(store.append(session, { header, lines: entries("a", 1) }), "invalid");
			await rejects(store.load(session), "invalid");
			await rejects(store.header(session), "invalid");
			await rejects(store.delete(session), "invalid");
			await rejects(store.list({ session }), "invalid");
		}
		for (const line of [
			"",
			"{",
			"[]",
			"null",
			'{"type":"message"}',
			'{"type":"message","id":1}',
			'{"type":"session","id":"x"}',
			'{"id":"x",\n"type":"y"}',
		])
			await rejects(append(store, [entry("good"), Buffer.from(line)]), "invalid");
		for (const bad of [
			"",
			"{}",
			'{"type":"session","id":"another"}',
			`${header}\n`,
			`{"type":"message","id":"${SESSION}"}`,
		])
			await rejects(store.append(SESSION, { header: Buffer.from(bad), lines: entries("a", 1) }), "invalid");
		for (const cursor of ["", "x", "[]", "{}", '{"clock":-1,"hosts":{}}', "1:", "-1:5", "9".repeat(40)]) {
			await rejects(store.load(SESSION, cursor), "reset");
			await rejects(append(store, entries("a", 1), cursor), "reset");
		}
		const lines = entries("a", 1);
		// @ts-expect-error: something is missing or not of its type
		for (const append of [undefined, { header }, { header, lines: 5 }, { lines }])
			await rejects(store.append(SESSION, append), "invalid");
		// @ts-expect-error: some are not even text
		for (const project of [5, null, "a\0", "\ud800", "x".repeat(2000)])
			await rejects(store.append(SESSION, { header, lines, project }), "invalid");
		// @ts-expect-error: text is not a line
		await rejects(append(store, ['{"type":"message","id":"x"}']), "invalid");
		await listsNothing(store);
		await rejects(open("../host"), "invalid");
	},
};

/** @type {readonly import("./conformance").ConformanceCase[]} */
exports.conformanceCases = Object.entries(CASES).map(([name, run]) => ({ name, run }));
