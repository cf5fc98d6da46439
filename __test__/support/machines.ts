// Machines that share a store in a directory.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DirectoryStore, SessionSync } from "../../lib/store/index.js";
import { SESSION, emptyDirectory, header } from "./lines.js";

/** The name of the file of `SESSION`. */
export const NAME = `2025-06-01T09-00-00-000Z_${SESSION}.jsonl`;
export const text = (...lines: (Buffer | string)[]) => lines.map((line) => `${line}\n`).join("");

export function world() {
	const path = emptyDirectory();
	const errors: string[] = [];
	const machine = (name: string, { isShared }: { isShared?: boolean } = {}) => {
		const dir = join(path, name);
		const store = new DirectoryStore({ path, host: name });
		const options = { store, address: path, notes: join(path, `notes-${name}`), dir, cwd: `/home/${name}/shop`, project: "shop", isShared };
		const sync = () => new SessionSync({ ...options, onError: (error) => errors.push(error.message) });
		/** `again` is another process. */
		return { dir, file: join(dir, NAME), store, notes: options.notes, sync: sync(), again: sync };
	};
	const begin = ({ dir, file }: { dir: string; file: string }, ...lines: Buffer[]) => {
		mkdirSync(dir, { recursive: true });
		writeFileSync(file, text(header(), ...lines));
	};
	return { path, machine, begin, errors };
}
