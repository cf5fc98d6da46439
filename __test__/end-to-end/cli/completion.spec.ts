// Completion in three shells: commands, options, ids and files. No session makes a shell run a command.
import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { bin, branched, program, put, run, runProgram, type World, world } from "../../support/cli.js";
import { message, user } from "../../support/scratch.js";
import { tool } from "../../support/tools.js";

/** A folder on the path that contains the command. */
function shellWorld(): World {
	const at = world();
	program(at, "pi-sessions", `exec '${process.execPath}' '${bin}' "$@"`);
	put(at, "0194abcd-1", branched);
	put(at, "0194abcd-2", branched, { cwd: "/other" });
	put(at, "ffff", branched);
	return { ...at, env: { ...at.env, PATH: `${at.cwd}:${at.env.PATH}` } };
}

/** bash's completions of the last of these words. */
async function inBash(at: World, ...words: string[]): Promise<string[]> {
	const line = `source <(pi-sessions completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pi_sessions; printf '%s\\n' "\${COMPREPLY[@]}"`;
	const { code, out, err } = await runProgram(
		tool("bash"),
		["--norc", "-c", line, "bash", "pi-sessions", ...words],
		at,
	);
	expect({ code, err }).toEqual({ code: 0, err: "" });
	return out.split("\n").filter(Boolean).sort();
}

/** fish's completions at the end of a line. */
async function inFish(at: World, line: string): Promise<string[]> {
	const { out, err } = await runProgram(
		tool("fish"),
		["--no-config", "-c", "pi-sessions completion fish | source; complete -C $argv[1]", line],
		at,
	);
	expect(err).toBe("");
	return out
		.split("\n")
		.filter(Boolean)
		.map((one) => one.split("\t")[0] as string)
		.sort();
}

const SETUP = {
	bash: `source <(pi-sessions completion bash); bind 'set show-all-if-ambiguous on'; bind 'set completion-query-items 0'`,
	zsh: `autoload -U compinit; compinit -u -D; source <(pi-sessions completion zsh); PS1=; zstyle ":completion:*" verbose $VERBOSE; unsetopt auto_menu; LISTMAX=0`,
};

/** Types keys into an interactive zsh in its own terminal. After each step it waits for the expected output. */
async function typed(
	at: World,
	shell: "bash" | "zsh",
	steps: [keys: string, until: string][],
	env: NodeJS.ProcessEnv = {},
): Promise<string> {
	const program = shell === "bash" ? `${tool("bash")} --norc --noprofile -i` : `${tool("zsh")} -f -i`;
	const wait = (until: string): string =>
		`for ((i = 0; i < 6000; i++)); do zpty -rt shell part && out+=$part; [[ $out == *${JSON.stringify(until)}* ]] && break; sleep 0.05; done; all+=$out; out=`;
	const line = `zmodload zsh/zpty; zpty -b shell ${program}
		local out part all
		zpty -w shell ${quoted(SETUP[shell])}
		zpty -w shell 'print re""ady || echo re""ady'
		${wait("ready")}
		${steps.map(([keys, until]) => `zpty -wn shell ${quoted(keys)}\n${wait(until)}`).join("\n")}
		zpty -d shell; print -r -- $all`;
	const { out } = await runProgram(tool("zsh"), ["-f", "-c", line], {
		...at,
		env: { VERBOSE: "no", ...at.env, TERM: "dumb", INPUTRC: "/dev/null", HISTFILE: "/dev/null", ...env },
	});
	return out;
}

const quoted = (text: string): string =>
	`$'${text.replace(/[\\']/g, "\\$&").replaceAll("\t", "\\t").replaceAll("\n", "\\n")}'`;

test("in bash: commands, options, values, session ids", async () => {
	const at = shellWorld();
	expect(await inBash(at, "s")).toEqual(["search", "show", "stats"]);
	expect(await inBash(at, "tree", "--")).toEqual([
		"--cwd",
		"--dir",
		"--help",
		"--json",
		"--limit",
		"--no-pager",
		"--user",
	]);
	expect(await inBash(at, "show", "0194")).toEqual(["0194abcd-1", "0194abcd-2"]);
	expect(await inBash(at, "export", "--format", "")).toEqual(["jsonl", "md"]);
	expect(await inBash(at, "search", "--in", "t")).toEqual(["thinking", "tool"]);
	expect(await inBash(at, "export", "--format", "=", "")).toEqual(["jsonl", "md"]);
	expect(await inBash(at, "completion", "")).toEqual(["bash", "fish", "zsh"]);
	expect(await inBash(at, "list", "--cwd", "/us")).toEqual(["/usr"]);
});

test("in fish", async () => {
	const at = shellWorld();
	expect(await inFish(at, "pi-sessions s")).toEqual(["search", "show", "stats"]);
	expect(await inFish(at, "pi-sessions show 0194")).toEqual(["0194abcd-1", "0194abcd-2"]);
	expect(await inFish(at, "pi-sessions tree --us")).toEqual(["--user"]);
	expect(await inFish(at, "pi-sessions export --format=j")).toEqual(["--format=jsonl"]);
	expect(await inFish(at, "pi-sessions list --cwd=/us")).toEqual(["--cwd=/usr/"]);
});

test("in zsh", async () => {
	const at = shellWorld();
	const out = await typed(at, "zsh", [
		["pi-sessions st\t", "pi-sessions stats"],
		["f\t", "ffff"],
	]);
	expect(out).toContain("stats");
	expect(out).toContain("ffff");
});

