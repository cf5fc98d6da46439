// The state of one case while it is generated: the two sides, the existing sessions, and the choices. All of it is read
// from the reference's side, so that choosing the next step creates no objects in the module under test.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Manager } from "../../support/reference.js";
import type { Random } from "./random.js";
import type { Side } from "./side.js";
import { type Arg, literal, named, type ReadPlan } from "./steps.js";

export interface Traits {
	/** Contents that remove a session from the reference's list, because it fails on them. Such a case lists nothing. */
	oddContent: boolean;
	/** The probability that reads follow a step. */
	readRate: number;
	agentDir: string | undefined;
	/** Files with lines that pi never wrote. They are compared by value, not by bytes. */
	hostile: boolean;
	/** The module under test differs on purpose (docs/moving-from-pi.md). */
	better: boolean;
}

type AnyEntry = Record<string, unknown>;

const CWDS = [
	"<root>/proj",
	"<root>/proj/",
	"<root>/proj/../proj2",
	"proj",
	"~",
	"~/proj",
	"file://<root>/url proj",
	"<root>/a:b\\c",
	"<root>/ünï",
	".",
	"",
];
const DIRS = [
	"<root>/sessions-a",
	"<root>/sessions-b/",
	"rel-sessions",
	"~/home-sessions",
	"file://<root>/url-sessions",
	"<root>/deep/new/dir",
	"",
];

export class World {
	steps = 0;
	private now = 1700000000000;

	constructor(
		readonly r: Random,
		readonly reference: Side,
		readonly traits: Traits,
	) {}

	/**
	 * The number and time of the next step. A step that names a file gets a time of its own, because ids are random but
	 * names are not.
	 */
	nextStep(keepsTime: boolean): { n: number; now: number } {
		const n = this.steps++;
		if (!keepsTime || this.r.chance(0.7)) {
			this.now =
				1700000000000 +
				n * 1000 +
				this.r.int(999) +
				this.r.weighted([
					[12, 0],
					[1, -86_400_000_000],
					[1, 86_400_000_000],
				]);
		}
		return { n, now: this.now };
	}

	entries(slot: string): AnyEntry[] {
		return this.reference.manager(slot).getEntries?.() as AnyEntry[];
	}

	/** Ids can be used once both sides have a name for them. */
	private nameable(entries: readonly AnyEntry[]): string[] {
		return entries.map((entry) => entry.id).filter((id): id is string => this.reference.names.knows(id));
	}

	/** The id of an entry; with `oddity` sometimes one that does not exist. `among` limits the choice if possible. */
	entryId(slot: string, oddity = 0.1, among?: (entry: AnyEntry) => boolean): Arg {
		if (this.r.chance(oddity)) return literal(this.r.pick(["0badc0de", "", "root", undefined, null, 5]));
		const entries = this.entries(slot);
		const narrowed = among ? this.nameable(entries.filter(among)) : [];
		const ids = narrowed.length > 0 ? narrowed : this.nameable(entries);
		return ids.length > 0 ? named(this.reference.names.normalise(this.r.pick(ids))) : literal("0badc0de");
	}

	readPlan(slot: string | undefined): ReadPlan | undefined {
		if (!this.r.chance(this.traits.readRate)) return undefined;
		const entries = slot && this.reference.managers.has(slot) ? this.nameable(this.entries(slot)) : [];
		const ids = Array.from({ length: Math.min(2, entries.length) }, () =>
			this.reference.names.normalise(this.r.pick(entries)),
		);
		return { seed: this.r.uint32(), ids };
	}

	slots(): string[] {
		return [...this.reference.managers.keys()];
	}

	/** The session's file exists: from now on each append adds one line to it. */
	hasFile(slot: string): boolean {
		const manager: Manager = this.reference.manager(slot);
		const file = manager.getSessionFile?.();
		return manager.isPersisted?.() === true && typeof file === "string" && existsSync(file);
	}

	cwd(): Arg {
		return named(this.r.pick(CWDS));
	}

	sessionDir(): Arg {
		return this.r.chance(0.4) ? literal(undefined) : named(this.r.pick(DIRS));
	}

	/** Options for a new session, including invalid ids. */
	sessionOptions(): Arg {
		return literalObject(
			this.r.weighted<Record<string, unknown> | null | undefined>([
				[6, undefined],
				[1, null],
				[1, {}],
				[3, { id: `custom-${this.steps}.A_z` }],
				[2, { parentSession: "/elsewhere/parent.jsonl" }],
				[1, { id: `both-${this.steps}`, parentSession: "x" }],
				[2, { id: this.r.pick(["", "-starts", "ends.", "has space", "a/b", "ünï", "a\n", "../up"]) }],
				[1, { id: null }],
				[1, { id: undefined, parentSession: undefined }],
			]),
		);
	}

	/** The existing session files, normalised. */
	files(): string[] {
		const found: string[] = [];
		const walk = (dir: string) => {
			for (const item of readdirSync(dir, { withFileTypes: true })) {
				const path = join(dir, item.name);
				if (item.isDirectory()) walk(path);
				else if (item.name.endsWith(".jsonl")) found.push(this.reference.names.normalise(path));
			}
		};
		walk(this.reference.root);
		return found.sort();
	}

	/** A session file, or sometimes a path that is none, in one of the forms that a path may have. */
	file(): Arg {
		const files = this.files();
		if (files.length === 0 || this.r.chance(0.1))
			return named(this.r.pick(["<root>/missing/none.jsonl", "missing.jsonl", "~/missing.jsonl", "<root>"]));
		const file = this.r.pick(files);
		return named(
			this.r.weighted([
				[8, file],
				[1, file.replace("<root>/", "")],
				[1, file.replace("<root>/", "./")],
				[1, `file://${file}`],
			]),
		);
	}
}

function literalObject(value: Record<string, unknown> | null | undefined): Arg {
	return {
		show: () =>
			value ? JSON.stringify(value, (_, v: unknown) => (v === undefined ? "<undefined>" : v)) : String(value),
		get: () => value && { ...value },
	};
}
