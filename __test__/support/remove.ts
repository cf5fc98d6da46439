// Removing the directories of tests.
import { rmSync } from "node:fs";

/**
 * Removes a directory in which another thread or process may still make files: a list that was aborted and writes the catalog, or what
 * stores the lines of a pi that was killed. `rmSync` by itself does not look again for files that came while it removed the others,
 * however many retries it is given.
 */
export async function remove(dir: string): Promise<void> {
	for (;;) {
		try {
			return rmSync(dir, { recursive: true, force: true });
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== "ENOTEMPTY") throw error;
			await new Promise((resolve) => setTimeout(resolve, 10));
		}
	}
}
