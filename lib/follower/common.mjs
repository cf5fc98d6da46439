// What pi's process and the follower have in common (see in-pi.mjs).
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

export const { STORE_VARIABLE, agentDirOf, notesIn } = require("../store/machine/setting-names.js");

/** What is said of a store that did not answer for `timeout` milliseconds. */
export const lateness = (timeout) => `the store did not answer within ${timeout / 1000} s`;

/** The command that pulls what pi's start did not. `dir` is pi's argument. */
export const pullCommand = (dir) => (dir === undefined ? "pi-sessions pull" : `pi-sessions pull --dir ${dir}`);
