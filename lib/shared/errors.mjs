/**
 * The message of an error, or the text of whatever else was thrown.
 * @param {unknown} error
 */
export const messageOf = (error) => (error instanceof Error ? error.message || error.name : String(error));
