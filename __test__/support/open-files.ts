import { readdirSync, readlinkSync } from "node:fs";

/** The paths of the files that a process has open. */
export const openFilesOf = (pid: number | "self"): string[] =>
	readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
		try {
			return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
		} catch {
			// Closed meanwhile.
			return [];
		}
	});
