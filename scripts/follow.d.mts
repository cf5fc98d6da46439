interface Dirs {
	pi: string;
	types: string;
}
interface Result {
	passed: number;
	differences: string[];
}
export function compareDeclarations(dirs: Dirs): string[];
export function compareKinds(dirs: Dirs): string[];
export function compareTypes(dirs: Dirs, tsc?: string): string[];
export function runTests(dir: string, args: string[]): Result;
export function follow(
	options: { versions: string[]; only?: string; write?: boolean },
	tools?: {
		newest(): string;
		unpack(version: string): Dirs;
		compare(dirs: Dirs): string[];
		run(dir: string, args: string[]): Result;
		page: string;
		today(): string;
		print(line: string): void;
	},
): number;
