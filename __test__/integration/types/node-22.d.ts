// What Node 22 has and the types of Node 20, the oldest that is supported, do not.
declare module "module" {
	namespace Module {
		function registerHooks(hooks: object): void;
		function enableCompileCache(directory: string): void;
	}
}
export {};
