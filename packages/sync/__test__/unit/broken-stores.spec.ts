// The suite for stores finds faults: a store in memory passes it, and with each fault it fails the case of that rule.
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Append, Appended, LineStore, ListFilter, Page, Redaction, SessionList } from "../../lib/index.js";
import { StoreError } from "../../lib/index.js";
import { conformanceCases } from "../support/conformance.js";
import { library } from "../support/lines.js";

const require = createRequire(library);
const { checkAppend, checkProject } = require("./base/lines.js");
const { checkId } = require("./base/names.js");
const { hashOf, settleRedactions, toRedactions } = require("./base/redaction-rules.js");

/** For each fault, the case that must fail. */
const FAULTS = {
	"it keeps text, not bytes": "lines come back byte for byte, in order",
	"it says that lines are stored before they are": "lines come back byte for byte, in order",
	"an append of no lines makes a session": "an append of no lines creates no session",
	"it stores a line again": "an append may be repeated in other portions",
	"it takes its last cursor for the end of what it has stored": "an append's cursor has not passed lines of others",
	"of two lines with one id it stores one": "equal lines of any hosts are one entry",
	"its order is that of the hosts' names": "lines that are appended later come later",
	"each host sees its own lines first": "hosts that never met see one order, and every line once",
	"several processes of a host write at the same time": "a reader that polls misses nothing while several write",
	"what comes after a torn end is glued to it": "a line that a killed writer left incomplete is ignored",
	"a torn end is read": "a line that a killed writer left incomplete is ignored",
	"an old cursor has passed all but the last hundred lines": "many small appends stay readable with old cursors",
	"the first page is the last one": "a long session is loaded in any number of pages",
	"it keeps the header of who appended last": "the first append decides the header and the project",
	"a project keeps its name": "a moved project keeps lines that are appended meanwhile",
	"a move removes sessions": "sessions named like marks survive a move there and back",
	"it forgets that a session was deleted": "a deleted session is gone, and old cursors say so",
	"it takes the cursor of a session that was deleted": "a deleted session is gone, and old cursors say so",
	"a redacted line is stored again": "a redacted line is replaced for ever",
	"it takes anything for a redaction": "wrong redactions are refused",
	"it takes any id": "wrong ids, entries, headers and cursors are refused",
} as const;
type Fault = keyof typeof FAULTS;

interface Row {
	line: Buffer | undefined;
	host: string;
}

interface Session {
	header: Buffer;
	project?: string;
	rows: Row[];
	redacted: Map<string, Buffer | undefined>;
	deleted?: Date;
	isTorn: boolean;
}

interface Shared {
	id: string;
	sessions: Map<string, Session>;
	/** The hosts that have the session open, by session. */
}

const CURSOR = /^passed (\d{1,9})$/;
const PAGE_BYTES = 8 * 1024 * 1024;

class MemoryStore implements LineStore {
	readonly host: string;
	#shared: Shared;
	#fault: Fault | undefined;
	#lastCursor: string | undefined;

