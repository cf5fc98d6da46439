// Errors of the command itself. Every other error comes from the library, and its message is shown unchanged.

/** A failure that is told to the user in one message; `details` join it where output is JSON. */
export class CommandError extends Error {
	/**
	 * @param {string} message
	 * @param {Record<string, unknown>} [details]
	 */
	constructor(message, details) {
		super(message);
		this.details = details;
	}
}

/** The command line itself was wrong: exit code 2. */
export class UsageError extends CommandError {}
