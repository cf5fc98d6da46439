export interface Runtime {
	version: string;
	package: string;
	binary: string;
	args: string[];
}
export const RUNTIMES: Record<string, Runtime>;
export function setup(name: string): { binary: string; args: string[] };
