// What the hooks share with the modules that they add to pi's module graph or edit. These may be loaded by `require`: no
// top-level await here.

/** @type {Record<string, any>} */
export const hooked = {
	/** `started(dir)`: an entry module of the pi in `dir` begins. Throws unless its manager is replaced. */
	started: undefined,
	/** Our module, for the chunk of a bundle. */
	ours: undefined,
	/** `setApp(dir, config)`: tells our manager the settings of the pi in `dir`. */
	setApp: undefined,
	/** `inChunk(dir, use)`: calls what uses the chunk's names. If that fails, they are not what its text seemed to say. */
	inChunk: undefined,
	/** `confirm(dir, values)`: the chunk of a bundle has run, in which these values must be ours, by name. Throws if one is not. */
	confirm: undefined,
};
