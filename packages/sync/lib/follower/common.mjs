// What pi's process and the follower have in common (see in-pi.mjs).

/** What is said of a store that did not answer for `timeout` milliseconds. @param {number} timeout */
export const lateness = (timeout) => `the store did not answer within ${timeout / 1000} s`;

/** The command that pulls what pi's start did not. @param {string | undefined} dir pi's argument */
export const pullCommand = (dir) => (dir === undefined ? "pi-sessions pull" : `pi-sessions pull --dir ${dir}`);

/** That two hosts redacted entries of a session in different ways. @param {string} session */
export const emptiedLine = (session) => `session ${session}: what two machines had redacted in different ways has lost all that it said`;
