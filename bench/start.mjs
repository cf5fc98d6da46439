// Measures starts of pi: from the start of the process to the first answer of RPC mode, to the first screen, or to its
// end. One side is the bundle of the reference by itself, the other the same bundle on our manager.
import { spawn } from "node:child_process";
import {
	closeSync,
	createReadStream,
	createWriteStream,
	mkdirSync,
	openSync,
	readFileSync,
	readSync,
	rmSync,
	statSync,
	truncateSync,
} from "node:fs";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { nodeBin, piPackage, referencePackage, referenceVersion, writeAgentDir } from "../scripts/demo/pi.mjs";

/** A text in the line below pi's editor. */
const MODEL = "scripted";

export const PIS = { [referenceVersion]: referencePackage, "0.87.1": piPackage };

/** The command that starts pi on one side: `ours` is the folder of our package, or undefined for pi by itself. */
function command(ours, { version = referenceVersion, native = false }) {
	const cli = join(PIS[version], "dist/bundle/cli.js");
	if (!ours) return [nodeBin, cli];
	return native ? [nodeBin, join(ours, "bin/pi-native.mjs")] : [nodeBin, "--import", join(ours, "register.mjs"), cli];
}

/** The peak memory of a running process, if the system reports it. */
function peakOf(pid) {
	try {
		const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
		return kilobytes && Number(kilobytes) * 1024;
	} catch {
		return undefined;
	}
}

/**
 * Runs pi until its output satisfies `isReady`, or without `isReady` to its end. Returns the time and, if pi was ready,
 * its peak memory until then. `input` is written at once; `end` then ends the process.
 */
function timed(words, { cwd, env, input = "", end = "", isReady }) {
	return new Promise((resolve, reject) => {
		const start = process.hrtime.bigint();
		const elapsed = () => Number(process.hrtime.bigint() - start) / 1e6;
		const child = spawn(words[0], words.slice(1), { cwd, env });
		let ready;
		let [output, errors] = ["", ""];
		child.stdout.setEncoding("utf8").on("data", (text) => {
			output += text;
			if (ready || !isReady?.(output)) return;
			ready = { time: elapsed(), peak: peakOf(child.pid) };
			child.stdin.end(end);
		});
		child.stderr.setEncoding("utf8").on("data", (text) => (errors += text));
		child.stdin.on("error", () => {});
		if (isReady) child.stdin.write(input);
		else child.stdin.end();
		child.on("error", reject);
		// We wait for its end, because pi stores its compiled code then.
		child.on("close", (code) => {
			const time = elapsed();
			if (code === 0 && (ready || !isReady)) resolve(ready ?? { time });
			else reject(new Error(`Error: pi ended with ${code} before it was ready: ${errors || output}`));
		});
	});
}

function firstLine(path) {
	const head = Buffer.alloc(1 << 16);
	const file = openSync(path, "r");
	try {
		return head.toString("utf8", 0, readSync(file, head)).split("\n", 1)[0];
	} finally {
		closeSync(file);
	}
}

/**
 * The copy of a session with an existing `cwd`, so that pi asks no question. It is created once; entries that an
 * earlier start appended are removed.
 */
async function copyIn(cwd, path) {
	const line = firstLine(path);
	const header = JSON.stringify({ ...JSON.parse(line), cwd });
	const size = statSync(path).size - Buffer.byteLength(line) + Buffer.byteLength(header);
	const copy = join(cwd, basename(path));
	if ((statSync(copy, { throwIfNoEntry: false })?.size ?? 0) < size) {
		const to = createWriteStream(copy);
		to.write(header);
		await pipeline(createReadStream(path, { start: Buffer.byteLength(line) }), to);
	}
	truncateSync(copy, size);
	return copy;
}

/**
 * An operation that starts pi with `args`, and waits for `until`: "answer" (RPC), "screen", or "end". `isFirst`:
 * without V8's compiled code, as after an update of pi.
 */
export function starting({ until, args = [], isFirst = false, ...how }) {
	return {
		starts: true,
		measure: async ({ ours, path, home }) => {
			const cwd = join(home, "work");
			const temporary = join(home, "tmp");
			if (isFirst) for (const dir of [temporary, join(home, ".cache")]) rmSync(dir, { recursive: true, force: true });
			for (const dir of [cwd, temporary]) mkdirSync(dir, { recursive: true });
			writeAgentDir(home, "http://127.0.0.1:9");
			const words = [...command(ours, how), ...args];
			if (path) words.push("--session", await copyIn(cwd, path));
			const env = {
				PATH: process.env.PATH,
				HOME: home,
				TMPDIR: temporary,
				PI_CODING_AGENT_DIR: join(home, "agent"),
				PI_OFFLINE: "1",
				PI_SESSION_NATIVE_PACKAGE: PIS[how.version ?? referenceVersion],
				TERM: "xterm-256color",
				LANG: "C.UTF-8",
			};
			const run = {
				answer: () =>
					timed([...words, "--mode", "rpc"], {
						cwd,
						env,
						input: '{"id":"1","type":"get_state"}\n',
						isReady: (output) => output.includes('"command":"get_state"'),
					}),
				screen: () => timed(inTerminal(words), { cwd, env, end: "\x04", isReady: (output) => output.includes(MODEL) }),
				end: () => timed(words, { cwd, env }),
			}[until];
			const { time, peak } = await run();
			return { times: { "": time }, peak };
		},
	};
}

/** Runs pi in a terminal of its own, by `script` of util-linux. */
function inTerminal(words) {
	const quoted = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
	return ["script", "-qfec", `stty rows 46 cols 100; exec ${quoted}`, "/dev/null"];
}
