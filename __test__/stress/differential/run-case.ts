// Runs the steps of one case on both sides and stops at the first difference.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Manager, SessionModule } from "../../support/reference.js";
import { attemptAsync, compareOutcomes, compareValues, Difference, type Outcome } from "./compare.js";
import { compareFile, compareTrees, forgiveFolders } from "./files.js";
import { Random } from "./random.js";
import { compareReads, snapshot } from "./reads.js";
import { Side } from "./side.js";
import type { Step } from "./steps.js";
import { type Traits, World } from "./world.js";

export interface Modules {
	reference: SessionModule;
	subject: SessionModule;
	better: boolean;
}

export interface Scenario {
	traits(r: Random, modules: Modules): Traits;
	/** The next step, or none if the case is over. */
	next(world: World): Step | undefined;
}

export interface CaseResult {
	steps: Step[];
	failure?: Error;
}

/** Generates and runs a case; with `replay` it runs those steps instead. */
export async function runCase(
	scenario: Scenario,
	seed: number,
	modules: Modules,
	replay?: readonly Step[],
): Promise<CaseResult> {
	const r = new Random(seed);
	const folder = mkdtempSync(join(realpathSync(tmpdir()), "psn-"));
	const steps: Step[] = [];
	try {
		const reference = makeSide(true, modules.reference, join(folder, "pi"));
		const ours = makeSide(false, modules.subject, join(folder, "us"));
		const traits = scenario.traits(r, modules);
		for (const side of [reference, ours]) side.dumper.migratesFiles = traits.hostile;
		const world = new World(r, reference, traits);
		const run = new Run(reference, ours, traits);
		for (let i = 0; ; i++) {
			// Choosing looks at the reference, which may ask for its folder and environment.
			reference.enter(0, traits.agentDir);
			const step = replay ? replay[i] : scenario.next(world);
			if (!step) break;
			steps.push(step);
			await run.step(step);
		}
		run.finish();
		return { steps };
	} catch (error) {
		return { steps, failure: error as Error };
	} finally {
		process.chdir("/");
		rmSync(folder, { recursive: true, force: true });
	}
}

function makeSide(isReference: boolean, module: SessionModule, root: string): Side {
	mkdirSync(root, { recursive: true });
	return new Side(isReference, module, root);
}

class Run {
	/** The reference has written lines of a hostile file anew. */
	private referenceRewrote = false;

	constructor(
		private readonly reference: Side,
		private readonly ours: Side,
		private readonly traits: Traits,
	) {}

	async step(step: Step): Promise<void> {
		const { reference, ours } = this;
		// A shortened case may lack the step that made the manager.
		if (step.slot && !step.makesManager && !reference.managers.has(step.slot)) return;
		for (const side of [reference, ours]) side.startStep(step.n);
		const before = step.mayMoveReference && step.slot ? snapshot(ours, step.slot) : undefined;
		const expected = await this.runOn(reference, step);
		const actual = await this.runOn(ours, step);
		const threw = compareOutcomes(step.name, reference, expected, ours, actual) === "threw";
		// A snapshot printed entries; what follows prints them anew.
		for (const side of [reference, ours]) side.dumper.startStep();
		if (threw) this.afterError(step, before);
		else {
			if (this.traits.hostile) this.noteRewrite(step);
			this.afterSuccess(step, (expected as { value: unknown }).value, (actual as { value: unknown }).value);
		}
		if (step.slot && reference.managers.has(step.slot)) {
			this.read(step);
			this.retireOthers(step.slot);
		}
	}

	private async runOn(side: Side, step: Step): Promise<Outcome> {
		side.enter(step.now, this.traits.agentDir);
		const outcome = await attemptAsync(() => step.run(side));
		if ("value" in outcome) {
			if (step.makesManager && step.slot) side.managers.set(step.slot, outcome.value as Manager);
			else side.names.register(outcome.value);
			if (step.makesEntry) {
				const { parentId, id } = outcome.value as Record<string, unknown>;
				side.names.register(parentId);
				side.names.register(id);
			}
		}
		const manager = step.slot ? side.managers.get(step.slot) : undefined;
		if (manager) {
			side.names.register(manager.getSessionId?.());
			side.names.register(manager.getSessionFile?.());
			// A later branch summary may name it, when the entry itself is gone.
			side.names.register(manager.getLeafId?.());
		}
		return outcome;
	}

