// What the addon asks JavaScript: the clock, the environment and the directories. They are looked up at each call,
// because the application may replace them.
() => {
	"use strict";
	const world = globalThis;
	const { URL, decodeURIComponent } = world;
	const { assign } = Object;
	// Set by lib/takeover/library.mjs: the pi that this process runs, which may be a renamed build.
	const APP = Symbol.for("pi-session-native.app");
	// Set by the program, for this thread.
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
				// Of a percent sign in the wrong place the engine makes an error without a code.
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
