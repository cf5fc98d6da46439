// Machines that share a store, by default in a directory.
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DirectoryStore, type LineStore, SessionSync } from "../../lib/index.js";
import { emptyDirectory, header, SESSION } from "./lines.js";

/** The name of the file of `SESSION`. */
export const NAME = `2025-06-01T09-00-00-000Z_${SESSION}.jsonl`;
export const text = (...lines: (Buffer | string)[]) => lines.map((line) => `${line}\n`).join("");
/** Lines as bytes, which may be invalid UTF-8. */
export const lined = (...lines: Buffer[]) => Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")]));

/** The lines of a session file after its header. */
export const linesIn = (path: string): string[] => readFileSync(path, "utf8").trimEnd().split("\n").slice(1);

/** The ids of the entries in a session file, in its order. */
export const idsIn = (path: string): string[] => linesIn(path).map((line) => JSON.parse(line).id);

export function world(open?: (host: string) => LineStore) {
	const path = emptyDirectory();
	/** With the `host` of another machine it is a second checkout on that machine. */
	const machine = (name: string, { isShared, host = name }: { isShared?: boolean; host?: string } = {}) => {
		const dir = join(path, name);
		const store = open?.(host) ?? new DirectoryStore({ path, host });
		const options = {
			store,
			address: path,
			notes: join(path, `notes-${name}`),
			dir,
			cwd: `/home/${name}/shop`,
			project: "shop",
			isShared,
		};
		const again = () => new SessionSync(options);
		const [file, sync] = [join(dir, NAME), again()];
		/** Returns the error of a push of the file. */
		const pushFile = async () => (await sync.push({ local: [{ session: SESSION, file }] }))[0]?.error;
		/** Appends lines to the file, and pushes it. */
		const addAndPush = async (...lines: Buffer[]) => {
			appendFileSync(file, lined(...lines));
			return sync.push();
		};
		/** `again` is another process of the machine. */
		return { dir, file, store, notes: options.notes, options, sync, again, pushFile, addAndPush };
	};
	const begin = ({ dir, file }: { dir: string; file: string }, ...lines: Buffer[]) => {
		mkdirSync(dir, { recursive: true });
		writeFileSync(file, lined(header(), ...lines));
	};
	/** Machines of these names: the first one has begun the session with the lines, and the others have pulled it. */
	const synced = async <N extends string[]>(lines: Buffer[], ...names: N) => {
		const [first, ...others] = names.map((name) => machine(name)) as [Machine, ...Machine[]];
		begin(first, ...lines);
		await first.sync.push();
		for (const { sync } of others) await sync.pull();
		return [first, ...others] as unknown as { [K in keyof N]: Machine };
	};
	return { path, machine, begin, synced };
}

export type Machine = ReturnType<ReturnType<typeof world>["machine"]>;
