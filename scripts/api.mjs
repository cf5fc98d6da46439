// Writes docs/api.md from index.d.ts, whose comments are the documentation.
//   node scripts/api.mjs [file]
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Application } from "typedoc";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const [file = join(root, "docs/api.md")] = process.argv.slice(2);

const HEAD = `# API

Everything that \`pi-session-native\` exports. This page is made from the comments in \`index.d.ts\`: \`node scripts/api.mjs\`
writes it anew.

The examples are run by the tests. What they take as given: all names are imported from \`pi-session-native\`; \`manager\` is a
session with a question and an answer, \`entries\` are its entries, \`id\` is the id of the question, \`file\` its file, \`dir\` the
directory of that file and \`cwd\` the working directory. An arrow tells what a line prints. Times on entries are ISO 8601
texts, times in messages are milliseconds since 1970, costs are US dollars, sizes are bytes.
`;

const out = mkdtempSync(join(tmpdir(), "pi-session-api-"));
try {
	// Alone: what others add to the types by declaration merging is none of this package's.
	const tsconfig = join(out, "tsconfig.json");
	const compilerOptions = { target: "es2022", module: "nodenext", strict: true, types: [] };
	writeFileSync(tsconfig, JSON.stringify({ compilerOptions, files: [join(root, "index.d.ts")] }));
	const application = await Application.bootstrapWithPlugins({
		entryPoints: [join(root, "index.d.ts")],
		tsconfig,
		plugin: ["typedoc-plugin-markdown"],
		logLevel: "Warn",
		out,
		readme: "none",
		disableSources: true,
		disableGit: true,
		sort: ["source-order"],
		groupOrder: ["Classes", "Functions", "Variables", "*"],
		excludePrivate: true,
		// Options of the Markdown plugin.
		outputFileStrategy: "modules",
		entryFileName: "api",
		hidePageTitle: true,
		hidePageHeader: true,
		hideBreadcrumbs: true,
		parametersFormat: "table",
		interfacePropertiesFormat: "table",
		typeDeclarationFormat: "table",
		tableColumnSettings: {
			hideSources: true,
			hideDefaults: true,
			hideModifiers: true,
			hideInherited: true,
			hideOverrides: true,
		},
	});
	const project = await application.convert();
	if (!project || application.logger.hasErrors()) throw new Error("index.d.ts does not convert");
	await application.generateOutputs(project);
	// The loader's own, which napi-rs puts there.
	const loaders = /^### \\_\\_napiBindingTarget\n[\s\S]*?^\*\*\*\n\n/m;
	const text = readFileSync(join(out, "api.md"), "utf8").trimEnd().replace(loaders, "");
	writeFileSync(file, `${HEAD}\n${text}\n`);
} finally {
	rmSync(out, { recursive: true, force: true });
}
