// What the hooks share with the modules that they add to pi's module graph or edit. These may be loaded by `require`: no
// top-level await here.

/** The namespace of a pi's `dist/config.js`. @typedef {{ getAgentDir(): string, APP_NAME?: string }} Config */
/**
 * @typedef {object} Hooked
 * @property {(dir: string) => void} started an entry module of the pi in `dir` begins. Throws unless its manager is replaced
 * @property {import("./check.mjs").Library} ours for the chunk of a bundle
 * @property {(dir: string, config: Config) => void} setApp tells our manager the settings of the pi in `dir`
 * @property {(dir: string, use: () => void) => void} inChunk calls what uses the chunk's names. If that fails, they are not what its text
 *   seemed to say
 * @property {(dir: string, values: Record<string, unknown>) => void} confirm the chunk of a bundle has run, in which these values must be ours,
 *   by name. Throws if one is not
 */

export const hooked = /** @type {Hooked} */ ({});