test("the commands after help are completed", async () => {
	const at = shellWorld();
	expect(await inBash(at, "help", "st")).toEqual(["stats"]);
	expect(await inFish(at, "pi-sessions h")).toEqual(["help"]);
	expect(await inFish(at, "pi-sessions help st")).toEqual(["stats"]);
	expect(
		await typed(at, "zsh", [
			["pi-sessions list --li\t", "--limit"],
			["\u0015pi-sessions help st\t", "stats"],
		]),
	).toContain("stats");
});

test("ids are those of --dir, where that is typed", async () => {
	const at = shellWorld();
	const dir = join(at.cwd, "my sessions");
	mkdirSync(dir);
	cpSync(put(at, "kept-apart", branched, { cwd: "/kept" }), join(dir, "kept.jsonl"));
	const typedDir = dir.replaceAll(" ", "\\ ");
	expect(await inBash(at, "show", "--dir", typedDir, "")).toContain("kept-apart");
	expect(await inBash(at, "show", "--dir", typedDir, "0194")).toEqual([]);
	expect(await inBash(at, "show", "--dir", "=", `'${dir}'`, "kept")).toEqual(["kept-apart"]);
	expect(await inFish(at, `pi-sessions show --dir ${typedDir} kept`)).toEqual(["kept-apart"]);
	expect(await inFish(at, `pi-sessions show --dir=${typedDir} 0194`)).toEqual([]);
	expect(await typed(at, "zsh", [[`pi-sessions show --dir ${typedDir} kept\t`, "kept-apart"]])).toContain("kept-apart");
	expect(await typed(at, "zsh", [[`pi-sessions show --dir=${typedDir} kept\t`, "kept-apart"]])).toContain("kept-apart");
});

// Regression: the command had its own rule for ids, with a limit of 128 characters.
test("an id is completed if the library accepts it", async () => {
	const at = world();
	const id = "a".repeat(129);
	put(at, id, branched);
	expect((await run(at, ["complete", "pi-sessions", "show", ""])).out).toContain(`${id}\t`);
});

// Regression: nothing was offered.
test("sessions are completed as values of an option", async () => {
	const at = world();
	put(at, "0194-one", branched);
	for (const words of [
		["search", "-s"],
		["search", "--session"],
		["move", "--session"],
	])
		expect((await run(at, ["complete", "--", "pi-sessions", ...words, ""])).out).toContain("0194-one\t");
});

test("file names with spaces stay one word", async () => {
	const at = shellWorld();
	writeFileSync(join(at.cwd, "my own session.jsonl"), "");
	expect(await inBash(at, "show", "my")).toEqual(["my own session.jsonl"]);
	// The first half is typed with the backslash that a shell needs. The completed command receives one argument.
	for (const shell of ["bash", "zsh"] as const)
		expect(await typed(at, shell, [["pi-sessions show my\\ o\t\n", "not a valid pi session"]])).toContain(
			"/my own session.jsonl",
		);
	expect(await inFish(at, "pi-sessions show my")).toEqual(["my own session.jsonl"]);
});

// Regression: if a session's id was a shell command, Tab ran it.
test("Tab runs no session id that is a shell command", async () => {
	const at = shellWorld();
	const commands = [
		"x$(touch${IFS}PWNED-1)",
		"x`touch PWNED-2`",
		"x;touch PWNED-3",
		"x'$(touch PWNED-4)'",
		"x(touch PWNED-5)",
		'x"$(touch PWNED-6)"',
		"x\n$(touch PWNED-7)",
		"-x",
		"x*",
		"x\\$(touch PWNED-8)",
		"$(touch PWNED-9)",
	];
	for (const [index, id] of commands.entries())
		put(at, id, [message("a", null, user("id"))], { name: `hostile-${index}.jsonl` });
	// An id may be safe although the name is not.
	for (const [index, name] of [
		...commands,
		"%F{red}${(e):-$(touch PWNED-10)}",
		"a:b\\:c[d]$(touch PWNED-11)",
		"%{$(touch PWNED-12)%}",
	].entries())
		put(at, `xgood-${index}`, [message("a", null, user(name))]);
	expect(
		(await run(at, ["complete", "pi-sessions", "show", ""])).out
			.split("\n")
			.map((line) => line.split("\t")[0])
			.filter(Boolean)
			.sort(),
	).toEqual(
		["/file", "0194abcd-1", "0194abcd-2", "ffff", ...Array.from({ length: 14 }, (_, index) => `xgood-${index}`)].sort(),
	);
	const good = Array.from({ length: 14 }, (_, index) => `xgood-${index}`).sort();
	expect(await inBash(at, "show", "x")).toEqual(good);
	expect(await inBash(at, "show", "$(touch PWNED-13)")).toEqual([]);
	expect(await inFish(at, "pi-sessions show x")).toEqual(good);
	expect(await typed(at, "bash", [["pi-sessions show x\t\t", "xgood-13"]])).toContain("xgood-13");
	for (const VERBOSE of ["no", "yes"])
		expect(await typed(at, "zsh", [["pi-sessions show x\t\t", "xgood-13"]], { VERBOSE })).toContain("xgood-13");
	for (const dir of [at.cwd, dirname(at.cwd)])
		expect(readdirSync(dir).filter((name) => name.startsWith("PWNED"))).toEqual([]);
});

test("move completes directories, delete completes sessions", async () => {
	const at = world();
	put(at, "0194-one", branched);
	const offered = async (...words: string[]): Promise<string> =>
		(await run(at, ["complete", "--", "pi-sessions", ...words])).out;
	expect(await offered("move", "")).toContain("/directory\n");
	expect(await offered("delete", "019")).toContain("0194-one\tThe parser\n");
	expect(await offered("delete", "--older")).toMatch(/^--older-than\t/);
	expect(await offered("list", "--rep")).toMatch(/^--repository\t/);
});
