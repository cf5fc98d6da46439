// Steps that create something: a manager by a static method, a file, or a search.
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { attempt } from "./compare.js";
import { stampFiles } from "./files.js";
import { type HostileFile, render } from "./hostile.js";
import { Random } from "./random.js";
import { type Fields, session } from "./sessions.js";
import type { Side } from "./side.js";
import { type Arg, literal, made, named, type Step } from "./steps.js";
import type { World } from "./world.js";

/** Calls a static method, sometimes detached from its class, as callers do that pass it on. */
function callStatic(side: Side, method: string, args: readonly Arg[], detached: boolean): unknown {
	const values = args.map((arg) => arg.get(side));
	const call = side.module.SessionManager[method];
	return detached ? call?.(...values) : side.module.SessionManager[method]?.(...values);
}

/** Missing arguments and arguments of a wrong type, on which the reference fails at once. */
const BROKEN_ARGS: readonly (readonly [string, readonly unknown[]])[] = [
	["create", []],
	["create", [null]],
	["create", [5, "<root>/sessions-a"]],
	["open", []],
	["open", [null]],
	["inMemory", [null]],
	["inMemory", [5]],
	["continueRecent", []],
	["forkFrom", []],
	["forkFrom", ["<root>/missing/none.jsonl"]],
	["findById", []],
];

interface Maker {
	weight: number;
	method: string;
	args(world: World): Arg[];
}

const MAKERS: readonly Maker[] = [
	{ weight: 8, method: "create", args: (w) => [w.cwd(), w.sessionDir(), w.sessionOptions()] },
	{
		weight: 5,
		method: "open",
		args: (w) => [
			w.file(),
			...(w.r.chance(0.3)
				? [w.sessionDir(), ...(w.r.chance(0.5) ? [w.r.chance(0.1) ? literal(null) : w.cwd()] : [])]
				: []),
		],
	},
	{ weight: 2, method: "continueRecent", args: (w) => [w.cwd(), w.sessionDir()] },
	{ weight: 2, method: "inMemory", args: (w) => [w.r.chance(0.5) ? literal(undefined) : w.cwd(), w.sessionOptions()] },
	{ weight: 2, method: "inMemory", args: (w) => [w.cwd(), w.sessionOptions(), handedOver(w)] },
	{ weight: 3, method: "forkFrom", args: (w) => [w.file(), w.cwd(), w.sessionDir(), w.sessionOptions()] },
];

/** Entries in memory: an open manager's header and branch, or parsed ones of any version. */
function handedOver(world: World): Arg {
	const slots = world.slots();
	if (slots.length > 0 && world.r.chance(0.5)) {
		const slot = world.r.pick(slots);
		return {
			show: () => `[${slot}.getHeader(), ...${slot}.getBranch()]`,
			get: (side) => {
				const manager = side.managers.get(slot);
				return manager ? [manager.getHeader?.(), ...((manager.getBranch?.() ?? []) as unknown[])] : [];
			},
		};
	}
	return made(world.r, (r) => {
		const { header, entries } = session(r, {
			cwd: "/held/elsewhere",
			oddContent: world.traits.oddContent,
			maxEntries: 6,
		});
		// Without a header nothing is migrated, so an entry without an id would be damage.
		if (r.chance(0.15) && header.version !== undefined) return entries;
		return r.chance(0.1) ? [...entries, header] : [header, ...entries];
	});
}

export function makeManager(world: World): Step {
	const { r } = world;
	const broken = r.chance(0.02) ? r.pick(BROKEN_ARGS) : undefined;
	const maker = r.weighted(MAKERS.map((item) => [item.weight, item] as const));
	const method = broken?.[0] ?? maker.method;
	const args =
		broken?.[1].map((value) => (typeof value === "string" ? named(value) : literal(value))) ?? maker.args(world);
	const detached = r.chance(0.2);
	const { n, now } = world.nextStep(false);
	const slot = `m${n}`;
	return {
		n,
		now,
		name: method,
		args,
		slot,
		makesManager: method !== "findById",
		reads: world.readPlan(undefined),
		run: (side) => {
			if (method === "continueRecent") stampFiles(side, n);
			if (method === "forkFrom" && side.isReference && world.traits.better) return forkMigrated(side, args, detached);
			return callStatic(side, method, args, detached);
		},
	};
}

