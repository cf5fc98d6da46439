// Errors and partial results of the system. The processes of a test get them from files that they open.
import fs, { constants } from "node:fs";
import { vi } from "vitest";

/** An error as the system reports it. */
export const systemError = (code: string, message = "it does not work"): Error =>
	Object.assign(new Error(`${code}: ${message}`), { code });

/** Whether a file that is opened with these flags may be written to. */
export const isForWriting = (flags: string | number = "r"): boolean =>
	typeof flags === "number" ? (flags & (constants.O_WRONLY | constants.O_RDWR)) !== 0 : flags !== "r";

/** Changes each file that is opened from now on, until the mocks are restored. */
export function changeOpenedFiles(change: (file: any, path: string, flags: any) => unknown) {
	const open = fs.promises.open as (...args: any[]) => Promise<any>;
	return vi.spyOn(fs.promises, "open").mockImplementation(async (...args: any[]) => {
		const file = await open(...args);
		await change(file, String(args[0]), args[1]);
		return file;
	});
}
