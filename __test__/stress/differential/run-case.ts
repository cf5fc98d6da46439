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
	/** The next step; undefined if the case is over. */
	next(world: World): Step | undefined;
}

export interface CaseResult {
	steps: Step[];
	failure?: Error;
}

/** Generates and runs a case. With `replay` it runs those steps instead. */
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
			// Choosing a step reads the reference, which may need its folder and environment.
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
	/** The reference has rewritten lines of a hostile file. */
	private referenceRewrote = false;

	constructor(
		private readonly reference: Side,
		private readonly ours: Side,
		private readonly traits: Traits,
	) {}

	async step(step: Step): Promise<void> {
		const { reference, ours } = this;
		// In a shortened case the step that created the manager may be missing.
		if (step.slot && !step.makesManager && !reference.managers.has(step.slot)) return;
		for (const side of [reference, ours]) side.startStep(step.n);
		const before = step.mayMoveReference && step.slot ? snapshot(ours, step.slot) : undefined;
		const expected = await this.runOn(reference, step);
		const actual = await this.runOn(ours, step);
		const threw = compareOutcomes(step.name, reference, expected, ours, actual) === "threw";
		// A snapshot has printed entries, and the next results print them again.
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
			// A later branch summary may name it when the entry itself no longer exists.
			side.names.register(manager.getLeafId?.());
		}
		return outcome;
	}

	/**
	 * When the reference moves a line, it stringifies it again: -0 becomes 0, 1e999 becomes null. Ours may keep the line.
	 * So after such a file was read again, these numbers are compared in the form that JSON.stringify writes.
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
	 * docs/moving-from-pi.md, "a failed write": ours has not changed. If the reference has, the two can no longer be
	 * compared.
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
	 * Two managers that write to one file are tested elsewhere (docs/moving-from-pi.md, "another program appends to the
	 * file"), so the older one is removed.
	 */
	private retireOthers(slot: string): void {
		const file = this.fileOf(slot);
		for (const other of [...this.reference.managers.keys()]) {
			if (other !== slot && file !== undefined && this.fileOf(other) === file) this.drop(other);
		}
		// So few managers that most steps use one with a history.
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

/** A UUIDv7, unless the caller or the file contains another id. */
function checkSessionId(id: unknown): void {
	if (
		/^[0-9a-f]{8}-/.test(String(id)) &&
		!/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(String(id))
	) {
		throw new Difference("the form of a session id", "a UUIDv7", String(id));
	}
}