/** A fork of a file of version 1 or 2: ours copies it migrated, so the reference must migrate its source first. */
function forkMigrated(side: Side, args: readonly Arg[], detached: boolean): unknown {
	const source = args[0]?.get(side);
	if (typeof source !== "string") return callStatic(side, "forkFrom", args, detached);
	const path = source.replace(/^file:\/\//, "").replace(/^~/, join(side.root, "home"));
	const backup = join(side.root, "..", "fork-source");
	const loaded = attempt(() => side.module.loadEntriesFromFile?.(path) as Fields[]);
	const header = "value" in loaded ? loaded.value[0] : undefined;
	if (!header || ((header.version ?? 1) as number) >= 3) return callStatic(side, "forkFrom", args, detached);
	copyFileSync(path, backup);
	try {
		side.module.SessionManager.open?.(path);
		return callStatic(side, "forkFrom", args, detached);
	} finally {
		writeFileSync(path, readFileSync(backup));
	}
}

/** Creates a session file before any read of it. */
export function writeFile(world: World, path: string, file: HostileFile): Step {
	const step = (lines: HostileFile["lines"], base: { n: number; now: number }): Step => ({
		...base,
		name: "(a file is written)",
		args: [
			named(path),
			{
				show: () =>
					`${lines.length} lines:${lines.map((line) => `\n      ${printable(line.bytes)}${line.nonEntry ? "  [no entry; pi gets none]" : line.reference ? "  [pi gets another type]" : ""}`).join("")}`,
				get: () => undefined,
			},
		],
		run: (side) => {
			const target = side.names.resolve(path);
			mkdirSync(dirname(target), { recursive: true });
			const text = render({ ...file, lines }, side.isReference && world.traits.better).toString("latin1");
			const bytes = Buffer.from(text.replaceAll("<root>", side.root), "latin1");
			writeFileSync(target, bytes);
			for (let made = target; made.startsWith(side.root); made = dirname(made)) side.written.add(made);
			side.originals.set(target, bytes);
			for (const line of lines) if (line.nonEntry && !side.isReference) side.junk.add(line.bytes.toString());
		},
		parts: {
			count: lines.length,
			without: (dropped) =>
				step(
					lines.filter((line, i) => line.header || !dropped.has(i)),
					base,
				),
		},
	});
	return step(file.lines, world.nextStep(false));
}

function printable(bytes: Buffer): string {
	const text = JSON.stringify(bytes.toString("latin1"));
	return text.length > 300 ? `${text.slice(0, 290)}…` : text;
}

/** findById and findMostRecentSession. */
export function find(world: World): Step {
	const { r } = world;
	const { n, now } = world.nextStep(false);
	const seed = r.uint32();
	const recent = r.chance(0.5);
	const [cwd, dir] = [world.cwd(), world.sessionDir()];
	const folder = r.chance(0.2)
		? named("<root>/no/such/folder")
		: named(r.pick(["<root>/sessions-a", "<root>/hostile", "~/home-sessions", "rel-sessions"]));
	const args = recent ? [folder, ...(r.chance(0.5) ? [cwd] : [])] : [cwd, headerId(world, seed), dir];
	return {
		n,
		now,
		name: recent ? "findMostRecentSession" : "findById",
		args,
		run: (side) => {
			stampFiles(side, n);
			return recent
				? side.module.findMostRecentSession?.(...args.map((arg) => arg.get(side)))
				: callStatic(side, "findById", args, false);
		},
	};
}

/** The id in the name or in the first line of a session file. */
function headerId(world: World, seed: number): Arg {
	const r = new Random(seed);
	const files = world.files();
	if (files.length === 0 || r.chance(0.2)) return literal("no-such-session");
	const path = world.reference.names.resolve(r.pick(files));
	const first = existsSync(path) ? (readFileSync(path, "utf8").split("\n", 1)[0] ?? "") : "";
	const parsed = attempt(() => JSON.parse(first) as Fields | null);
	const id = "value" in parsed ? parsed.value?.id : undefined;
	return typeof id === "string" && world.reference.names.knows(id)
		? named(world.reference.names.normalise(id))
		: literal("no-such-session");
}
