// Compares a release of pi with this package: its declarations with ours, and its behaviour with the reference.
//   npm run follow [-- 1.7.0] [--write] [--only declarations,differential,agent,screens,takeover,extension]
// The default version is the newest. --write adds the row of the release to docs/pi-releases.md. The exit status is 1
// if something differs, and 2 if nothing was compared, because an argument is wrong or the release cannot be installed.
// The addon must be built. See "pi released a version" in CONTRIBUTING.md.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { count } from "../__test__/support/counts.mjs";
import { isMain } from "./is-main.mjs";
import { optionsOf } from "./options.mjs";
import { newestVersion, referenceDir, referenceVersion, setup, unpackVersion } from "./reference/setup.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const PAGE = join(root, "docs/pi-releases.md");
/** The compared parts, in the order of the columns. */
const PARTS = ["declarations", "differential", "agent", "screens", "takeover", "extension"];

/** pi's declarations about sessions: the file, and the names of its types. */
const DECLARED = [
	["pi", "dist/core/session-manager.d.ts", /./],
	["pi", "dist/core/messages.d.ts", /^(BashExecution|Custom|BranchSummary|CompactionSummary)Message$/],
	[
		"types",
		"pi-ai/dist/types.d.ts",
		/^(Usage|DeferredHandle|Tool(Call|Reference)?|(Text|Thinking|Image)Content|NestedToolCall.*|StopReason)$/,
	],
	["types", "pi-ai/dist/types.d.ts", /^(System|User|Assistant|ToolResult)Message$/],
	["types", "pi-ai/dist/utils/diagnostics.d.ts", /^(AssistantMessageDiagnostic|DiagnosticErrorInfo)$/],
];

/** Members that only this package declares: keys of headers from other programs or old releases of pi. */
const BEYOND = ["branchedFrom", "provider", "modelId", "thinkingLevel"].map((key) => `SessionHeader.${key}`);

/**
 * The possible contents of a session file, as types over the declarations of either side. The compiler resolves them,
 * so that each kind is found wherever and however it is declared.
 */
const KINDS = {
	role: 'AgentMessage["role"]',
	"kind of entry": 'SessionEntry["type"]',
	block: 'Extract<Extract<AgentMessage, { content: unknown }>["content"], readonly unknown[]>[number]["type"]',
	"stop reason": "StopReason",
};

/**
 * The tests of each part, as arguments of Vitest. The agent, screens and the extension are tested on several releases,
 * which their titles name.
 */
const testsOf = (version) => {
	const named = ["-t", version.replaceAll(".", "\\.")];
	return {
		differential: ["__test__/stress/differential"],
		agent: ["__test__/end-to-end/agent/cli.spec.ts", "__test__/end-to-end/agent/rpc.spec.ts", ...named],
		screens: ["__test__/end-to-end/register/tui.spec.ts", ...named],
		takeover: ["__test__/integration/takeover"],
		extension: ["__test__/end-to-end/extension/resume.spec.ts", ...named],
	};
};

/**
 * The members that an interface or a class declares, each with its number of parameters.
 * @param {ts.Node} declaration
 * @param {ts.SourceFile} source
 */
function membersOf(declaration, source) {
	/** @type {Map<string, string>} */
	const members = new Map();
	const visit = (node, prefix) => {
		for (const member of node.members ?? []) {
			const modifiers = (ts.canHaveModifiers(member) && ts.getModifiers(member)) || [];
			const kinds = modifiers.map(({ kind }) => kind);
			const name = member.name?.getText(source);
			if (name === undefined || name.startsWith("_") || kinds.includes(ts.SyntaxKind.PrivateKeyword)) continue;
			const path = `${prefix}${kinds.includes(ts.SyntaxKind.StaticKeyword) ? "static " : ""}${name}`;
			members.set(path, member.parameters ? `(${member.parameters.length})` : member.questionToken ? "?" : "");
			if (member.type && ts.isTypeLiteralNode(member.type)) visit(member.type, `${path}.`);
		}
	};
	const type =
		declaration.type && ts.isConditionalTypeNode(declaration.type) ? declaration.type.trueType : declaration.type;
	visit(type && ts.isTypeLiteralNode(type) ? type : declaration, "");
	return members;
}

