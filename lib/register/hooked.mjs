// What the hooks share with the modules that they add to pi's module graph or edit. These may be loaded by `require`, so they
// must not wait for anything; main.mjs waits.

export const hooked = {
	/** `started(dir)`: an entry module of the pi in `dir` begins. Throws, or ends the process, unless its manager is replaced. */
	started: undefined,
	/** Our module, for the modules of a bundle. */
	ours: undefined,
	/** `setApp(dir, config)`: tells our manager the settings of the pi in `dir`. */
	setApp: undefined,
	/**
	 * `confirm(dir, file, values)`: a module of a bundle has run, in which these values, pairs of an exported name and what
	 * stands for it, must be ours. Throws, or ends the process where pi does not run yet, if one is not.
	 */
	confirm: undefined,
};
