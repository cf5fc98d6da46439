// Times in options: days, days ago, and ISO times.
import { UsageError } from "./errors.mjs";

/**
 * The time limits of the options.
 * @param {{ since?: string, until?: string }} options
 */
export function limitsOf(options) {
	const since = timeOfDay(options.since, 0, "--since");
	const until = timeOfDay(options.until, 1, "--until");
	if (since !== undefined && until !== undefined && since >= until)
		throw new UsageError(`--since ${options.since} must be before --until ${options.until}`);
	return { since, until };
}

/**
 * The time that a text names, in milliseconds. For a day: the midnight at its beginning, or `later` days after that.
 * @param {string | undefined} text `2025-06-01`, `7d` for seven days ago, or an ISO time
 * @param {number} later number of days
 * @param {string} option
 */
export function timeOfDay(text, later, option) {
	if (text === undefined) return undefined;
	const day = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)?.slice(1).map(Number);
	const ago = /^(\d{1,5})d$/.exec(text)?.[1];
	const now = new Date();
	if (day) {
		const [year = 0, month = 0, date = 0] = day;
		const named = new Date(Date.UTC(year, month - 1, date));
		if (named.getUTCMonth() === month - 1 && named.getUTCDate() === date)
			return new Date(year, month - 1, date + later).getTime();
	} else if (ago !== undefined) {
		return new Date(now.getFullYear(), now.getMonth(), now.getDate() - Number(ago) + later).getTime();
	} else if (/^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text))) return Date.parse(text);
	throw new UsageError(
		`${option} must be a day (2025-06-01), days ago (7d) or an ISO time, not ${JSON.stringify(text)}`,
	);
}
