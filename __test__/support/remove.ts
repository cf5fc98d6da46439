// Removes the directories of tests.
import { rmSync } from "node:fs";
import { isWindows } from "./windows.js";

/**
 * Removes a directory in which another thread or process may still create files, such as a list that was aborted and
 * writes the catalog, or the process that stores the lines of a killed pi. `rmSync` does not look for files that were
 * created while it removed the others, however many retries it has.
 */
export async function remove(dir: string): Promise<void> {
	for (let tries = 0; ; tries++) {
		try {
			return rmSync(dir, { recursive: true, force: true });
		} catch (error) {
			const { code = "" } = error as NodeJS.ErrnoException;
			if (!(isWindows ? ["ENOTEMPTY", "EBUSY", "EPERM", "EACCES"] : ["ENOTEMPTY"]).includes(code)) throw error;
			// On Windows an open file may keep its directory until its manager is collected. Then the directory stays in the
			// system's temporary folder.
			if (isWindows && tries === 20) return;
			await new Promise((resolve) => setTimeout(resolve, 10));
		}
	}
}
