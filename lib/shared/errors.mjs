/**
 * The message of an error, or the text of another thrown value.
 * @param {unknown} error
 */
export const messageOf = (error) => (error instanceof Error ? error.message || error.name : String(error));
