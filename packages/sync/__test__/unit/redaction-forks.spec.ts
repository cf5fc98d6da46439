// A redacted text of a session does not come back by a fork that is stored later.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { SessionSync } from "../../lib/index.js";
import { header, SESSION, said, storedLines } from "../support/lines.js";
import { lined, linesIn, type Machine, world } from "../support/machines.js";

const FORK = "01972ab8-2280-7be3-8cc7-05ac027b6199";
const [first, other] = [said("a", null, "hello"), said("c", "b", "hunter2 again, but another entry")];
const secret = (parentId = "a") => said("b", parentId, "the password is hunter2");
const clean = (parentId = "a") => said("b", parentId, "the password is [redacted]");
const forkOf = ({ dir }: Machine) => join(dir, `2025-06-01T09-00-00-000Z_${FORK}.jsonl`);
const putFork = (machine: Machine, ...lines: Buffer[]) => {
	mkdirSync(machine.dir, { recursive: true });
	writeFileSync(forkOf(machine), lined(header(FORK), ...lines));
};

/** Machines, the first of which has redacted a text in a session. All have the session, except for the new machine. */
async function redacted() {
	const { machine, begin } = world();
	const [a, c, late, fresh] = ["a", "c", "late", "fresh"].map((name) => machine(name)) as [
		Machine,
		Machine,
		Machine,
		Machine,
	];
	begin(a, first, secret());
	await a.sync.push();
	for (const one of [c, late]) await one.sync.pull();
	expect((await a.sync.redact({ session: SESSION, file: a.file }, { text: "hunter2" })).error).toBeUndefined();
	await c.sync.pull();
	return { machine, a, c, late, fresh };
}

// Regression: it was pulled as a new session, without a comparison with the redactions.
test.each([
	["its own", "a"],
	["another one", "z"],
])("a pull redacts a later fork (entry below %s)", async (_, parent) => {
	for (const who of ["a", "c", "fresh"] as const) {
		const { late, ...machines } = await redacted();
		putFork(late, first, secret(parent), other);
		expect(await late.again().push({ session: FORK })).toMatchObject([{ lag: 0 }]);
		const expected = [first, clean(parent), other].map(String);
		const one = machines[who];
		const pulled = await one.again().pull();
		expect(pulled.map(({ error }) => error)).toEqual(pulled.map(() => undefined));
		expect(linesIn(forkOf(one)), who).toEqual(expected);
		expect(await storedLines(one.store, FORK), who).toEqual(expected);
		await late.again().pull();
		expect(linesIn(forkOf(late)), who).toEqual(expected);
		await late.again().push();
		expect(await storedLines(one.store, FORK), who).toEqual(expected);
	}
});

test("a pulled fork is never written with a redacted text", async () => {
	const { a, late } = await redacted();
	putFork(late, first, secret());
	await late.again().push({ session: FORK });
	// The store cannot receive the redaction.
	vi.spyOn(a.store, "redact").mockRejectedValueOnce(new Error("away"));
	expect(await a.again().pull({ session: FORK })).toMatchObject([{ error: { message: "away" } }]);
	expect(() => readFileSync(forkOf(a))).toThrow("ENOENT");
	expect(await a.again().pull({ session: FORK })).toMatchObject([{ isNew: true, added: 2 }]);
	expect(linesIn(forkOf(a))).toEqual([first, clean()].map(String));
});

test("a fork made from memory is redacted before its push", async () => {
	const { a } = await redacted();
	putFork(a, first, secret("z"), other);
	expect(await a.again().push({ session: FORK })).toMatchObject([{ lag: 0 }]);
	const expected = [first, clean("z"), other].map(String);
	expect(linesIn(forkOf(a))).toEqual(expected);
	expect(await storedLines(a.store, FORK)).toEqual(expected);
	rmSync(forkOf(a));
	await a.again().pull({ session: FORK });
	expect(linesIn(forkOf(a))).toEqual(expected);
});

test("a fork keeps its own redaction of an entry", async () => {
	const { a, late } = await redacted();
	await a.again().pull();
	putFork(late, first, said("b", "a", "the password is ***"));
	await late.again().push({ session: FORK });
	await a.again().pull();
	expect(linesIn(forkOf(a))[1]).toContain("***");
});

// Regression: all pulls waited until every session file of the machine had been read, so a pi that ran briefly pulled
// nothing.
test("sessions without redactions are pulled before copies are searched", async () => {
	const { machine, begin } = world();
	const [a, b] = [machine("a"), machine("b")];
	begin(a, first, secret());
	putFork(a, first, secret(), other);
	await a.sync.push();
	begin(b, first, secret());
	await a.sync.redact({ session: SESSION, file: a.file }, { text: "hunter2" });
	const otherFiles = vi.fn(() => {
		// Pulled lines are redacted in any case.
		expect(linesIn(forkOf(b))).toEqual([first, clean(), other].map(String));
		expect(readFileSync(b.file, "utf8")).toContain("hunter2");
		return [];
	});
	const pulled = await new SessionSync({ ...b.options, otherFiles }).pull();
	expect(pulled.map(({ error }) => error)).toEqual([undefined, undefined]);
	expect(otherFiles).toHaveBeenCalledTimes(1);
	expect(linesIn(b.file)).toEqual([first, clean()].map(String));
});

// Regression: the text was searched before the file was written, and the loaded lines brought it back.
test("lines that are redacted during a pull stay redacted", async () => {
	const { machine, begin } = world();
	const [a, b] = [machine("a"), machine("b")];
	begin(a, first, secret());
	await a.sync.push();
	let asked = 0;
	// It is read for the list, and again before the file is written.
	const isOpen = async () => {
		if (++asked === 2)
			expect((await b.again().redact({ session: SESSION, file: b.file }, { text: "hunter2" })).error).toBeUndefined();
		return false;
	};
	begin(b, first, secret());
	const pulled = await new SessionSync({ ...b.options, isOpen }).pull();
	expect(pulled).toMatchObject([{ session: SESSION, problems: [] }]);
	expect(linesIn(b.file)).toEqual([first, clean()].map(String));
	expect(await storedLines(b.store, SESSION)).toEqual([first, clean()].map(String));
});

// Regression: the line was not pushed, although this machine knows its replacement.
test("a push redacts and stores a fork with a secret", async () => {
	const { a } = await redacted();
	putFork(a, first, secret(), other);
	const secretIn = (line: Uint8Array) => (Buffer.from(line).includes("password is hunter2") ? "a password" : undefined);
	expect(await new SessionSync({ ...a.options, secretIn }).push({ session: FORK })).toMatchObject([{ lag: 0 }]);
	expect(linesIn(forkOf(a))).toEqual([first, clean(), other].map(String));
	expect(await storedLines(a.store, FORK)).toEqual([first, clean(), other].map(String));
});