/** The exported declarations of a file, by name. @param {string} file @param {RegExp} wanted */
function declarationsOf(file, wanted = /./) {
	/** @type {Map<string, Map<string, string>>} */
	const found = new Map();
	if (!existsSync(file)) return found;
	const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
	for (const statement of source.statements) {
		const isExported =
			ts.canHaveModifiers(statement) &&
			ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
		if (!isExported) continue;
		const named = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [statement];
		for (const one of named) {
			const name = one.name?.getText(source);
			if (name === undefined || !wanted.test(name)) continue;
			if (ts.isFunctionDeclaration(one)) found.set(name, new Map([["", `(${one.parameters.length})`]]));
			else found.set(name, membersOf(one, source));
		}
	}
	return found;
}

/** Differences of the declarations, a line each. @param {{ pi: string, types: string }} dirs */
export function compareDeclarations(dirs) {
	const ours = declarationsOf(join(root, "index.d.ts"));
	const lines = [];
	for (const [where, file, wanted] of DECLARED) {
		const theirs = declarationsOf(join(dirs[where], file), wanted);
		if (theirs.size === 0) lines.push(`${file}: it declares nothing that is known`);
		for (const [name, members] of theirs) {
			const own = ours.get(name);
			if (!own) lines.push(`${name}: pi has it, this package does not`);
			for (const [member, kind] of own ? members : []) {
				const title = member === "" ? name : `${name}.${member}`;
				const ownKind = own.get(member);
				if (ownKind === undefined) lines.push(`${title}: pi has it, this package does not`);
				// Our method may have more parameters.
				else if (
					ownKind !== kind &&
					!(kind.startsWith("(") && Number.parseInt(ownKind.slice(1), 10) > Number.parseInt(kind.slice(1), 10))
				)
					lines.push(`${title}: ${kind || "required"} in pi, ${ownKind || "required"} here`);
			}
			// Additional members of the class and additional functions belong to this package.
			if (name === "SessionManager") continue;
			for (const member of own?.keys() ?? [])
				if (!members.has(member) && !BEYOND.includes(`${name}.${member}`))
					lines.push(`${name}.${member}: this package has it, pi does not`);
		}
	}
	return [...compareKinds(dirs), ...lines, ...compareTypes(dirs)];
}

const TYPES = join(root, "__test__/integration/types");

/** Where the compiler finds pi's declarations. @param {{ pi: string, types: string }} dirs */
const pathsOf = (dirs) => ({
	"@earendil-works/pi-ai": [join(dirs.types, "pi-ai/dist/index.d.ts")],
	"@earendil-works/pi-agent-core": [join(dirs.types, "pi-agent-core/dist/index.d.ts")],
	"pi/*": [`${dirs.pi}/dist/*`],
});

/**
 * Each role, kind of entry, block and stop reason that only one side declares.
 * @param {{ pi: string, types: string }} dirs
 */
export function compareKinds(dirs) {
	const { compilerOptions } = JSON.parse(readFileSync(join(TYPES, "tsconfig.json"), "utf8"));
	const { options } = ts.convertCompilerOptionsFromJson({ ...compilerOptions, types: [], paths: pathsOf(dirs) }, TYPES);
	const types = Object.values(KINDS).map((type, at) => `export type Kind${at} = ${type};\n`);
	const files = {
		[join(TYPES, "kinds-of-pi.mts")]: `import type { AgentMessage } from "@earendil-works/pi-agent-core";
import type { StopReason } from "@earendil-works/pi-ai";
import type { SessionEntry } from "pi/core/session-manager.js";
import type {} from "pi/core/messages.js";
${types.join("")}`,
		[join(TYPES, "kinds-of-ours.mts")]:
			`import type { AgentMessage, SessionEntry, StopReason } from "../../../index.js";
${types.join("")}`,
	};
	const host = ts.createCompilerHost(options);
	const { fileExists, getSourceFile } = host;
	host.fileExists = (path) => path in files || fileExists(path);
	host.getSourceFile = (path, version) =>
		path in files ? ts.createSourceFile(path, files[path], version) : getSourceFile(path, version);
	const program = ts.createProgram(Object.keys(files), options, host);
	const checker = program.getTypeChecker();
	const [theirs, ours] = Object.keys(files).map((path) =>
		program
			.getSourceFile(path)
			.statements.filter(ts.isTypeAliasDeclaration)
			.map((alias) => literalsOf(checker.getTypeAtLocation(alias.name))),
	);
	return Object.keys(KINDS).flatMap((kind, at) => {
		const lines = (some, others, said) =>
			some.filter((one) => !others.includes(one)).map((one) => `${kind} ${JSON.stringify(one)}: ${said}`);
		if (theirs[at].length === 0) return [`${kind}: pi declares none that is known`];
		return [
			...lines(theirs[at], ours[at], "pi has it, this package does not"),
			...lines(ours[at], theirs[at], "this package has it, pi does not"),
		];
	});
}

