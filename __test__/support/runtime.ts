// The JavaScript runtime of the tests, and scripts that run in their own processes.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { onTestFinished } from "vitest";

export const runtime: "node" | "bun" | "deno" = process.versions.bun ? "bun" : process.versions.deno ? "deno" : "node";

let collect: (() => void) | undefined;

/** Collects unreachable objects now. */
export function gc(): void {
	collect ??= collector();
	collect();
}

function collector(): () => void {
	const { Bun } = globalThis as { Bun?: { gc(now: boolean): void } };
	if (Bun) return () => Bun.gc(true);
	setFlagsFromString("--expose-gc");
	return runInNewContext("gc");
}

export interface EngineFlags {
	/** Limits V8's heap. Bun's engine has no such limit. */
	heapMb?: number;
	/** Adds `gc()` to the script. */
	gc?: boolean;
}

/** The command that runs a script file in this runtime. */
export function scriptCommand(file: string, args: string[] = [], { heapMb, gc }: EngineFlags = {}): string[] {
	const flags = [...(heapMb === undefined ? [] : [`--max-old-space-size=${heapMb}`]), ...(gc ? ["--expose-gc"] : [])];
	if (runtime === "deno") {
		const forEngine = flags.length > 0 ? [`--v8-flags=${flags.join(",")}`] : [];
		return [process.execPath, "run", "--allow-all", ...forEngine, file, ...args];
	}
	return [process.execPath, ...(runtime === "bun" ? ["--bun"] : []), ...flags, file, ...args];
}

/** Writes a script for another process, and removes it after the test. Its arguments are `process.argv.slice(2)`. */
export function scriptFile(code: string, name = "script.cjs"): string {
	const dir = mkdtempSync(join(tmpdir(), "psn-script-"));
	onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
	const file = join(dir, name);
	writeFileSync(file, code);
	return file;
}
