// What pi's process and the processes that talk to a store have in common (see store.mjs).
import { createRequire } from "node:module";

/** The processes that talk to a store get its whole address in the variable. */
export const { SETTINGS_FILE, STORE_VARIABLE } = createRequire(import.meta.url)("../store/setting-names.js");

/** How long a session counts as in use after the last claim, in milliseconds. */
export const CLAIM_MS = 60_000;

export const isExclusive = () => process.env.PI_SESSION_NATIVE_LOCK === "exclusive";

/** A failure that trying again does not mend. */
export const notStored = (session, { message }) => `session ${session} is not stored: ${message}`;
