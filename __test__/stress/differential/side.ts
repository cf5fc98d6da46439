// One of the two worlds a case runs in: a module, a folder of its own, its managers, and its names for things.
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
	/** Live managers by slot. A slot is named after the step that made its manager. */
	readonly managers = new Map<string, Manager>();
	/** Paths the case itself wrote, by the full name: their modes are not the module's doing. */
	readonly written = new Set<string>();
	/** Session files the case put in place, as they were then. */
	readonly originals = new Map<string, Buffer>();
	/** Lines of theirs that are valid JSON and yet no entry: this side alone has them. */
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

	/** The last `enter` again, after the other side had its turn. */
	reenter: () => void = () => {};

	/** Makes this side's folder, home and agent folder the ones the process sees. */
	enter(now: number, agentDir: string | undefined): void {
		this.reenter = () => this.enter(now, agentDir);
		setClock(now);
		process.chdir(this.root);
		process.env.HOME = join(this.root, "home");
		// Else both sides would share the user's own.
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

/** The process as it was, around a whole run. */
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