/** The texts that a type consists of, sorted. @param {ts.Type} type */
const literalsOf = (type) =>
	(type.isUnion() ? type.types : [type]).flatMap((one) => (one.isStringLiteral() ? [one.value] : [])).sort();

/**
 * The compiler's errors about pi's types and ours, which must be assignable to each other.
 * @param {{ pi: string, types: string }} dirs
 * @param {string} tsc the compiler's script
 */
export function compareTypes(dirs, tsc = join(root, "node_modules/typescript-native/bin/tsc")) {
	const scratch = mkdtempSync(join(tmpdir(), "follow-"));
	const config = join(scratch, "tsconfig.json");
	writeFileSync(
		config,
		JSON.stringify({
			extends: join(TYPES, "tsconfig.json"),
			compilerOptions: { paths: pathsOf(dirs), typeRoots: [join(root, "node_modules/@types")] },
			files: ["reference.mts", "exports.mts", "misuse.mts"].map((name) => join(TYPES, name)),
		}),
	);
	try {
		const args = [tsc, "-p", config, "--pretty", "false"];
		const { status, stdout, stderr, error } = spawnSync(process.execPath, args, { cwd: TYPES, encoding: "utf8" });
		if (status === 0) return [];
		const lines = stdout.split("\n").filter((line) => /^\S.*error TS|^error TS/.test(line));
		return lines.length > 0
			? lines
			: [`the compiler did not run: ${error?.message ?? (lastLine(stderr || stdout) || `exit status ${status}`)}`];
	} finally {
		rmSync(scratch, { recursive: true });
	}
}

/** @param {string} text */
const lastLine = (text) => text.trim().split("\n").at(-1);

/**
 * Runs tests with a release as the reference. Returns the number of tests, and the differences.
 * @param {string} dir
 * @param {string[]} args
 */
