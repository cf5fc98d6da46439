// One of the two sides of a case: a module, a folder, its managers, and its names for ids and paths.
import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Manager, SessionModule } from "../../support/reference.js";
import { setClock } from "./clock.js";
import { Dumper } from "./dump.js";
import { Names } from "./names.js";

export class Side {
	readonly names: Names;
	readonly dumper: Dumper;
	/** The open managers by slot. A slot has the number of the step that created its manager. */
	readonly managers = new Map<string, Manager>();
	/** Full paths of files that the case itself wrote, so their modes do not come from the module. */
	readonly written = new Set<string>();
	/** Session files that the case created, with their first content. */
	readonly originals = new Map<string, Buffer>();
	/** Lines in them that are valid JSON but not entries, which only this side has. */
	readonly junk = new Set<string>();

	constructor(
		readonly isReference: boolean,
		readonly module: SessionModule,
		readonly root: string,
	) {
		this.names = new Names(root);
		this.dumper = new Dumper(this.names);
		mkdirSync(join(root, "home"), { recursive: true });
		this.written.add(join(root, "home"));
	}

	startStep(step: number): void {
		this.names.startStep(step);
		this.dumper.startStep();
	}

	/** Repeats the last `enter` after the other side has run. */
	reenter: () => void = () => {};

	/** Sets the process's working directory, home and agent directory to this side's. */
	enter(now: number, agentDir: string | undefined): void {
		this.reenter = () => this.enter(now, agentDir);
		setClock(now);
		process.chdir(this.root);
		process.env.HOME = join(this.root, "home");
		// Otherwise both sides would share the user's directory.
		if (homedir() !== process.env.HOME)
			throw new Error("the home directory does not move: on Bun, use `npm run runtimes -- bun`");
		if (agentDir === undefined) delete process.env.PI_CODING_AGENT_DIR;
		else process.env.PI_CODING_AGENT_DIR = this.names.resolve(agentDir);
	}

	manager(slot: string): Manager {
		const manager = this.managers.get(slot);
		if (!manager) throw new Error(`no manager in slot ${slot}`);
		return manager;
	}
}

/** Restores the process's state after a whole run. */
export async function keepingProcess<T>(body: () => Promise<T>): Promise<T> {
	const cwd = process.cwd();
	const { HOME, PI_CODING_AGENT_DIR } = process.env;
	try {
		return await body();
	} finally {
		process.chdir(cwd);
		for (const [key, value] of Object.entries({ HOME, PI_CODING_AGENT_DIR })) {
			if (value === undefined) delete process.env[key];
			else process.env[key] = value;
		}
	}
}
