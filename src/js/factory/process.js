// What the addon asks JavaScript: the clock, the environment and the directories. They are looked up at each call, because
// the application may replace them.
() => {
	"use strict";
	const world = globalThis;
	const { URL, decodeURIComponent } = world;
	// Set by lib/register/app.mjs: the pi that this process runs, which may be a renamed build.
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
			return convert ? convert(url) : decodeURIComponent(new URL(url).pathname);
		},
		agentDir: () => ownAgentDir ?? world[APP]?.getAgentDir(),
		setAgentDir(dir) {
			ownAgentDir = dir;
		},
		appName: () => world[APP]?.name,
	};
};
