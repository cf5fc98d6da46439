// Calls of the session manager that change a file: here, or in the process that has the session open.
//
// They hold the session's lock. An append of another process fails if it has to wait for that too long, so where pi has a session open,
// pi's process makes the call.

/** @typedef {import("../../index").SessionManager} Manager */
/** @typedef {typeof import("../../index").SessionManager} Class */
/**
 * @typedef {<Name extends "merge" | "redact">(name: Name, file: string, input: Parameters<Class[Name]>[1]) => Promise<ReturnType<Class[Name]>>} CallManager
 */

/** @type {CallManager} */
// The addon is loaded here, because most pushes and pulls do not need it.
const callHere = async (name, file, input) => /** @type {any} */ (require("../../index.js").SessionManager)[name](file, input);

exports.callHere = callHere;
