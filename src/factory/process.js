// Returns facts to the addon that only JavaScript knows: the clock, the environment and the directories. Each call
// reads them again, because the application may replace them.
() => {
	"use strict";
	const world = globalThis;
	const { URL, decodeURIComponent } = world;
	const { assign } = Object;
	// The pi that this process runs, which may be a renamed build. lib/takeover/library.mjs sets it.
	const APP = Symbol.for("pi-session-native.app");
	// The application may set it for this thread.
	let ownAgentDir;
	const builtin = (name) => world.process?.getBuiltinModule?.(name);

	return {
		now: () => world.Date.now(),
		cwd: () => world.process.cwd(),
		env: (name) => world.process?.env?.[name],
		home: () => builtin("node:os")?.homedir(),
		fileUrl(url) {
			const convert = builtin("node:url")?.fileURLToPath;
			try {
				return convert ? convert(url) : decodeURIComponent(new URL(url).pathname);
			} catch (error) {
				// For a misplaced percent sign the engine's error has no code.
				throw assign(error, { code: error.code ?? "ERR_INVALID_ARGUMENT" });
			}
		},
		agentDir: () => ownAgentDir ?? world[APP]?.getAgentDir(),
		setAgentDir(dir) {
			ownAgentDir = dir;
		},
		appName: () => world[APP]?.name,
	};
};