	/**
	 * Where the reference moves a line it stringifies it anew: -0 becomes 0, 1e999 null. Ours may keep the line, so once
	 * a file of that kind is read again, these numbers count as what JSON.stringify makes of them.
	 */
	private noteRewrite(step: Step): void {
		const { reference, ours } = this;
		if (
			step.name === "forkFrom" ||
			(this.referenceRewrote && /^(open|continueRecent|setSessionFile|load)/.test(step.name))
		) {
			reference.dumper.jsonNumbers = true;
			ours.dumper.jsonNumbers = true;
		}
		const migrated = () =>
			[...reference.originals].some(([path, bytes]) => !readFileSync(path).subarray(0, bytes.length).equals(bytes));
		if (
			step.name === "createBranchedSession" ||
			(step.makesManager && migrated()) ||
			(step.name === "setSessionFile" && migrated())
		)
			this.referenceRewrote = true;
	}

	private afterSuccess(step: Step, expected: unknown, actual: unknown): void {
		if (!step.makesManager)
			compareValues(`the result of ${step.name}`, this.reference, expected, this.ours, actual, step.makesEntry);
		if (step.makesEntry) checkEntryId((actual as { id: string }).id);
		else if (/^(append|branchWith)/.test(step.name)) checkEntryId(actual);
		if (step.slot) checkSessionId(this.ours.manager(step.slot).getSessionId?.());
	}

	/**
	 * docs/moving-from-pi.md, "a failed write": ours is as before. Where the reference has moved, the two cannot be
	 * compared any further.
	 */
	private afterError(step: Step, before: string | undefined): void {
		forgiveFolders(this.reference, this.ours);
		if (!step.slot || before === undefined) return;
		if (this.traits.better) {
			const after = snapshot(this.ours, step.slot);
			if (after !== before) throw new Difference(`${step.slot} after the failed ${step.name}`, before, after);
		}
		this.drop(step.slot);
	}

	private read(step: Step): void {
		const { reference, ours } = this;
		const slot = step.slot as string;
		if (step.reads) compareReads(reference, ours, slot, step.reads);
		const file = reference.manager(slot).getSessionFile?.();
		if (typeof file === "string") compareFile(reference, file, ours, this.traits);
	}

	/**
	 * Two managers that write one file are another matter (docs/moving-from-pi.md, "another program appends to the
	 * file"): the older one goes.
	 */
	private retireOthers(slot: string): void {
		const file = this.fileOf(slot);
		for (const other of [...this.reference.managers.keys()]) {
			if (other !== slot && file !== undefined && this.fileOf(other) === file) this.drop(other);
		}
		// Few enough that most steps meet a manager with a past.
		if (this.reference.managers.size > 3) this.drop([...this.reference.managers.keys()][0] as string);
	}

	private fileOf(slot: string): string | undefined {
		const file = this.reference.manager(slot).getSessionFile?.();
		return typeof file === "string" ? resolve(this.reference.root, file) : undefined;
	}

	private drop(slot: string): void {
		this.reference.managers.delete(slot);
		this.ours.managers.delete(slot);
	}

	finish(): void {
		for (const slot of this.reference.managers.keys()) {
			for (const side of [this.reference, this.ours]) side.startStep(1_000_000);
			compareReads(this.reference, this.ours, slot, { seed: 1, ids: [] });
		}
		compareTrees(this.reference, this.ours, this.traits);
	}
}

/** Eight hex digits of a v4 UUID. */
function checkEntryId(id: unknown): void {
	if (!/^[0-9a-f]{8}$/.test(String(id)))
		throw new Difference("the form of a new entry id", "eight hex digits", String(id));
}

/** A UUIDv7, unless the caller or the file gave one. */
function checkSessionId(id: unknown): void {
	if (
		/^[0-9a-f]{8}-/.test(String(id)) &&
		!/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(String(id))
	) {
		throw new Difference("the form of a session id", "a UUIDv7", String(id));
	}
}
