// How many random cases a test runs: one row of `counts.json`. `npm test` takes the column `taste`, `npm run test:all`
// the column `full`, a command of its own (`npm run kills`) the column `long`. The engine's tests read the same table.
import { readFileSync } from "node:fs";

export const COUNTS = JSON.parse(readFileSync(new URL("../counts.json", import.meta.url), "utf8"));

/** Of a row: the number that `PSN_<ROW>` gives, else that of the column in `PSN_COUNTS`. */
export function count(name, column = process.env.PSN_COUNTS ?? "taste") {
	const own = process.env[`PSN_${name.toUpperCase()}`];
	const number = own === undefined ? COUNTS[name]?.[column] : Number(own);
	if (!Number.isInteger(number) || number < 1)
		throw new Error(`counts.json has no number of ${name} in the column ${column}`);
	return number;
}
