// `npm run follow`: its reports about pi's declarations and about the results of its parts. Other tests run the parts.
import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { referencePackage, root } from "../../../scripts/demo/pi.mjs";
import { compareDeclarations, compareKinds, compareTypes, follow, runTests } from "../../../scripts/follow.mjs";
import { scratch } from "../../support/scratch.js";

const types = join(root, "scripts/reference/pi-packages");

test("the declarations of the reference are the same", () => {
	expect(compareDeclarations({ pi: referencePackage, types })).toEqual([]);
});

/** A copy of the reference's declarations beside the packages that they import, and a function that edits its files. */
function release() {
	const dir = scratch();
	const dirs = { pi: join(dir, "pi"), types: join(dir, "types") };
	for (const name of ["session-manager.d.ts", "messages.d.ts"])
		cpSync(join(referencePackage, "dist/core", name), join(dirs.pi, "dist/core", name));
	for (const name of ["pi-ai", "pi-agent-core"]) cpSync(join(types, name), join(dirs.types, name), { recursive: true });
	const edit = (path: string, ...pairs: [string | RegExp, string][]): void => {
		const before = readFileSync(join(dir, path), "utf8");
		const after = pairs.reduce((text, [from, to]) => text.replace(from, to), before);
		expect(after).not.toBe(before);
		writeFileSync(join(dir, path), after);
	};
	return { dirs, edit };
}

test("what a release adds, changes and leaves out is named", () => {
	const { dirs, edit } = release();
	edit(
		"pi/dist/core/session-manager.d.ts",
		[
			"export declare class SessionManager {",
			"export declare function teleport(): void;\nexport declare class SessionManager {\n    static jump(to: string): SessionManager;",
		],
		[/^ {4}getEntries\(\)/m, "    getEntries(from: string, to: string)"],
	);
	edit("types/pi-ai/dist/types.d.ts", ["durationMs?: number;", "tookMs?: number;"]);
	const lines = compareDeclarations(dirs);
	expect(lines).toEqual(
		expect.arrayContaining([
			"teleport: pi has it, this package does not",
			"SessionManager.static jump: pi has it, this package does not",
			"SessionManager.getEntries: (2) in pi, (0) here",
			"AssistantMessage.tookMs: pi has it, this package does not",
			"AssistantMessage.durationMs: this package has it, pi does not",
		]),
	);
	expect(lines.some((line) => line.startsWith("reference.mts("))).toBe(true);
});

// Regression: the compiler's lines named neither the role nor the block, but "SessionMessageEntry … 18 more".
test("new and missing roles, kinds, blocks and reasons are named", () => {
	const { dirs, edit } = release();
	edit(
		"types/pi-ai/dist/types.d.ts",
		[
			"export interface UserMessage {",
			'export interface DeveloperMessage { role: "developer"; content: string; timestamp: number; }\n' +
				'export interface AudioContent { type: "audio"; data: string; }\nexport interface UserMessage {',
		],
		["export type Message = ", "export type Message = DeveloperMessage | "],
		["(TextContent | ThinkingContent | ToolCall)[]", "(TextContent | ThinkingContent | ToolCall | AudioContent)[]"],
		[/(export type StopReason = .*?) \| "deferred";/, '$1 | "refused";'],
	);
	edit(
		"pi/dist/core/messages.d.ts",
		["interface CustomAgentMessages {", "interface CustomAgentMessages { poll: PollMessage;"],
		["export interface BranchSummaryMessage", 'export interface PollMessage { role: "poll"; }\n$&'],
	);
	edit("pi/dist/core/session-manager.d.ts", [
		"export type SessionEntry = ",
		'export type SessionEntry = (SessionEntryBase & { type: "bookmark" }) | ',
	]);
	const isKind = /^(role|kind of entry|block|stop reason)\b/;
	expect(compareDeclarations(dirs).filter((line) => isKind.test(line))).toEqual([
		'role "developer": pi has it, this package does not',
		'role "poll": pi has it, this package does not',
		'kind of entry "bookmark": pi has it, this package does not',
		'block "audio": pi has it, this package does not',
		'stop reason "refused": pi has it, this package does not',
		'stop reason "deferred": this package has it, pi does not',
	]);
	edit("pi/dist/core/session-manager.d.ts", ["export type SessionEntry =", "export type Entry ="]);
	expect(compareKinds(dirs)).toContain("kind of entry: pi declares none that is known");
});

// Regression: if the compiler did not start, or its error named no file, the result was "declarations: same".
test("a compiler that does not run is a difference", () => {
	const dir = scratch();
	const compiler = (text: string): string => {
		const path = join(dir, `${text.length}.cjs`);
		writeFileSync(path, text);
		return path;
	};
	const dirs = { pi: referencePackage, types };
	expect(compareTypes(dirs, join(dir, "missing.js"))).toEqual([expect.stringMatching(/^the compiler did not run: /)]);
	expect(compareTypes(dirs, compiler('console.log("error TS5023: Unknown option"); process.exit(1);'))).toEqual([
		"error TS5023: Unknown option",
	]);
	expect(compareTypes(dirs, compiler("process.exit(3);"))).toEqual(["the compiler did not run: exit status 3"]);
});

test("tests that fail or do not run are differences", () => {
	expect(runTests(referencePackage, ["__test__/unit/contract/exact-values.spec.ts", "-t", "no title"])).toEqual({
		passed: 0,
		differences: ["no test has this version in its name"],
	});
	expect(runTests(referencePackage, ["--no-such-option"]).differences).toEqual([
		expect.stringMatching(/^the tests did not run: /),
	]);
});

