// Rules of the code that a reader cannot check by eye.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BOUNDARY, CORE, code, rust, shipped } from "../../support/rust.js";
import { api, root } from "../../support/scratch.js";

const declarations = readFileSync(join(root, "index.d.ts"), "utf8");

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

// `FromNapiValue` accepts any lifetime, so this test checks that no function asks for `'static`.
test("no function has a handle of static lifetime", () => {
	const found = rust.flatMap((file) =>
		shipped(file)
			.filter(([, line]) => /\bJs(?:Val|Env)<'static>/.test(code(line)))
			.map(([number]) => `${file.path}:${number}`),
	);
	expect(found).toEqual([]);
});

test("index.d.ts declares exactly the exports, methods and statics", () => {
	const namesOf = (object: object): string[] =>
		Object.getOwnPropertyNames(object).filter((name) => !["arguments", "caller", "constructor"].includes(name));
	const matches = (text: string, pattern: RegExp): string[] => [
		...new Set([...text.matchAll(pattern)].map(([, name]) => name as string)),
	];
	const functions = namesOf(api.SessionManager).filter(
		(name) => typeof (api.SessionManager as any)[name] === "function",
	);
	const body = /declare class SessionManager[\s\S]*?^\}/m.exec(declarations)?.[0] ?? "";
	expect({
		exports: matches(declarations, /^export declare (?:class|function|const) (\w+)/gm).sort(),
		statics: matches(body, /^\tstatic (\w+)[<(]/gm).sort(),
		methods: matches(body, /^\t(?!constructor\b)(\w+)[<(]/gm).sort(),
	}).toEqual({
		exports: Object.keys(api).sort(),
		statics: functions.sort(),
		methods: namesOf(api.SessionManager.prototype).sort(),
	});
});

// Biome breaks neither comments nor strings, and rustfmt breaks no comments. In tests a string may be long, because it
// often is a recorded output.
test("lines have at most 120 columns", () => {
	const skipped = /(?:^|\/)(?:node_modules|target|npm|reference|layouts)$|^(?:index\.js|index\.d\.ts)$/;
	function* sourcesIn(dir: string): Generator<string> {
		for (const name of readdirSync(join(root, dir))) {
			const path = dir === "" ? name : `${dir}/${name}`;
			if (name.startsWith(".") || skipped.test(path)) continue;
			if (statSync(join(root, path)).isDirectory()) yield* sourcesIn(path);
			else if (/\.(?:[cm]?[jt]s|rs)$/.test(name)) yield path;
		}
	}
	const isShipped = /^(?:bin|lib|src|types|packages\/sync\/(?:bin|lib))\/.*[^r]s$/;
	const long = [...sourcesIn("")].flatMap((path) =>
		readFileSync(join(root, path), "utf8")
			.split("\n")
			.map((line, at) => [line, `${path}:${at + 1}`] as const)
			.filter(([line]) => line.replaceAll("\t", "  ").length > 120)
			.filter(([line]) => isShipped.test(path) || /^\s*(?:\/\/|\/?\*)(?!.? \|)/.test(line)),
	);
	expect(long.map(([, place]) => place)).toEqual([]);
});
