// What Linux tells of the files of a process.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

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

/** How many bytes this process has read so far, from whatever file. */
export const bytesRead = (): number => Number(/rchar: (\d+)/.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
