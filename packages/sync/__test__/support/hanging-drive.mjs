// A FUSE drive that is mounted and answers nothing, as a network drive whose server is gone: `node hanging-drive.mjs
// <folder> <uid>`, by the system's administrator. It says "mounted". Whoever waits for an answer gets an error when its
// standard input ends; the drive can be unmounted then.
import { spawnSync } from "node:child_process";
import { openSync, read, writeSync } from "node:fs";

const [folder, uid] = process.argv.slice(2);
const INIT = 26;
const HEADER_BYTES = 40;
const device = openSync("/dev/fuse", "r+");
const options = `fd=3,rootmode=40000,user_id=${uid},group_id=0,allow_other`;
// Without a helper program, which would be FUSE's library.
const mounted = spawnSync("mount", ["-i", "-t", "fuse", "-o", options, "hanging-drive", folder], {
	stdio: ["ignore", "ignore", "inherit", device],
});
if (mounted.status !== 0) process.exit(1);

/** The kernel's first request. It must be answered, because otherwise later requests could still be interrupted. */
function answerInit(request) {
	const answer = Buffer.alloc(16 + 64);
	answer.writeUInt32LE(answer.length, 0);
	request.copy(answer, 8, 8, 16);
	answer.writeUInt32LE(7, 16);
	answer.writeUInt32LE(Math.min(31, request.readUInt32LE(HEADER_BYTES + 4)), 20);
	// The largest size of one write.
	answer.writeUInt32LE(4096, 16 + 20);
	writeSync(device, answer);
	process.stdout.write("mounted\n");
}

/** Reads requests, so that they cannot be cancelled, and answers none of them. */
function take() {
	const request = Buffer.alloc(256 * 1024);
	read(device, request, 0, request.length, null, (error, length) => {
		if (!error && length >= HEADER_BYTES && request.readUInt32LE(4) === INIT) answerInit(request);
		if (!error || error.code === "EINTR" || error.code === "EAGAIN") take();
	});
}
take();
// An exit would wait for the running read call.
process.stdin.resume().on("end", () => process.kill(process.pid, "SIGKILL"));
