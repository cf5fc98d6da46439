// The files that `export` and `fork` create, and their source sessions.
import {
	existsSync,
	linkSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { bin, branched, good, put, run, runProgram, runWithoutRights, type World, world } from "../../support/cli.js";
import { api, assistant, type Json, message, modeOf, root, snapshot, user } from "../../support/scratch.js";

/** Entries whose bodies are read from the file while the new file is written. */
const large: Json[] = Array.from({ length: 50 }, (_, at) =>
	message(`b${at}`, at === 0 ? null : `b${at - 1}`, user(`${at} ${"y".repeat(5000)}`)),
);

/** All commands that create a file, each with a name. */
const WAYS = [
	["export --format jsonl -o", "copy.jsonl"],
	["export --format jsonl --all -o", "copy.jsonl"],
	["export --format md -o", "copy.md"],
] as const;

/** Runs such a command in bash, so that limits and streams can be set. */
const way = (
	at: World,
	source: string,
	[command, name]: readonly [string, string],
	before = "",
	after = "",
): Promise<{ code: number | null; out: string; err: string }> => {
	const [first = "", ...rest] = command.split(" ");
	return runProgram(
		"bash",
		["-c", `${before} '${process.execPath}' '${bin}' ${first} '${source}' ${rest.join(" ")} '${name}' ${after}`],
		at,
	);
};

describe("the session itself is not written over", () => {
	// Regression: `export --force` to its own source destroyed the session.
	test("export --force onto its own source is refused", async () => {
		const at = world();
		const source = put(at, "s-self", large, { name: "self.jsonl" });
		const before = readFileSync(source, "utf8");
		symlinkSync(source, join(at.cwd, "link.jsonl"));
		symlinkSync(dirname(source), join(at.cwd, "folder"));
		linkSync(source, join(at.cwd, "hard.jsonl"));
		for (const target of [
			source,
			"link.jsonl",
			"folder/self.jsonl",
			"hard.jsonl",
			`${dirname(source)}/../${dirname(source).split("/").at(-1)}/self.jsonl`,
		]) {
			for (const [command] of target === source ? WAYS : WAYS.slice(0, 1)) {
				expect(await way(at, source, [command, target], "", "--force")).toMatchObject({
					code: 1,
					out: "",
					err: expect.stringContaining("is the session itself"),
				});
			}
		}
		expect(readFileSync(source, "utf8")).toBe(before);
	});

	test("standard output that is appended to the session", async () => {
		const at = world();
		const source = put(at, "s-self", large);
		const before = readFileSync(source, "utf8");
		const line = `'${process.execPath}' '${bin}' export '${source}' >> '${source}'`;
		expect(await runProgram("bash", ["-c", line], at)).toMatchObject({
			code: 1,
			err: expect.stringContaining("is the session itself"),
		});
		expect(readFileSync(source, "utf8")).toBe(before);
	});
});

describe("a file is whole or not there", () => {
	// A limit on the size of files stops the write in the middle, as a full disk would.
	const LIMIT = "trap '' XFSZ; ulimit -f 4;";

	// Regression: if `export --force` failed, an incomplete file replaced the old one.
	test("a failing export --force leaves the old file unchanged", async () => {
		const at = world();
		const source = put(at, "s-1", [
			...large,
			message("end", "b49", {
				...assistant(),
				content: Array.from({ length: 4000 }, (_, at) => ({ type: "text", text: `${at} ${Math.sin(at)}` })),
			}),
		]);
		for (const one of WAYS) {
			const target = join(at.cwd, one[1]);
			writeFileSync(target, "as it was\n");
			expect(await way(at, source, one, LIMIT, "--force")).toMatchObject({
				code: 1,
				err: expect.stringMatching(/^Error: EFBIG/),
			});
			expect(readFileSync(target, "utf8")).toBe("as it was\n");
		}
		expect(readdirSync(at.cwd).sort()).toEqual(["copy.jsonl", "copy.md"]);
	});

	// Regression: a failed export left an incomplete file that blocked the next export.
	test("a failed export leaves no partial file", async () => {
		const at = world();
		const source = put(at, "s-1", [
			...large,
			message("end", "b49", {
				...assistant(),
				content: Array.from({ length: 4000 }, (_, at) => ({ type: "text", text: `${at} ${Math.sin(at)}` })),
			}),
		]);
		for (const one of WAYS) {
			expect(await way(at, source, one, LIMIT)).toMatchObject({ code: 1, err: expect.stringMatching(/^Error: EFBIG/) });
			expect(readdirSync(at.cwd)).toEqual([]);
			expect(await way(at, source, one)).toMatchObject({ code: 0, err: "" });
			expect(readdirSync(at.cwd)).toEqual([one[1]]);
			expect(modeOf(join(at.cwd, one[1]))).toBe(0o600);
			rmSync(join(at.cwd, one[1]));
		}
	});

	test("--force writes a private file, also through a link", async () => {
		const at = world();
		const source = put(at, "s-1", branched);
		writeFileSync(join(at.cwd, "real.md"), "as it was\n", { mode: 0o644 });
		symlinkSync("real.md", join(at.cwd, "link.md"));
		expect(await way(at, source, ["export -o", "link.md"])).toMatchObject({
			code: 1,
			err: expect.stringContaining("The file already exists: link.md"),
		});
		expect(await way(at, source, ["export -o", "link.md"], "", "--force")).toMatchObject({ code: 0 });
		expect(snapshot(at.cwd)["./link.md"]).toBe("link to real.md");
		expect(readFileSync(join(at.cwd, "real.md"), "utf8")).toContain("# The parser");
		expect(modeOf(join(at.cwd, "real.md"))).toBe(0o600);
	});

	// Regression: the error named a temporary file that the user does not know.
	test("an error in a read-only directory names the file", async () => {
		const at = world();
		const source = put(at, "s-1", branched);
		mkdirSync(join(at.cwd, "closed"), { mode: 0o555 });
		const target = "closed/talk.md";
		for (const more of [[], ["--force"]])
			expect(await runWithoutRights(at, ["export", source, "-o", target, ...more])).toEqual({
				code: 1,
				out: "",
				err: `Error: EACCES: permission denied, open '${target}'\n`,
			});
	});

	test("names that can hold no file are refused in words", async () => {
		const at = world();
		const source = put(at, "s-1", branched);
		mkdirSync(join(at.cwd, "folder"));
		expect(await way(at, source, ["export -o", "folder"], "", "--force")).toMatchObject({
			code: 1,
			err: "Error: Cannot write to folder: it is a directory. Name a file\n",
		});
		expect(await way(at, source, ["export -o", "no/where.md"])).toMatchObject({
			code: 1,
			err: "Error: The directory does not exist: no\n",
		});
		symlinkSync("nowhere", join(at.cwd, "dangling.md"));
		expect(await way(at, source, ["export -o", "dangling.md"])).toMatchObject({
			code: 1,
			err: expect.stringContaining("The file already exists"),
		});
	});

	test("a device or pipe is written to directly", async () => {
		const at = world();
		const source = put(at, "s-1", branched);
		expect(await way(at, source, ["export -o", "/dev/stdout"], "", "| cat")).toMatchObject({
			code: 0,
			err: "",
			out: expect.stringContaining("# The parser"),
		});
		expect(
			await runProgram("bash", ["-c", `'${process.execPath}' '${bin}' export '${source}' -o >(cat) | cat`], at),
		).toMatchObject({ code: 0, out: expect.stringContaining("# The parser") });
		expect(await way(at, source, ["export -o", "/dev/null"])).toMatchObject({ code: 0, err: "" });
		expect(statSync("/dev/null").isFile()).toBe(false);
	});

	test("whoever interrupts an export leaves nothing of it behind", async () => {
		const at = world();
		const source = put(
			at,
			"s-1",
			Array.from({ length: 60_000 }, (_, index) =>
				message(`m${index}`, index === 0 ? null : `m${index - 1}`, user(`step ${index} ${"x".repeat(300)}`)),
			),
		);
		const line = `'${process.execPath}' '${bin}' export '${source}' -o copy.md & pid=$!
			for ((i = 0; i < 30000; i++)); do compgen -G '.pi-session-*.tmp' > /dev/null && break; sleep 0.01; done
			compgen -G '.pi-session-*.tmp' > /dev/null && kill -TERM $pid; wait $pid; echo $?`;
		expect((await runProgram("bash", ["-c", line], at)).out).toBe("143\n");
		expect(readdirSync(at.cwd)).toEqual([]);
	});
});

// Regression: the draft with the secret stayed, and redact said that nothing remained.
test("a redaction removes the draft of a killed export", async () => {
	const at = world();
	const source = put(at, "s-1", [message("a", null, user("hunter2"))]);
	const dir = dirname(source);
	const drafts = (): string[] => readdirSync(dir).filter((name) => name.endsWith(".tmp"));
	const secret = `${JSON.stringify(message("a", null, user("hunter2")))}\n`;
	// The second part is requested after the first was written.
	const writing = `
		import { writeText } from ${JSON.stringify(pathToFileURL(join(root, "lib/cli/files.mjs")).href)};
		const [source, dir] = ${JSON.stringify([source, dir])};
		function* pieces() { yield ${JSON.stringify(secret)}; process.kill(process.pid, "SIGKILL"); }
		await writeText(dir + "/copy.md", pieces(), { force: false, source });`;
	await runProgram(process.execPath, ["--input-type=module", "-e", writing], at);
	expect(drafts()).toHaveLength(1);
	expect(await good(at, ["redact", "s-1", "--text", "hunter2"])).toContain("1 temporary file of killed processes");
	expect(drafts()).toEqual([]);
});

describe("standard output that takes nothing", () => {
	// Regression: on a full disk the command printed a stack trace.
	test("a full disk is an error of one line", async () => {
		const at = world();
		const source = put(at, "s-1", branched);
		for (const command of ["show", "list", "export", "show --json", "--help"]) {
			const line = `'${process.execPath}' '${bin}' ${command} ${["list", "--help"].includes(command) ? "" : `'${source}'`} > /dev/full`;
			const { code, err } = await runProgram("bash", ["-c", line], at);
			const message = "Cannot write to standard output: ENOSPC: no space left on device, write";
			expect({ command, code, err }).toEqual({
				command,
				code: 1,
				err: command.includes("--json") ? `${JSON.stringify({ error: { message } })}\n` : `Error: ${message}\n`,
			});
		}
	});

	test("nothing is printed if standard error is full, too", async () => {
		const at = world();
		const line = `'${process.execPath}' '${bin}' show nothing 2> /dev/full`;
		expect(await runProgram("bash", ["-c", line], at)).toEqual({ code: 1, out: "", err: "" });
	});
});

describe("fork", () => {
	// Regression: with --entry, a file with a header above 64 KB was reported as an old version.
	test("--entry takes a file whose header is above 64 KB", async () => {
		const at = world();
		const source = put(at, "s-1", branched, { header: { extra: "x".repeat(70_000) } });
		const { code, out } = await run(at, ["fork", source, "--entry", "e4"]);
		expect(code).toBe(0);
		expect(api.SessionManager.open(out.trim()).getHeader()).toMatchObject({ parentSession: source });
		expect(existsSync(`${source}.v1.bak`)).toBe(false);
	});
});
