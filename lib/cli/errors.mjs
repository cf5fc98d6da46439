// Errors of the command itself. All other errors come from the library; the command prints their messages unchanged.

/** A failure that the user sees as one message. With `--json` the output also contains `details`. */
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

/** The command line was wrong: exit code 2. */
export class UsageError extends CommandError {}
