// The documentation is true: every block of code in it runs, every link leads to a page, and the generated pages are up
// to date.
import { execFile } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadReference, loadSubject, type SessionModule } from "../../support/reference.js";
import { api, read, root, scratch } from "../../support/scratch.js";
import { allBlocks, blocksOf, pages, placeOf, textOf } from "./blocks.js";
import { unknown } from "./known.js";
import { Project, put } from "./project.js";
import { runShell } from "./shell.js";

const run = promisify(execFile);
const declarations = read(join(root, "index.d.ts"));
const inLanguage = (...languages: string[]) => allBlocks.filter(({ language }) => languages.includes(language));
const code = inLanguage("ts", "js");
// pi's package needs a newer Node than this one may be.
const nodeFor = (text: string): string =>
	text.includes("@earendil-works/") ? join(root, "scripts/reference/node_modules/node/bin/node") : process.execPath;

const project = new Project();
beforeAll(async () => {
	await run(process.execPath, [join(root, "scripts/reference/setup.mjs")]);
});
afterAll(() => project.remove());

test("every block is in a language that is tried here", () => {
	const tried = ["ts", "js", "sh", "console", "json", "jsonl"];
	const others = allBlocks.filter(({ language }) => !tried.includes(language));
	expect(others.filter(({ language }) => language !== "mermaid").map(placeOf)).toEqual([]);
	for (const language of ["ts", "js", "sh", "console", "jsonl"])
		expect(inLanguage(language).length, language).toBeGreaterThan(0);
});

describe("code", () => {
	test("is typed", () => {
		expect(project.typeErrors(inLanguage("ts"))).toEqual([]);
	});

	test.each(code.map((block) => [placeOf(block), block] as const))(
		"%s runs and prints what it says",
		async (_, block) => {
			const { expected, lines, err, code } = await project.run(block, nodeFor(block.code));
			expect({ err, code }).toEqual({ err: "", code: 0 });
			// A line without a declared output may print as well.
			let at = 0;
			for (const line of lines) if (line === expected[at]) at++;
			expect({ printed: lines, missing: expected.slice(at) }).toEqual({ printed: lines, missing: [] });
		},
	);
});

describe("data", () => {
	test.each(inLanguage("json").map((block) => [placeOf(block), block] as const))("%s is JSON", (_, block) => {
		expect(() => JSON.parse(block.code)).not.toThrow();
	});

	test.each(inLanguage("jsonl").map((block) => [placeOf(block), block] as const))(
		"%s opens as a session",
		(_, block) => {
			const lines = block.code.trimEnd().split("\n");
			const header =
				JSON.parse(lines[0] as string).type === "session"
					? []
					: ['{"type":"session","version":3,"id":"docs","timestamp":"2025-06-01T12:00:00.000Z","cwd":"/"}'];
			const all = [...header, ...lines];
			const values = all.map((line) => JSON.parse(line));
			const manager = api.SessionManager.open(put(scratch(), "session.jsonl", `${all.join("\n")}\n`));
			// Opening a file before version 3 migrates it.
			if ((values[0].version ?? 1) < 3) expect(manager.getEntryCount()).toBe(all.length - 1);
			else expect([manager.getHeader(), ...manager.getEntries()]).toEqual(values);
		},
	);
});

describe("commands", () => {
	test.each(inLanguage("sh", "console").map((block) => [placeOf(block), block] as const))("%s", async (_, block) => {
		expect(await runShell(block)).toEqual([]);
	});
});

