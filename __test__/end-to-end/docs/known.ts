// Checks commands of the documentation that are not run, because they build, test or measure for minutes: the scripts,
// files, folders, options, and names of cases and runtimes in them must exist.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { select } from "../../../bench/cases.mjs";
import { RUNTIMES } from "../../../scripts/runtimes/setup.mjs";
import { root } from "../../support/scratch.js";

const pack = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/** Commands of npm itself. */
const NPM = ["install", "ci", "pack", "publish", "uninstall"];
const CARGO = ["test", "build", "fmt", "clippy", "run", "fuzz", "+nightly"];
/** Programs whose arguments name no file or option of ours. */
const OTHERS = ["git", "cd", "rm", "apt-get", "sudo", "export"];

/** The error of a command; undefined if everything that it names exists. */
export function unknown(command: string): string | undefined {
	for (const part of command.split(/\s+&&\s+/)) {
		const problem = unknownPart(
			part
				.trim()
				.replace(/^(?:[A-Z_]+=\S+ )+/, "")
				.split(/\s+/),
		);
		if (problem) return problem;
	}
	return undefined;
}

function unknownPart([program = "", ...args]: string[]): string | undefined {
	const [first = "", ...rest] = args;
	switch (program) {
		case "npm":
			if (NPM.includes(first)) return undefined;
			return first === "run" ? unknownScript(rest) : unknownScript(args);
		case "npx": {
			if (!existsSync(join(root, "node_modules/.bin", first)) && !(first in (pack.bin ?? {}))) return `no ${first}`;
			const files = rest.filter((word) => word.includes("/"));
			return files.filter((file) => !existsSync(join(root, file))).map((file) => `no file ${file}`)[0];
		}
		case "node":
			return unknownArguments(first, rest);
		// __test__/end-to-end/extension installs and removes the package with pi.
		case "pi":
			return ["install", "remove", "-e"].includes(first) && existsSync(join(root, pack.pi.extensions[0]))
				? undefined
				: `pi ${first} is not one of ours`;
		case "cargo":
			return CARGO.includes(first) ? undefined : `cargo ${first} is not one of ours`;
		default:
			return OTHERS.includes(program) || existsSync(join(root, program)) ? undefined : `nobody knows ${program}`;
	}
}

/** npm's form `[script, "--", ...args]`. */
function unknownScript([name = "", dashes, ...args]: string[]): string | undefined {
	const line: string | undefined = pack.scripts[name];
	if (line === undefined) return `package.json has no script ${name}`;
	if (dashes === undefined) return undefined;
	// npm would not pass them on.
	if (dashes !== "--") return `npm run ${name} takes what follows -- alone`;
	const file = /^node (\S+\.mjs)/.exec(line)?.[1];
	return file === undefined
		? `the script ${name} is no file of ours, which takes ${args.join(" ")}`
		: unknownArguments(file, args);
}

/**
 * The options of a script, from its `optionsOf` or its use of `process.argv`, and their allowed values.
 */
function unknownArguments(file: string, args: string[]): string | undefined {
	if (!existsSync(join(root, file))) return `no file ${file}`;
	const source = readFileSync(join(root, file), "utf8");
	const words = [...args];
	for (let word = words.shift(); word !== undefined; word = words.shift()) {
		// A placeholder that the reader replaces.
		if (/^<.*>?$|^[^-]*>$/.test(word)) continue;
		if (!word.startsWith("--")) {
			if (!/positionals|process\.argv/.test(source)) return `${file} takes no ${word}`;
			if (file === "scripts/runtimes.mjs" && !(word in RUNTIMES)) return `no runtime ${word}`;
			continue;
		}
		const name = word.slice(2);
		const kind = new RegExp(`\\b${name}"?: \\{ type: "(string|boolean)"`).exec(source)?.[1];
		if (kind === undefined && !source.includes(`process.argv.includes("${word}")`)) return `${file} takes no ${word}`;
		const value = kind === "string" ? words.shift() : undefined;
		if (kind === "string" && value === undefined) return `${word} needs a value`;
		if (file === "bench/run.mjs" && name === "cases") {
			for (const one of (value ?? "").split(",")) if (!isCase(one)) return `the benchmark has no case ${one}`;
		}
	}
	return undefined;
}

function isCase(name: string): boolean {
	try {
		return select([name], false).length > 0;
	} catch {
		return false;
	}
}
