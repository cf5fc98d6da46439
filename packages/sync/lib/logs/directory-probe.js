// Tests whether a store in a directory answers. Another process asks it, because a call to a drive that hangs would
// keep this process from ending, and from being killed.
const { spawn } = require("node:child_process");
const { once } = require("node:events");
const { writeSync } = require("node:fs");
const { DirectoryStore } = require("./directory.js");
const { PING } = require("../base/calls.js");

/**
 * Whether a store answers within this time, also by an error.
 * @param {string} path
 * @param {number} timeout
 */
async function directoryAnswers(path, timeout) {
	const child = spawn(process.execPath, [__filename, path], {
		detached: true,
		stdio: ["ignore", "pipe", "ignore"],
		windowsHide: true,
	});
	const signal = AbortSignal.timeout(timeout);
	try {
		await Promise.race([once(child.stdout, "data", { signal }), once(child, "exit", { signal })]);
		return true;
	} catch (error) {
		if (!signal.aborted) throw error;
		return false;
	} finally {
		child.kill("SIGKILL");
		child.stdout.destroy();
		child.unref();
	}
}

/** @param {string} path */
async function ask(path) {
	const answered = () => void writeSync(1, ".");
	await new DirectoryStore({ path, host: "0" }).list(PING).then(answered, answered);
}

if (require.main === module) void ask(process.argv[2] ?? "");

exports.directoryAnswers = directoryAnswers;
