// Differences on Windows.
import { resolve } from "node:path";
import { test } from "vitest";

export const isWindows = process.platform === "win32";

/**
 * The name of a working directory's session directory. On Windows a path without a drive is on the current drive, and
 * `/x` is a drive.
 */
export const dirName = (cwd: string): string =>
	`--${resolve(isWindows ? cwd.replace(/^\/([a-z])$/i, (_, drive: string) => `${drive.toUpperCase()}:\\`) : cwd)
		.replace(/^[/\\]/, "")
		.replace(/[/\\:]/g, "-")}--`;

/** Features that Windows lacks, or has in another form than a test needs. */
const LACKING = {
	modes: "access lists say who may read a file, not modes",
	links: "symbolic links need a right that users do not have",
	pipes: "named pipes are not in directories",
	names: "file names do not have these characters",
	limits: "no shell limits the size of files",
	hosts: "a file URL of another host names a share",
	syncs: "directories cannot be synchronised",
} as const;

/** `test` for a feature that not every system or user has. Elsewhere the test counts as not run, with the reason. */
export function testIf(isPossible: boolean, why: string): (name: string, work: () => void | Promise<void>) => void {
	return (name, work) =>
		test(name, ({ task, skip }) => {
			if (isPossible) return work();
			task.meta.missing = why;
			return skip(why);
		});
}

/** `test` for a feature that Windows does not have. */
export const testWith = (need: keyof typeof LACKING) => testIf(!isWindows, `Windows: ${LACKING[need]}`);
