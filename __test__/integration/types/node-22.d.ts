// Declarations of Node 22 that the types of Node 20, the oldest supported release, do not contain.
declare module "module" {
	namespace Module {
		type LoadHookSync = (
			url: string,
			context: LoadHookContext,
			next: (url: string, context?: Partial<LoadHookContext>) => LoadFnOutput,
		) => LoadFnOutput;
		function registerHooks(hooks: { load: LoadHookSync }): void;
		function enableCompileCache(): void;
	}
}
declare global {
	namespace NodeJS {
		interface Process {
			execve?(file: string, args: string[], env: Record<string, string>): never;
		}
	}
}

export {};
