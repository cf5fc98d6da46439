// Joins the hand-written declarations, because napi's build accepts one file for the head of index.d.ts.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const PARTS = [
	"types/messages.d.ts",
	"types/header.d.ts",
	"types/lists.d.ts",
	"types/usage.d.ts",
	"types/files.d.ts",
	"types/diagnostics.d.ts",
	"types/errors.d.ts",
];

mkdirSync(join(root, "target"), { recursive: true });
writeFileSync(join(root, "target/header.d.ts"), PARTS.map((part) => readFileSync(join(root, part), "utf8")).join("\n"));
