// Between the hooks and the modules that they put into pi's graph. These may be loaded by `require`, and so may wait for
// nothing; main.mjs waits.

/** `started(dir)`: an entry module of the pi in `dir` begins. Throws, or ends the process, unless its manager is replaced. */
export const guards = { started: undefined };
