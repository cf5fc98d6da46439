// What pi's process and the processes that talk to a store have in common (see store.mjs).

/** The variable that names the store; these processes get the whole address in it. */
export const STORE_VARIABLE = "PI_SESSION_NATIVE_STORE";

/** How long a session counts as in use after the last claim, in milliseconds. */
export const CLAIM_MS = 60_000;

export const isExclusive = () => process.env.PI_SESSION_NATIVE_LOCK === "exclusive";

/** A failure that trying again does not mend. */
export const notStored = (session, { message }) => `session ${session} is not stored: ${message}`;
