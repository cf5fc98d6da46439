// Facts that Linux tells about the files of a process.
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

/** The number of bytes that this process has read, from all files. */
export const bytesRead = (): number => Number(/rchar: (\d+)/.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
