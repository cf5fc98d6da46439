// What differs on Windows.
import { resolve } from "node:path";
import { test } from "vitest";

export const isWindows = process.platform === "win32";

/**
 * The name of a working directory's session directory: on Windows a path without a drive is on the current one, and
 * `/x` is a drive.
 */
export const dirName = (cwd: string): string =>
	`--${resolve(isWindows ? cwd.replace(/^\/([a-z])$/i, (_, drive: string) => `${drive.toUpperCase()}:\\`) : cwd)
		.replace(/^[/\\]/, "")
		.replace(/[/\\:]/g, "-")}--`;

/** What Windows does not have, or not in the way that a test needs it. */
const LACKING = {
	modes: "access lists say who may read a file, not modes",
	links: "symbolic links need a right that users do not have",
	pipes: "named pipes are not in directories",
	names: "file names do not have these characters",
	limits: "no shell limits the size of files",
	hosts: "a file URL of another host names a share",
	syncs: "directories cannot be synchronised",
} as const;

/** `test` for what not every system or user can do: elsewhere the test counts as not run, and says why. */
export function testIf(isPossible: boolean, why: string): (name: string, work: () => void | Promise<void>) => void {
	return (name, work) =>
		test(name, ({ task, skip }) => {
			if (isPossible) return work();
			task.meta.missing = why;
			return skip(why);
		});
}

/** `test` for what Windows does not have. */
export const testWith = (need: keyof typeof LACKING) => testIf(!isWindows, `Windows: ${LACKING[need]}`);