test("scripts, files and options in the text exist", () => {
	const spans = pages.flatMap((page) => {
		const prose = textOf(page).replace(/^(`{3,})[\s\S]*?^\1$/gm, "");
		return [
			...prose.matchAll(
				/`((?:[A-Z_]+=\S+ )*(?:npm (?:run|start|test)\b|npx vitest|node (?:scripts|bench|reference)\/)[^`]*)`/g,
			),
		].map(([, span]) => ({ page, command: (span as string).replace(/\s+/g, " ") }));
	});
	expect(spans.length).toBeGreaterThan(30);
	const wrong = spans
		.filter(({ command }) => command !== "npm run")
		.flatMap(({ page, command }) => (unknown(command) ? [`${page}: ${command}: ${unknown(command)}`] : []));
	expect(wrong).toEqual([]);
});

/** The help of each command, by name. */
async function helpTexts(): Promise<[name: string, help: string][]> {
	const help = async (...args: string[]): Promise<string> =>
		(await run(process.execPath, [join(root, "bin/pi-sessions.mjs"), ...args, "--help"])).stdout;
	const names = [...(await help()).matchAll(/^ {2}(\w+)(?:\|\w+)? [[<]/gm)]
		.map(([, name]) => name as string)
		.filter((name) => name !== "help");
	expect(names.length).toBeGreaterThan(8);
	return Promise.all(names.map(async (name): Promise<[string, string]> => [name, await help(name)]));
}

test("every example in the help runs", async () => {
	for (const [name, help] of await helpTexts()) {
		const examples = [...help.matchAll(/^ {2}\$ (.*)$/gm)].map(([, example]) => example as string);
		expect(examples.length, name).toBeGreaterThan(0);
		for (const code of examples)
			expect(await runShell({ file: `${name} --help`, line: 0, language: "sh", code })).toEqual([]);
	}
});

// Regression: --repository and --replacement were not described.
test("the page of the command describes every option", async () => {
	const page = read(join(root, "docs/cli.md"));
	const help = (await helpTexts()).map(([, text]) => text).join("");
	const options = new Set([...help.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, option]) => option as string));
	expect(options.size).toBeGreaterThan(25);
	expect([...options].filter((option) => option !== "--help" && !page.includes(option))).toEqual([]);
});

// Regression: the page said that one command does all that CI does.
test("the contributor's page names each command of CI", () => {
	const commands = [...read(join(root, ".github/workflows/ci.yml")).matchAll(/^ {6}- run: (.*)$/gm)].map(
		([, one]) => one as string,
	);
	expect(commands.length).toBeGreaterThan(8);
	const page = textOf("CONTRIBUTING.md");
	// On other machines `.ci/run` installs the system's packages.
	for (const command of commands.filter((one) => !one.startsWith("sudo apt-get "))) {
		expect(page).toContain(`\`${command.replace(/\$\{\{ matrix\.(\w+) \}\}/, "<$1>")}\``);
	}
});

describe("pages", () => {
	/** The addon's loader needs it. */
	const INTERNAL = ["__napiBindingTarget"];

	test.each(pages)("%s: links lead to files and headings that are there", (page) => {
		const text = textOf(page)
			.replace(/^(`{3,})[\s\S]*?^\1$/gm, "")
			.replace(/`[^`\n]*`/g, "");
		for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
			if (/^[a-z]+:/.test(target as string)) continue;
			const [path = "", anchor] = (target as string).split("#");
			const file = path === "" ? page : join(dirname(page), path);
			expect(existsSync(join(root, file)), `${page} → ${target}`).toBe(true);
			if (anchor && file.endsWith(".md")) expect(anchorsOf(file), `${page} → ${target}`).toContain(anchor);
		}
	});

	test("the page on the API names every export and method", () => {
		const functions = (holder: object): string[] =>
			Object.getOwnPropertyNames(holder).filter(
				(name) =>
					!["arguments", "caller", "constructor", ...INTERNAL].includes(name) &&
					typeof (holder as Record<string, unknown>)[name] === "function",
			);
		const { SessionManager } = api;
		const wanted = [...functions(api), ...functions(SessionManager), ...functions(SessionManager.prototype)];
		const text = textOf("docs/api.md");
		expect(wanted.length).toBeGreaterThan(80);
		expect(wanted.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
		expect(text).toContain("`CURRENT_SESSION_VERSION`");
	});

	test("the file format's page shows every kind and role", () => {
		const shown = new Set<string>();
		for (const block of blocksOf("docs/file-format.md").filter(({ language }) => language === "jsonl")) {
			for (const line of block.code.trimEnd().split("\n")) {
				const { type, message } = JSON.parse(line);
				shown.add(type);
				if (message) shown.add(`role ${message.role}`);
			}
		}
		const kinds = [...declarations.matchAll(/extends SessionEntryBase \{\s*type: "(\w+)"/g)].map(
			([, kind]) => kind as string,
		);
		const roles = [...declarations.matchAll(/^\trole: "(\w+)"/gm)].map(([, role]) => role as string);
		expect(kinds.length).toBeGreaterThan(10);
		// Messages of summaries are created for the context, and never written.
		for (const role of roles.filter((one) => !/Summary$/.test(one))) kinds.push(`role ${role}`);
		expect([...shown]).toEqual(expect.arrayContaining(["session", ...kinds]));
	});

	// Regression: it omitted fields that pi writes.
	test("the file format's page names every field of pi", () => {
		const pi = (path: string): string => join(root, "scripts/reference/pi-packages", path);
		const published: Record<string, RegExp> = {
			[join(root, "scripts/reference/pi/dist/core/session-manager.d.ts")]:
				/^SessionHeader$|^(?!Projected).*Entry(Base)?$/,
			[join(root, "scripts/reference/pi/dist/core/messages.d.ts")]: /^(BashExecution|Custom)Message$/,
			[pi("pi-ai/dist/types.d.ts")]:
				/^(Usage|DeferredHandle|Tool(Call|Reference)?|(Text|Thinking|Image)Content|(System|User|Assistant|ToolResult)Message|ConstrainedSamplingConfig|NestedToolCall(s|Record))$/,
			[pi("pi-ai/dist/utils/diagnostics.d.ts")]: /^(AssistantMessageDiagnostic|DiagnosticErrorInfo)$/,
		};
		const prose = textOf("docs/file-format.md").replace(/^(`{3,})[\s\S]*?^\1$/gm, "");
		const named = new Set(
			[...prose.matchAll(/`([^`\n]+)`/g)].flatMap(([, span]) => (span as string).match(/\w+/g) ?? []),
		);
		const missing: string[] = [];
		let fields = 0;
		for (const [file, wanted] of Object.entries(published)) {
			const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest);
			for (const declaration of source.statements) {
				if (!ts.isInterfaceDeclaration(declaration) && !ts.isTypeAliasDeclaration(declaration)) continue;
				const type = declaration.name.text;
				if (!wanted.test(type)) continue;
				const visit = (node: import("typescript").Node): void => {
					if (ts.isPropertySignature(node)) {
						fields++;
						const field = node.name.getText(source);
						if (!named.has(field)) missing.push(`${type}.${field}`);
					}
					ts.forEachChild(node, visit);
				};
				visit(declaration);
			}
		}
		expect(fields).toBeGreaterThan(110);
		expect(missing).toEqual([]);
	});

	test("the page of environment variables has each that is read", () => {
		const variables = (text: string): string[] => [...new Set(text.match(/\bPI_[A-Z]+(?:_[A-Z]+)*\b/g))].sort();
		const sources = ["crates/session-core/src", "src", "lib", "bin", "register.mjs"]
			.flatMap((path) => filesBelow(join(root, path)))
			// The path of the checkout may contain a folder of that name.
			.filter((file) => !/[\\/]tests?[\\/.]|\.md$/.test(file.slice(root.length)));
		expect(sources.length).toBeGreaterThan(200);
		expect(variables(textOf("docs/environment.md"))).toEqual(variables(sources.map(read).join("\n")));
	});

	test("the page on moving over names each addition to pi", async () => {
		const [pi, ours] = [await loadReference(), await loadSubject()] as const;
		const functionsOf = (holder: object): string[] =>
			Object.getOwnPropertyNames(holder).filter(
				(name) =>
					!["arguments", "caller", ...INTERNAL].includes(name) &&
					typeof (holder as Record<string, unknown>)[name] === "function",
			);
		const more = (of: (module: SessionModule) => object): string[] => {
			const known = new Set(functionsOf(of(pi)));
			return functionsOf(of(ours))
				.filter((name) => !known.has(name))
				.sort();
		};
		const told =
			/\*\*What pi does not have\*\*: the statics (.*?);(.*?); the functions (.*?);/s.exec(
				textOf("docs/moving-from-pi.md"),
			) ?? [];
		const [statics, methods, functions] = told
			.slice(1)
			.map((list) => [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name as string).sort());
		expect({ statics, methods, functions }).toEqual({
			statics: more(({ SessionManager }) => SessionManager),
			methods: more(({ SessionManager }) => SessionManager.prototype as unknown as object),
			functions: more((module) => module),
		});
	});

	// Regression: pi kept the path of a deleted extension.
	test("removing everything undoes each installing command of the README", () => {
		const section = /^## Removing everything$([\s\S]*?)^## /m.exec(textOf("docs/moving-from-pi.md"))?.[1] ?? "";
		const undone: [command: RegExp, undo: (...groups: string[]) => string][] = [
			[/^git clone \S+ (\S+)/, (clone) => `rm -rf ${clone}`],
			[/^npm install --global \./, () => "npm uninstall --global pi-session-native"],
			[/^pi install (\S+)/, (path) => `pi remove ${path}`],
			[/^npm install \S+\.tgz/, () => "npm uninstall pi-session-native"],
		];
		const blocks = blocksOf("README.md")
			.filter(({ language }) => language === "sh")
			.map(({ code }) => code);
		const spans = [...textOf("README.md").matchAll(/`([^`\n]+)`/g)].map(([, span]) => span as string);
		const commands = [...blocks.join("\n").split("\n"), ...spans];
		for (const [command, undo] of undone) {
			const found = commands.flatMap((line) => [command.exec(line) ?? []]).filter(({ length }) => length > 0);
			expect(found.length, String(command)).toBeGreaterThan(0);
			for (const [, ...groups] of found) expect(section).toContain(undo(...groups));
		}
		// The extension is removed while its files still exist.
		expect(section.indexOf("pi remove")).toBeLessThan(section.indexOf("rm -rf"));
	});
});

/** The files in a directory, at any depth, or the file itself. */
function filesBelow(path: string): string[] {
	return statSync(path).isDirectory() ? readdirSync(path).flatMap((name) => filesBelow(join(path, name))) : [path];
}

/** The anchors that GitHub creates for a page's headings. */
function anchorsOf(page: string): string[] {
	const text = textOf(page).replace(/^(`{3,})[\s\S]*?^\1$/gm, "");
	return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
		(title as string)
			.toLowerCase()
			.replace(/[^\p{L}\p{N}\s_-]/gu, "")
			.replace(/\s/g, "-"),
	);
}

describe("index.d.ts", () => {
	/** The comments above each export, and above each method of the class. */
	const documented = [
		...declarations.matchAll(
			/(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*)?^(?:export (?:declare )?(?:class|function|const|interface|type) |\t(?:static )?(?=\w+[<(]))(\w+)/gm,
		),
	]
		.map(([, comment, name]) => ({ name: name as string, comment: comment ?? "" }))
		.filter(({ name }) => name !== "__napiBindingTarget");

	test("describes every export and method, with an example", () => {
		expect(documented.length).toBeGreaterThan(100);
		expect(
			documented.filter(({ comment }) => !/\w{3}/.test(comment.split("@")[0] ?? "")).map(({ name }) => name),
		).toEqual([]);
		expect(
			documented
				.filter(({ comment }) => !comment.includes("@example") && !comment.includes("@deprecated"))
				.map(({ name }) => name),
		).toEqual([]);
	});

	test("describes every number and every date", () => {
		const source = ts.createSourceFile("index.d.ts", declarations, ts.ScriptTarget.Latest);
		const silent: string[] = [];
		let numbers = 0;
		for (const declaration of source.statements.filter(ts.isInterfaceDeclaration)) {
			for (const member of declaration.members.filter(ts.isPropertySignature)) {
				const type = member.type?.getText(source) ?? "";
				if (!/^(string \| )?(number|Date)\b/.test(type)) continue;
				numbers++;
				const text = member.getFullText(source);
				if (!text.includes("/**")) silent.push(`${declaration.name.text}.${member.name.getText(source)}`);
			}
		}
		expect(numbers).toBeGreaterThan(30);
		expect(silent).toEqual([]);
	});
});