export function runTests(dir, args) {
	const scratch = mkdtempSync(join(tmpdir(), "follow-"));
	const report = join(scratch, "report.json");
	try {
		const vitest = join(root, "node_modules/vitest/vitest.mjs");
		const { status, stdout, stderr } = spawnSync(
			process.execPath,
			[vitest, "run", "--reporter=json", `--outputFile=${report}`, ...args],
			{
				cwd: root,
				env: { ...process.env, PSN_REFERENCE: dir },
				encoding: "utf8",
				maxBuffer: 1 << 28,
			},
		);
		if (!existsSync(report))
			return { passed: 0, differences: [`the tests did not run: ${lastLine(stderr || stdout)}`] };
		const { numPassedTests: passed, testResults } = JSON.parse(readFileSync(report, "utf8"));
		const differences = testResults.flatMap(({ assertionResults, message, status, name }) =>
			assertionResults.length === 0 && status === "failed"
				? [`${name}: ${message}`]
				: assertionResults.filter((one) => one.status === "failed").map((one) => one.fullName),
		);
		if (differences.length === 0 && passed === 0) differences.push("no test has this version in its name");
		if (differences.length === 0 && status !== 0) differences.push(`Vitest failed: ${lastLine(stderr || stdout)}`);
		return { passed, differences };
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
}

const NOT_TRIED = "not tried";

/** A cell of the table. */
const cell = (part, { passed, differences }) => {
	if (differences.length > 0) return `${differences.length} differ`;
	if (part === "declarations") return "same";
	// Three tests, which share the cases.
	return part === "differential" ? `${count("differential_cases")} cases` : `${passed} pass`;
};

/**
 * Puts the row of a version into the page, in the order of versions. Parts that were not tried this time keep their
 * earlier results, and the row then keeps its `since`, so that no result is older than it says.
 * @param {string} page
 * @param {string} version
 * @param {string[]} cells
 * @param {string} since
 */
function writeRow(page, version, cells, since) {
	const text = readFileSync(page, "utf8");
	const [, head, rows, rest] = /^([\s\S]*?\n\| --- .*\n)((?:\| .*\n)*)([\s\S]*)$/.exec(text) ?? [];
	if (head === undefined) throw new Error(`${page} has no table`);
	const lines = rows.split(/(?<=\n)/).filter((line) => line !== "");
	const cellsOf = (line) => line.slice(2, -3).split(" | ");
	const known = lines.map(cellsOf).find(([name]) => name === version) ?? [version];
	const merged = cells.map((cell, at) => (cell === NOT_TRIED ? (known[at + 1] ?? cell) : cell));
	const keepsOne = merged.some((cell, at) => cells[at] === NOT_TRIED && cell !== NOT_TRIED);
	const row = `| ${[version, ...merged, keepsOne ? known[PARTS.length + 1] : since].join(" | ")} |\n`;
	const others = lines.filter((line) => cellsOf(line)[0] !== version);
	const sorted = [...others, row].sort((a, b) => cellsOf(a)[0].localeCompare(cellsOf(b)[0], "en", { numeric: true }));
	writeFileSync(page, `${head}${sorted.join("")}${rest}`);
}

/** The day, in UTC, and the commit of this run. */
function today() {
	const commit = execFileSync("git", ["rev-parse", "--short=8", "HEAD"], { cwd: root, encoding: "utf8" });
	return `${new Date().toISOString().slice(0, 10)}, ${commit.trim()}`;
}

/** The functions that find and compare a release, and the files of the results. Tests replace these. */
const OWN = {
	newest: newestVersion,
	unpack: (version) => {
		setup();
		return unpackVersion(version);
	},
	compare: compareDeclarations,
	run: runTests,
	page: PAGE,
	today,
	print: console.log,
};

/**
 * Compares the release in `versions`, or the newest if that is empty, and returns the exit status.
 * @param {{ versions: string[], only?: string, write?: boolean }} options
 */
export function follow({ versions, only, write }, { newest, unpack, compare, run, page, today, print } = OWN) {
	const wanted = only?.split(",") ?? PARTS;
	const unknown = wanted.find((part) => !PARTS.includes(part));
	if (unknown !== undefined) {
		print(`--only names an unknown part: ${JSON.stringify(unknown)}. The parts are ${PARTS.join(", ")}`);
		return 2;
	}
	if (versions.length > 1 || versions.some((one) => !/^\d+\.\d+\.\d+$/.test(one))) {
		print(
			`Name one release of pi, such as 1.6.0, or none for the newest, instead of ${JSON.stringify(versions.join(" "))}`,
		);
		return 2;
	}
	let version = versions[0];
	let dirs;
	try {
		version ??= newest();
		dirs = unpack(version);
	} catch (error) {
		print(`pi ${version ?? "(the newest)"} cannot be installed: ${error.message.split("\n")[0]}`);
		return 2;
	}
	const tests = testsOf(version);
	let isSame = true;
	print(`pi ${version}, beside the reference ${referenceVersion} (${referenceDir})\n`);
	const cells = PARTS.map((part) => {
		if (!wanted.includes(part)) return NOT_TRIED;
		const result = part === "declarations" ? { passed: 0, differences: compare(dirs) } : run(dirs.pi, tests[part]);
		if (result.differences.length > 0) isSame = false;
		print(`${part}: ${cell(part, result)}`);
		for (const difference of result.differences) print(`  ${difference}`);
		return cell(part, result);
	});
	if (write) writeRow(page, version, cells, today());
	print(isSame ? "\nNothing differs." : '\nSee "pi released a version" in CONTRIBUTING.md.');
	return isSame ? 0 : 1;
}

function main() {
	const { values, positionals } = optionsOf(import.meta.url, {
		allowPositionals: true,
		options: { write: { type: "boolean" }, only: { type: "string" } },
	});
	process.exit(follow({ ...values, versions: positionals }));
}

if (isMain(import.meta.url)) main();
