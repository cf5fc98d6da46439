// What differs on Windows.
import { resolve } from "node:path";
import { test } from "vitest";

export const isWindows = process.platform === "win32";

/** The name of a working directory's session directory: on Windows a path without a drive is on the current one, and `/x` is a drive. */
export const dirName = (cwd: string): string => `--${resolve(isWindows ? cwd.replace(/^\/([a-z])$/i, (_, drive: string) => `${drive.toUpperCase()}:\\`) : cwd).replace(/^[/\\]/, "").replace(/[/\\:]/g, "-")}--`;

/** What Windows does not have, or not in the way that a test needs it. */
const LACKING = {
	modes: "access lists say who may read a file, not modes",
	links: "symbolic links need a right that users do not have",
	pipes: "named pipes are not in directories",
	names: "file names do not have these characters",
	limits: "no shell limits the size of files",
} as const;

/** `test` for what Windows does not have: there the test is skipped, and says why. */
export function testWith(need: keyof typeof LACKING): (name: string, work: () => unknown) => void {
	return (name, work) => (isWindows ? test.skip(`${name} (Windows: ${LACKING[need]})`, () => {}) : test(name, work));
}