	constructor(shared: Shared, host: string, fault?: Fault) {
		this.host = checkId(host, "host");
		[this.#shared, this.#fault] = [shared, fault];
	}

	#has = (fault: Fault) => this.#fault === fault;

	#session(session: string): Session | undefined {
		if (!this.#has("it takes any id")) checkId(session, "session");
		return this.#shared.sessions.get(session);
	}

	/** The number of rows that a cursor has passed. */
	#passed(found: Session | undefined, cursor: string | undefined): number {
		if (cursor === undefined) return 0;
		const [, passed] = CURSOR.exec(cursor) ?? [];
		if (passed === undefined) throw new StoreError("reset", "The cursor is not one of this store");
		const isThere =
			found !== undefined && (!found.deleted || this.#has("it takes the cursor of a session that was deleted"));
		if (Number(passed) > 0 && !isThere) throw new StoreError("reset", "there is no such session");
		return Number(passed);
	}

	async append(session: string, append: Append): Promise<Appended> {
		let found = this.#session(session);
		const given: Buffer[] = checkAppend(session, append).map((line: Buffer) =>
			Buffer.from(this.#has("it keeps text, not bytes") ? line.toString() : line),
		);
		if (append.after !== undefined && !CURSOR.test(append.after))
			throw new StoreError("reset", "The cursor is not one of this store");
		if (found?.deleted) throw new StoreError("deleted", "it was deleted");
		const seen = this.#passed(found, append.after);
		if (given.length === 0 && !this.#has("an append of no lines makes a session"))
			return { stored: 0, cursor: append.after ?? "passed 0" };
		if (!found) {
			found = {
				header: Buffer.from(append.header),
				project: append.project,
				rows: [],
				redacted: new Map(),
				isTorn: false,
			};
			this.#shared.sessions.set(session, found);
		}
		const one = found;
		if (this.#has("it keeps the header of who appended last")) one.header = Buffer.from(append.header);
		const rows = this.#has("several processes of a host write at the same time") ? [...one.rows] : one.rows;
		const isLast = append.after !== undefined && append.after === this.#lastCursor;
		const idOf = (line: Buffer) => JSON.parse(String(line)).id;
		const isSame = (one: Buffer, other: Buffer) =>
			this.#has("of two lines with one id it stores one") ? idOf(one) === idOf(other) : one.equals(other);
		const isThere = (line: Buffer) =>
			!(isLast && this.#has("it takes its last cursor for the end of what it has stored")) &&
			rows.some((row) => row.line && isSame(row.line, line));
		const isRedacted = (line: Buffer) =>
			!this.#has("a redacted line is stored again") && one.redacted.has(hashOf(line));
		const fresh = [...new Map(given.map((line) => [line.toString("latin1"), line])).values()].filter(
			(line) => (this.#has("it stores a line again") || !isThere(line)) && !isRedacted(line),
		);
		const isNext = seen === rows.length;
		const write = () => {
			rows.push(
				...fresh
					.slice(one.isTorn && this.#has("what comes after a torn end is glued to it") ? 1 : 0)
					.map((line) => ({ line, host: this.host })),
			);
			one.isTorn = false;
			if (this.#has("its order is that of the hosts' names"))
				rows.sort((a, b) => (a.host < b.host ? -1 : a.host > b.host ? 1 : 0));
			one.rows = rows;
		};
		if (this.#has("several processes of a host write at the same time")) await pause(5);
		if (this.#has("it says that lines are stored before they are")) setTimeout(write, 50);
		else write();
		this.#lastCursor = `passed ${isNext ? rows.length : seen}`;
		return { stored: fresh.length, cursor: this.#lastCursor };
	}

	async load(session: string, after?: string): Promise<Page> {
		const found = this.#session(session);
		const passed = this.#passed(found, after);
		const page: Page = { lines: [], cursor: after ?? "passed 0", comesAfter: true, more: false, problems: [] };
		if (!found || found.deleted) return page;
		let [at, bytes] = [passed, 0];
		if (after !== undefined && this.#has("an old cursor has passed all but the last hundred lines"))
			at = Math.max(at, found.rows.length - 100);
		const rows = this.#has("each host sees its own lines first")
			? [...found.rows].sort((a, b) => Number(b.host === this.host) - Number(a.host === this.host))
			: found.rows;
		for (; at < rows.length && bytes < PAGE_BYTES; at++) {
			const { line, host } = rows[at] as Row;
			if (line) page.lines.push({ line, host, clock: at + 1, index: 0 });
			bytes += line?.length ?? 0;
		}
		if (found.isTorn && this.#has("a torn end is read"))
			page.problems.push({ session, where: "its end", message: "it is not a line" });
		return {
			...page,
			cursor: `passed ${at}`,
			more: at < found.rows.length && !this.#has("the first page is the last one"),
		};
	}

	async list({ session, project }: ListFilter = {}): Promise<SessionList> {
		if (session !== undefined) this.#session(session);
		const found = [...this.#shared.sessions]
			.filter(
				([id, one]) => (session === undefined || id === session) && (project === undefined || one.project === project),
			)
			.sort(([a], [b]) => (a < b ? -1 : 1));
		const isThere = ([, one]: [string, Session]) =>
			one.deleted === undefined && (one.rows.length > 0 || this.#has("an append of no lines makes a session"));
		return {
			sessions: found.filter(isThere).map(([id, { project, rows, redacted }]) => ({
				...{
					session: id,
					project,
					hosts: [...new Set(rows.map(({ host }) => host))].sort(),
					redactions: redacted.size,
				},
				...{ bytes: rows.reduce((sum, { line }) => sum + (line?.length ?? 0), 0), modified: new Date(0) },
			})),
			deleted: found.flatMap(([session, { deleted: at }]) => (at ? [{ session, at }] : [])),
			problems: [],
			store: this.#shared.id,
		};
	}

	async header(session: string): Promise<Buffer | undefined> {
		const found = this.#session(session);
		return found?.deleted ? undefined : found?.header;
	}

	async delete(session: string): Promise<void> {
		const found = this.#session(session);
		if (!found || found.deleted) return;
		if (this.#has("it forgets that a session was deleted")) this.#shared.sessions.delete(session);
		else Object.assign(found, { rows: [], deleted: new Date() });
	}

	async redact(session: string, redactions: readonly Redaction[]): Promise<void> {
		const found = this.#session(session);
		if (this.#has("it takes anything for a redaction")) return;
		const settled: Redaction[] = settleRedactions(session, redactions, found ? toRedactions(found.redacted) : []);
		if (!found) throw new StoreError("not-found", "there is no such session");
		if (found.deleted) throw new StoreError("deleted", "it was deleted");
		for (const { hash, line } of settled) found.redacted.set(hash, line && Buffer.from(line));
		for (const row of found.rows) {
			const hash = row.line && hashOf(row.line);
			if (hash !== undefined && found.redacted.has(hash)) row.line = found.redacted.get(hash);
		}
	}

	async redactions(session: string): Promise<Redaction[]> {
		const found = this.#session(session);
		return found ? toRedactions(found.redacted) : [];
	}

	async move(from: string, to: string): Promise<void> {
		for (const project of [from, to]) checkProject(project);
		if (this.#has("a project keeps its name")) return;
		if (this.#has("a move removes sessions"))
			for (const session of this.#shared.sessions.keys()) if (session.startsWith("to.")) await this.delete(session);
		for (const one of this.#shared.sessions.values()) if (one.project === from) one.project = to;
	}

	async close(): Promise<void> {}
}

async function result(run: (typeof conformanceCases)[number]["run"], fault?: Fault): Promise<string> {
	const shared: Shared = { id: randomUUID(), sessions: new Map() };
	const tear = async (session: string) => void ((shared.sessions.get(session) as Session).isTorn = true);
	return run({ open: async (host) => new MemoryStore(shared, host, fault), tear }).then(
		() => "passed",
		(error) => (error.name === "AssertionError" ? "failed" : `${error.code}`),
	);
}

test.each(conformanceCases)("a store in memory: $name", async ({ run }) => {
	expect(await result(run)).toBe("passed");
});

test("each case finds a fault", () => {
	expect(new Set(conformanceCases.map(({ name }) => name))).toEqual(new Set(Object.values(FAULTS)));
});

test.each(Object.entries(FAULTS))("%s: that is found by the case: %s", async (fault, name) => {
	const found = conformanceCases.find((one) => one.name === name);
	expect(found).toBeDefined();
	expect(await result((found as (typeof conformanceCases)[number]).run, fault as Fault)).not.toBe("passed");
});
