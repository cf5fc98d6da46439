// Lines for stores, and stores for them.
import { createHash } from "node:crypto";
import { type Dirent, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve, sep } from "node:path";
import { expect, onTestFinished } from "vitest";
import { remove } from "../../../../__test__/support/remove.js";
import { DirectoryStore, type LineStore, loadAll, type Page, StoreError } from "../../lib/index.js";

// A store without a configured directory of locks uses the user's home, here and in the processes of a test.
process.env.HOME = process.env.USERPROFILE = join(tmpdir(), "psn-home");

/** The module, for other processes of a test. */
export const library = resolve(__dirname, "../../lib/index.js");

const require = createRequire(library);
const { encodeBatch } = require("./logs/log-batches.js");
const { folderOf, headerPath, partPath } = require("./logs/log-names.js");

/** The path of a host's log in a directory. */
export const logOf = (
	host: string,
	{ session = SESSION, project }: { session?: string; project?: string } = {},
): string => partPath({ folder: folderOf(project), session }, host, 1);

/** The path of a session's header in a directory. */
export const headerFileOf = (session = SESSION): string => headerPath(session);

export const SESSION = "01972ab8-2280-7be3-8cc7-05ac027b6185";

export const header = (session = SESSION): Buffer =>
	Buffer.from(
		`{"type":"session","version":3,"id":"${session}","timestamp":"2025-06-01T09:00:00.000Z","cwd":"/home/me/shop"}`,
	);

export const entry = (id: string): Buffer => Buffer.from(`{"type":"message","id":"${id}","parentId":null}`);

/** An entry with a message of the user. */
export const said = (id: string, parentId: string | null, content: string): Buffer =>
	Buffer.from(
		JSON.stringify({
			type: "message",
			id,
			parentId,
			timestamp: "2025-06-01T09:00:00.000Z",
			message: { role: "user", content, timestamp: 1 },
		}),
	);

export const entries = (letter: string, count: number): Buffer[] =>
	Array.from({ length: count }, (_, at) => entry(`${letter}${at}`));

export const ids = (page: Page): string[] => page.lines.map(({ line }) => JSON.parse(line.toString()).id);

export const append = (store: LineStore, lines: Buffer[], after?: string) =>
	store.append(SESSION, { header: header(), lines, after });

/** The SHA-256 of a line, which identifies it in a redaction. */
export const hashOf = (line: Uint8Array): string => createHash("sha256").update(line).digest("hex");

/** The bytes of a batch in a log. */
export const batchOf = (lines: Buffer[], { session = SESSION, host = "a", clock = 1, prev = "" } = {}): Buffer =>
	encodeBatch({ session, host, clock, prev, lines }).bytes;

/** A store in a directory, as a new process of the host opens it. */
export const openDirectory = (path: string, host = "a"): DirectoryStore => new DirectoryStore({ path, host });

/** The lines of a session in a store. */
export const storedLines = async (store: LineStore, session = SESSION): Promise<string[]> =>
	(await loadAll(store, session)).lines.map(({ line }) => line.toString());

/** A directory for the running test. */
export function emptyDirectory(): string {
	const path = mkdtempSync(join(tmpdir(), "psn-store-"));
	onTestFinished(() => remove(path));
	return path;
}

/** Writes the settings of an agent's directory. Returns their path. */
export function writeSettings(agent: string, settings: unknown): string {
	const path = join(agent, "session-store.json");
	writeFileSync(path, JSON.stringify(settings), { mode: 0o600 });
	return path;
}

/** The paths of the files in a directory, relative, with "/". */
export const filesOf = (path: string): string[] =>
	(readdirSync(path, { recursive: true, withFileTypes: true }) as Dirent[])
		.filter((file) => file.isFile())
		.map((file) =>
			join(file.parentPath, file.name)
				.slice(path.length + 1)
				.replaceAll(sep, "/"),
		)
		.sort();

/** The error with which a call rejects. */
export async function failure(work: Promise<unknown>): Promise<StoreError> {
	const error = await work.then(
		() => undefined,
		(thrown) => thrown,
	);
	expect(error).toBeInstanceOf(StoreError);
	return error;
}
