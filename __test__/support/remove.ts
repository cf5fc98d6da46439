// Removing the directories of tests.
import { rmSync } from "node:fs";
import { isWindows } from "./windows.js";

/**
 * Removes a directory in which another thread or process may still make files: a list that was aborted and writes the
 * catalog, or what stores the lines of a pi that was killed. `rmSync` by itself does not look again for files that came
 * while it removed the others, however many retries it is given.
 */
export async function remove(dir: string): Promise<void> {
	for (let tries = 0; ; tries++) {
		try {
			return rmSync(dir, { recursive: true, force: true });
		} catch (error) {
			const { code = "" } = error as NodeJS.ErrnoException;
			if (!(isWindows ? ["ENOTEMPTY", "EBUSY", "EPERM", "EACCES"] : ["ENOTEMPTY"]).includes(code)) throw error;
			// There, a file that a manager has open may keep its directory until the manager is collected: it stays in the
			// system's.
			if (isWindows && tries === 20) return;
			await new Promise((resolve) => setTimeout(resolve, 10));
		}
	}
}
