// A drive that hangs (see hanging-drive.mjs), until the test is over.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { missing, tool } from "../../../../__test__/support/tools.js";
import { emptyDirectory } from "./lines.js";

/** A directory on a drive that never answers. */
export async function hangingDrive(): Promise<string> {
	tool("fuse", "modprobe fuse", ["/dev"]);
	const path = join(emptyDirectory(), "drive");
	mkdirSync(path);
	const uid = process.getuid?.() ?? 0;
	const asAdministrator = (...command: string[]): [string, string[]] =>
		uid === 0 ? [command[0] as string, command.slice(1)] : [tool("sudo"), ["-n", ...command]];
	const daemon = spawn(...asAdministrator(process.execPath, join(__dirname, "hanging-drive.mjs"), path, String(uid)), {
		stdio: ["pipe", "pipe", "pipe"],
	});
	const closed = once(daemon, "close");
	let problem = "";
	daemon.stderr.setEncoding("utf8").on("data", (text: string) => (problem += text));
	const isMounted = await Promise.race([once(daemon.stdout, "data").then(() => true), closed.then(() => false)]);
	if (!isMounted) missing(`FUSE cannot be mounted here: ${problem.trim()}`);
	onTestFinished(async () => {
		daemon.stdin.end();
		await closed;
		execFileSync(...asAdministrator("umount", "-l", path));
	});
	return path;
}
