// What Node 22 has and the types of Node 20, the oldest that is supported, do not.
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
