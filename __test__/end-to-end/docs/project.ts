// A project like the reader's: the package is installed, and there is a session.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import ts from "typescript";
import { runProgram } from "../../support/cli.js";
import { root } from "../../support/scratch.js";
import { type Block, placeOf, printed } from "./blocks.js";

const declarations = readFileSync(join(root, "index.d.ts"), "utf8");
/** All names that the package exports, types too. A name that is declared twice is listed once. */
const names = [
	...new Set(
		[...declarations.matchAll(/^export (?:declare )?(?:class|function|const|interface|type) (\w+)/gm)].map(
			([, name]) => name as string,
		),
	),
];

/** The names that the examples in the comments of the declarations use, as docs/api.md explains. */
const PRELUDE = `import { ${names.join(", ")} } from "pi-session-native";
import { mkdtempSync } from "node:fs";
const cwd = "/home/me/project";
const dir = mkdtempSync(process.cwd() + "/sessions-");
const manager = SessionManager.create(cwd, dir);
const id = manager.appendMessage({ role: "user", content: "Hello", timestamp: Date.now() });
manager.appendMessage({
	role: "assistant",
	content: [{ type: "text", text: "Hi" }],
	api: "messages",
	provider: "acme",
	model: "large",
	usage: { input: 12, output: 3, cacheRead: 0, cacheWrite: 0, totalTokens: 15, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } },
	stopReason: "stop",
	timestamp: Date.now(),
});
const file = manager.getSessionFile()!;
const entries = manager.getEntries();
void [cwd, dir, manager, id, file, entries];
`;

/** The block as a module. If it has no imports, the prelude precedes it. */
export function moduleOf({ code }: Block): string {
	return /^import /m.test(code) ? code : `${PRELUDE}{\n${code}}\nexport {};\n`;
}

export class Project {
	readonly dir = realpathSync(mkdtempSync(join(tmpdir(), "psn-docs-")));

	constructor() {
		mkdirSync(join(this.dir, "node_modules/@earendil-works"), { recursive: true });
		symlinkSync(root, join(this.dir, "node_modules/pi-session-native"));
		symlinkSync(join(root, "packages/sync"), join(this.dir, "node_modules/pi-session-sync"));
		symlinkSync(
			join(root, "scripts/reference/node_modules/@earendil-works/pi-coding-agent"),
			join(this.dir, "node_modules/@earendil-works/pi-coding-agent"),
		);
		for (const name of ["esbuild", "vitest"])
			symlinkSync(join(root, "node_modules", name), join(this.dir, "node_modules", name));
		writeFileSync(join(this.dir, "package.json"), '{ "type": "module" }\n');
	}

	remove(): void {
		rmSync(this.dir, { recursive: true, force: true });
	}

	/** A folder for one block, below the project's. */
	folder(block: Block): string {
		const dir = join(this.dir, placeOf(block).replace(/\W/g, "-"));
		mkdirSync(dir, { recursive: true });
		return dir;
	}

	/** The errors of tsc for TypeScript blocks, all in one program. */
	typeErrors(blocks: Block[]): string[] {
		const files = new Map(blocks.map((block) => [join(this.folder(block), "block.mts"), block]));
		for (const [file, block] of files) writeFileSync(file, moduleOf(block));
		const program = ts.createProgram([...files.keys()], {
			target: ts.ScriptTarget.ES2022,
			lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.esnext.disposable.d.ts"],
			module: ts.ModuleKind.NodeNext,
			moduleResolution: ts.ModuleResolutionKind.NodeNext,
			strict: true,
			exactOptionalPropertyTypes: true,
			noEmit: true,
			skipLibCheck: true,
			types: ["node"],
			typeRoots: [join(root, "node_modules/@types")],
			paths: {
				"@earendil-works/pi-coding-agent": [
					join(root, "scripts/reference/node_modules/@earendil-works/pi-coding-agent/dist/index.d.ts"),
				],
			},
		});
		return ts.getPreEmitDiagnostics(program).map((problem) => {
			const block = files.get(problem.file?.fileName ?? "");
			const text = ts.flattenDiagnosticMessageText(problem.messageText, "\n");
			const line = problem.file?.text.slice(0, problem.start).split("\n").at(-1) ?? "";
			return `${block ? placeOf(block) : (problem.file?.fileName ?? "")}: ${text} (after ${JSON.stringify(line)})`;
		});
	}

	/** Runs a block. Returns its declared and its real output. */
	async run(
		block: Block,
		node: string,
	): Promise<{ expected: string[]; lines: string[]; err: string; code: number | null }> {
		const dir = this.folder(block);
		const source = moduleOf(block).replaceAll("/path/to/", `${dir}/`);
		const { outputText } = ts.transpileModule(source, {
			compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
		});
		const isTest = /from "vitest"/.test(source);
		const file = join(dir, isTest ? "block.spec.mjs" : "block.mjs");
		writeFileSync(file, outputText);
		const home = join(dir, "home");
		mkdirSync(home, { recursive: true });
		const env = {
			PATH: process.env.PATH,
			HOME: home,
			PI_CODING_AGENT_DIR: join(home, "agent"),
			PI_OFFLINE: "1",
			NO_COLOR: "1",
		};
		const args = isTest ? [join(root, "node_modules/vitest/vitest.mjs"), "run", "--root", dir] : [file];
		const { out, err, code } = await runProgram(node, args, { cwd: dir, env });
		return { expected: printed(block.code), lines: out.split("\n").slice(0, -1), err, code };
	}
}

/** Writes a file below a directory. */
export function put(dir: string, name: string, text: string): string {
	const path = join(dir, name);
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, text);
	return path;
}
