// Files that others change under an open manager, and the manager's reports about that.
import { renameSync, writeFileSync } from "node:fs";
import { expect } from "vitest";
import type { SessionManager } from "../../../index.js";
import { api, jsonLines } from "../../support/scratch.js";

/** A text that is read at its first use. */
export const long = (about: string): string => `${about} ${"all work ".repeat(90)}`;

/** The ids in a file's lines, the header's first. */
export const fileIds = (file: string): unknown[] => jsonLines(file).map((one) => one.id);

/** The kinds of changes by others that a manager has noticed. */
export const kinds = (manager: SessionManager): string[] =>
	manager.getDiagnostics().foreignChanges.map(({ kind }) => kind);

/** Renames a file with this content over another. */
export function replace(file: string, content: string): void {
	writeFileSync(`${file}.new`, content);
	renameSync(`${file}.new`, file);
}

/** Expects the entries of a manager to equal those of a manager that opens the file now. */
export function agrees(manager: SessionManager, file: string): void {
	expect(JSON.stringify(manager.getEntries())).toBe(JSON.stringify(api.SessionManager.open(file).getEntries()));
}
