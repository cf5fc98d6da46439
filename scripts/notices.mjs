// Writes THIRD_PARTY_NOTICES.md: the crates that are compiled into the addon, with their license texts.
//   node scripts/notices.mjs
//   node scripts/notices.mjs --check     only checks whether the file is up to date
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const cargo = (...args) => execFileSync("cargo", args, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28 });

const linked = new Set(
	cargo("tree", "--edges", "normal", "--prefix", "none", "--format", "{p}", "--target", "all")
		.split("\n")
		.filter(Boolean)
		.map((line) => line.split(" ").slice(0, 2).join(" ").replace(" v", "@")),
);
const { packages } = JSON.parse(cargo("metadata", "--format-version", "1", "--locked"));

/** The text of the chosen license: MIT if possible, otherwise the license in the crate. */
function licenseText(manifest) {
	const dir = dirname(manifest);
	const files = readdirSync(dir).filter((name) => /^(licen[cs]e|unlicense|copying)/i.test(name));
	const chosen = files.find((name) => /mit/i.test(name)) ?? files.find((name) => !/apache/i.test(name)) ?? files[0];
	return chosen ? readFileSync(join(dir, chosen), "utf8").trim() : "";
}

const byText = new Map();
for (const { name, version, license, manifest_path, source } of packages) {
	if (!source || !linked.has(`${name}@${version}`)) continue;
	const text = licenseText(manifest_path) || `Licensed under ${license}; the crate carries no text of its own.`;
	const group = byText.get(text) ?? [];
	group.push(`${name} ${version} (${license})`);
	byText.set(text, group);
}

const sections = [...byText].map(([text, crates]) => `## ${crates.sort().join(", ")}\n\n\`\`\`text\n${text}\n\`\`\`\n`);
const head =
	"# Third-party notices\n\nThe addon is compiled from these crates besides its own code. Written by " +
	"`scripts/notices.mjs`.\n";
const text = [head, ...sections.sort()].join("\n");
const file = join(root, "THIRD_PARTY_NOTICES.md");
if (!process.argv.includes("--check")) writeFileSync(file, text);
else if (readFileSync(file, "utf8") !== text) {
	console.log("THIRD_PARTY_NOTICES.md does not list the crates that are compiled in. Run node scripts/notices.mjs");
	process.exitCode = 1;
}
