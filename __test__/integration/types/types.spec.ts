import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it, test } from "vitest";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../../..");
// Version 7 checks types in a tenth of the time. The parser of version 5 reads the names below.
const tsc = join(root, "node_modules/typescript-native/bin/tsc");
const reference = join(root, "scripts/reference/pi/dist/core/session-manager.d.ts");

/** The errors of tsc for a project; empty if it compiles. */
function complaints(project: string): Promise<string> {
	const args = ["-p", join(here, project), "--pretty", "false"];
	return new Promise((resolve) => {
		execFile(process.execPath, [tsc, ...args], (error, stdout, stderr) => {
			resolve(error ? `${stdout}${stderr}` || error.message : "");
		});
	});
}

/** The names that a declaration file exports. */
function exportedNames(file: string): string[] {
	const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
	const names = new Set<string>();
	for (const statement of source.statements) {
		const exported =
			ts.canHaveModifiers(statement) &&
			ts.getModifiers(statement)?.some((modifier) => modifier.kind === ts.SyntaxKind.ExportKeyword);
		if (!exported) continue;
		if (ts.isVariableStatement(statement)) {
			for (const declaration of statement.declarationList.declarations) names.add(declaration.name.getText(source));
		} else {
			const { name } = statement as unknown as ts.NamedDeclaration;
			if (name) names.add(name.getText(source));
		}
	}
	return [...names].sort();
}

test("the tests are typed", async () => {
	expect(await complaints("../../../tsconfig.json")).toBe("");
});

test("the command's sources are typed", async () => {
	expect(await complaints("tsconfig.cli.json")).toBe("");
});

test("the extension's sources are typed against the reference", async () => {
	expect(await complaints("tsconfig.extension.json")).toBe("");
});

test("the stores are typed, and so is who uses them", async () => {
	expect(await complaints("tsconfig.store.json")).toBe("");
});

// Regression: a change missed one use of a name, and each call about a private session failed.
test("the sources of the register hook are typed", async () => {
	expect(await complaints("tsconfig.register.json")).toBe("");
});

describe("the declarations", () => {
	it("stand by themselves, without pi", async () => {
		expect(await complaints("tsconfig.standalone.json")).toBe("");
	});

	it("are assignable to and from those of the reference", async () => {
		expect(await complaints("tsconfig.reference.json")).toBe("");
	});

	it("let pi 0.87.1 take the manager as its own", async () => {
		expect(await complaints("tsconfig.agent.json")).toBe("");
	});

	it("hold every name that the reference exports", () => {
		const names = exportedNames(reference);
		expect(names.length).toBeGreaterThan(30);
		expect(exportedNames(join(root, "index.d.ts"))).toEqual(expect.arrayContaining(names));
	});

	it("are compared name by name, none left out", () => {
		const compared = readFileSync(join(here, "exports.mts"), "utf8");
		const missing = exportedNames(reference).filter(
			(name) =>
				name !== "SessionManager" && !compared.includes(`\t${name}: Mutual<`) && !compared.includes(`| "${name}"`),
		);
		expect(missing).toEqual([]);
	});
});
