// The number of cases of each random test: one row of `counts.json`. `npm test` reads the column `taste`, `npm run
// test:all` the column `full`, a command such as `npm run kills` the column `long`. The core's tests read the same
// table.
import { readFileSync } from "node:fs";

export const COUNTS = JSON.parse(readFileSync(new URL("../counts.json", import.meta.url), "utf8"));

/** The number in `PSN_<ROW>` if that is set, otherwise the row's number in the column that `PSN_COUNTS` names. */
export function count(name, column = process.env.PSN_COUNTS ?? "taste") {
	const own = process.env[`PSN_${name.toUpperCase()}`];
	const number = own === undefined ? COUNTS[name]?.[column] : Number(own);
	if (!Number.isInteger(number) || number < 1)
		throw new Error(`counts.json has no number of ${name} in the column ${column}`);
	return number;
}
