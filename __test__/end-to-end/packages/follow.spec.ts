// `npm run follow`: what it says of pi's declarations. Its other parts run tests that are run anyway.
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { referencePackage, root } from "../../../scripts/demo/pi.mjs";
import { compareDeclarations } from "../../../scripts/follow.mjs";
import { scratch } from "../../support/scratch.js";

const types = join(root, "scripts/reference/pi-packages");

test("the declarations of the reference are the same", () => {
	expect(compareDeclarations({ pi: referencePackage, types })).toEqual([]);
});

test("what a release adds, changes and leaves out is named", () => {
	const dir = scratch();
	// Beside the packages that pi's declarations name.
	const pi = join(dir, "pi");
	for (const name of ["session-manager.d.ts", "messages.d.ts"])
		cpSync(join(referencePackage, "dist/core", name), join(pi, "dist/core", name));
	for (const name of ["pi-ai", "pi-agent-core"])
		cpSync(join(types, name), join(dir, "types", name), { recursive: true });
	const edit = (path: string, ...pairs: [string | RegExp, string][]): void => {
		const before = readFileSync(path, "utf8");
		const after = pairs.reduce((text, [from, to]) => text.replace(from, to), before);
		expect(after).not.toBe(before);
		writeFileSync(path, after);
	};
	edit(
		join(pi, "dist/core/session-manager.d.ts"),
		[
			"export declare class SessionManager {",
			"export declare function teleport(): void;\nexport declare class SessionManager {\n    static jump(to: string): SessionManager;",
		],
		[/^ {4}getEntries\(\)/m, "    getEntries(from: string, to: string)"],
	);
	edit(join(dir, "types/pi-ai/dist/types.d.ts"), ["durationMs?: number;", "tookMs?: number;"]);
	const lines = compareDeclarations({ pi, types: join(dir, "types") });
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
