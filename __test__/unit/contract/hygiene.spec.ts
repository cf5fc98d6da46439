// Rules of the house that a reader could not check by eye.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { BOUNDARY, CORE, code, rust, shipped } from "../../support/rust.js";
import { api, root } from "../../support/scratch.js";

const core = rust.filter(({ path }) => path.startsWith(`${CORE}/`));
const declarations = readFileSync(join(root, "index.d.ts"), "utf8");

test("there is a core and a boundary to check", () => {
	expect(core.length).toBeGreaterThan(10);
	expect(rust.length).toBeGreaterThan(core.length);
});

test("ARCHITECTURE.md names the files with unsafe code, and no other", () => {
	const rows = readFileSync(join(root, "ARCHITECTURE.md"), "utf8").split("\n");
	for (const folder of [CORE, BOUNDARY]) {
		const row = rows.find((one) => one.startsWith(`| \`${folder}\` |`)) ?? "";
		// The list ends where the next rule begins, at a comma and "each", a semicolon, or the end of the row.
		const listed = /`unsafe` only in (.*?)(?:, each|;| \|)/.exec(row)?.[1] ?? "";
		// Files, and folders, which end with a slash.
		const named = [...listed.matchAll(/`([^`]+(?:\.rs|\/))`/g)].map(([, name]) => `${folder}/${name}`);
		const found = rust
			.filter(
				(file) => file.path.startsWith(`${folder}/`) && shipped(file).some(([, line]) => /\bunsafe\b/.test(code(line))),
			)
			.map(({ path }) => path);
		expect(found.filter((path) => !named.some((name) => path.startsWith(name)))).toEqual([]);
		expect(named.filter((name) => !found.some((path) => path.startsWith(name)))).toEqual([]);
	}
});

// `FromNapiValue` gives a handle of any lifetime: what keeps one from being kept is that no function asks for it.
test("no function takes or gives a handle that is good for ever", () => {
	const found = rust.flatMap((file) =>
		shipped(file)
			.filter(([, line]) => /\bJs(?:Val|Env)<'static>/.test(code(line)))
			.map(([number]) => `${file.path}:${number}`),
	);
	expect(found).toEqual([]);
});

describe("index.d.ts", () => {
	test("names every export", () => {
		for (const name of Object.keys(api)) {
			expect(declarations, name).toMatch(new RegExp(`^export declare (?:class|function|const) ${name}\\b`, "m"));
		}
	});

	test("declares no value that is not exported", () => {
		const declared = [...declarations.matchAll(/^export declare (?:class|function|const) (\w+)/gm)].map(
			([, name]) => name,
		);
		for (const name of declared) expect(Object.keys(api)).toContain(name);
	});

	test("names every method and static of SessionManager", () => {
		const body = declarations.slice(declarations.indexOf("declare class SessionManager"));
		const names = (object: object): string[] => Object.getOwnPropertyNames(object);
		for (const name of names(api.SessionManager.prototype).filter((one) => one !== "constructor")) {
			expect(body, name).toMatch(new RegExp(`^\\t${name}[<(]`, "m"));
		}
		const strange = ["arguments", "caller", "prototype"];
		for (const name of names(api.SessionManager).filter(
			(one) => !strange.includes(one) && typeof (api.SessionManager as any)[one] === "function",
		)) {
			expect(body, name).toMatch(new RegExp(`^\\tstatic ${name}[<(]`, "m"));
		}
	});
});

test("the exports are those of the contract, and seven of this package's own", () => {
	expect(
		Object.keys(api)
			.filter((name) => name !== "__napiBindingTarget")
			.sort(),
	).toEqual(
		[
			...["CURRENT_SESSION_VERSION", "SessionManager", "assertValidSessionId", "buildContextEntries"],
			...["buildSessionContext", "buildSessionProjection", "findMostRecentSession", "getDefaultSessionDir"],
			...["getLatestCompactionEntry", "loadEntriesFromFile", "migrateSessionEntries", "parseSessionEntries"],
			...["projectContextEntry", "sessionEntryToContextMessages"],
			...["entryKinds", "getConfiguredSessionDir", "readSessionHeader", "redactLines", "setAgentDir", "tryLockFile"],
			"withoutEscapeSequences",
		].sort(),
	);
});
