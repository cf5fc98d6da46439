// What Node 22 has and the types of Node 20, the oldest that is supported, do not.
declare module "module" {
	namespace Module {
		type ResolveHookSync = (
			specifier: string,
			context: ResolveHookContext,
			next: (specifier: string, context?: Partial<ResolveHookContext>) => ResolveFnOutput,
		) => ResolveFnOutput;
		type LoadHookSync = (url: string, context: LoadHookContext, next: (url: string, context?: Partial<LoadHookContext>) => LoadFnOutput) => LoadFnOutput;
		function registerHooks(hooks: { resolve: ResolveHookSync; load: LoadHookSync }): void;
		function enableCompileCache(directory: string): void;
	}
}
export {};
