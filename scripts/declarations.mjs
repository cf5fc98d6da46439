// Puts the declarations, which are written by hand, together in index.d.ts. napi generates others from the functions in
// Rust, target/napi.d.ts. Nobody reads these, because they lack types and descriptions.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const PARTS = [
	"types/messages.d.ts",
	"types/entries.d.ts",
	"types/tree-and-context.d.ts",
	"types/lists.d.ts",
	"types/search.d.ts",
	"types/kinds.d.ts",
	"types/usage.d.ts",
	"types/files.d.ts",
	"types/options.d.ts",
	"types/diagnostics.d.ts",
	"types/merge-and-redact.d.ts",
	"types/errors.d.ts",
	"types/session-manager.d.ts",
	"types/functions.d.ts",
];

writeFileSync(join(root, "index.d.ts"), PARTS.map((part) => readFileSync(join(root, part), "utf8")).join("\n"));