const HEAD =
	"# Releases\n\n| release | declarations | differential | agent | screens | takeover | extension | since |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n";

/** Follows a release whose parts have these results. */
function followed(
	results: Record<string, string[]>,
	{
		versions = ["1.10.0"],
		today = "day 1, commit 1",
		page = "",
		newest,
		...options
	}: { versions?: string[]; today?: string; newest?: Error; only?: string; write?: boolean; page?: string } = {},
) {
	const path = join(scratch(), "page.md");
	writeFileSync(path, page);
	const printed: string[] = [];
	const tried: string[] = [];
	const find = (part: string): string[] => {
		tried.push(part);
		return results[part] ?? [];
	};
	const status = follow(
		{ versions, ...options },
		{
			newest: () => {
				if (newest) throw newest;
				return "1.10.0";
			},
			unpack: (version) => ({ pi: `/pi-${version}`, types: "/types" }),
			compare: () => find("declarations"),
			run: (dir, [file = "", ...more]) => {
				expect(dir).toBe("/pi-1.10.0");
				const part = ["differential", "agent", "takeover", "extension"].find((one) => file.includes(one)) ?? "screens";
				expect(more.includes("1\\.10\\.0")).toBe(["agent", "screens", "extension"].includes(part));
				return { passed: 2, differences: find(part) };
			},
			page: path,
			today: () => today,
			print: (line) => printed.push(line),
		},
	);
	return { status, printed: printed.join("\n"), tried, page: readFileSync(path, "utf8") };
}

test("differences are printed, and the exit status is 1", () => {
	const same = followed({});
	expect(same.tried).toEqual(["declarations", "differential", "agent", "screens", "takeover", "extension"]);
	expect({ status: same.status, page: same.page }).toEqual({ status: 0, page: "" });
	expect(same.printed).toMatch(/differential: \d+ cases\nagent: 2 pass\n[\s\S]*Nothing differs\.$/);
	const { status, printed } = followed({ agent: ["print mode", "RPC mode"], screens: ["tree"] });
	expect(status).toBe(1);
	expect(printed).toContain("agent: 2 differ\n  print mode\n  RPC mode\nscreens: 1 differ\n  tree\n");
	expect(printed).not.toContain("Nothing differs");
});

// Regression: `--only declaration` compared nothing, said that nothing differs, and exited with 0.
test("an unknown part is an error", () => {
	for (const only of ["declaration", "", "agent,screen"]) {
		const { status, tried, printed } = followed({}, { only, write: true, page: HEAD });
		expect({ status, tried }).toEqual({ status: 2, tried: [] });
		expect(printed).toMatch(/^--only names an unknown part: .* The parts are declarations, .*extension$/);
	}
	expect(followed({}, { only: "takeover,agent" }).tried).toEqual(["agent", "takeover"]);
});

// Regression: `latest` and `v1.6.0` were compared and got rows with these names, and a second release was ignored.
test("anything but one release is an error", () => {
	for (const versions of [["nonsense"], ["latest"], ["v1.6.0"], ["1.6"], [""], ["1.6.0", "1.5.2"]]) {
		const { status, tried, printed, page } = followed({}, { versions, write: true, page: HEAD });
		expect({ status, tried, page }).toEqual({ status: 2, tried: [], page: HEAD });
		expect(printed).toBe(
			`Name one release of pi, such as 1.6.0, or none for the newest, instead of ${JSON.stringify(versions.join(" "))}`,
		);
	}
	expect(followed({}, { versions: [], only: "agent" })).toMatchObject({ status: 0, tried: ["agent"] });
});

// Regression: the command printed a stack trace, and had the exit status of a difference.
test("a failed installation is an error of one line", () => {
	const env = { ...process.env, npm_config_registry: "http://127.0.0.1:9", npm_config_fetch_retries: "0" };
	const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, "scripts/follow.mjs"), "99.0.0"], {
		encoding: "utf8",
		env,
	});
	expect({ status, stderr }).toEqual({ status: 2, stderr: "" });
	expect(stdout).toMatch(/^pi 99\.0\.0 cannot be installed: .*127\.0\.0\.1:9.*\n$/);
	const newest = followed({}, { versions: [], newest: new Error("offline\n    at npm") });
	expect(newest).toMatchObject({ status: 2, tried: [], printed: "pi (the newest) cannot be installed: offline" });
});

test("a release's row is sorted and keeps untried results", () => {
	const row = (version: string, ...cells: string[]): string => `| ${[version, ...cells].join(" | ")} |\n`;
	const seven = ["same", "3", "4", "5", "6", "7", "day 0, commit 0"];
	const others = [row("1.9.0", ...seven), row("1.11.0", ...seven)];
	const page = `${HEAD}${others.join("")}\nThe end.\n`;
	const first = followed({ screens: ["tree"] }, { only: "declarations,screens", write: true, page });
	const none = "not tried";
	const middle = row("1.10.0", "same", none, none, "1 differ", none, none, "day 1, commit 1");
	expect(first.page).toBe(`${HEAD}${others[0]}${middle}${others[1]}\nThe end.\n`);
	const later = { write: true, today: "day 2, commit 2" };
	const second = followed({}, { ...later, only: "agent,extension", page: first.page });
	expect(second.page).toContain(row("1.10.0", "same", none, "2 pass", "1 differ", none, "2 pass", "day 1, commit 1"));
	// Regression: a kept result had no date.
	const third = followed({}, { ...later, only: "declarations,agent,screens,extension", page: second.page });
	expect(third.page).toContain(row("1.10.0", "same", none, "2 pass", "2 pass", none, "2 pass", "day 2, commit 2"));
	expect(followed({}, { only: "agent", page }).page).toBe(page);
});
