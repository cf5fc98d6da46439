// Programs that tests need and that not every machine has.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { TestRunner } from "vitest";

declare module "vitest" {
	interface TaskMeta {
		/** The missing tools, each with the line that installs it. The summary of a run counts such tests as not run. */
		missing?: string;
	}
}

/**
 * The path of the first of these programs that is on the PATH or in one of the other folders. If none is, the test ends
 * as not run, or fails if `PSN_STRICT` is set, as in `.ci/run`. `install` is a Debian package, or a whole command.
 */
export function tool(names: string | string[], install = [names].flat()[0] as string, others: string[] = []): string {
	const programs = [names].flat();
	const folders = [...(process.env.PATH ?? "").split(delimiter), ...others];
	const path = folders.flatMap((folder) => programs.map((name) => join(folder, name))).find((one) => existsSync(one));
	if (path) return path;
	return missing(`${programs[0]} is missing: ${install.includes(" ") ? install : `apt-get install -y ${install}`}`);
}

/** Ends the test as not run. If every tool must be there, the test fails. */
export function missing(what: string): never {
	const test = TestRunner.getCurrentTest();
	if (process.env.PSN_STRICT || !test) throw new Error(what);
	test.meta.missing = what;
	return test.context.skip(what) as never;
}
