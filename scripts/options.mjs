// Parses the options of our scripts. The comment at the beginning of a script is its usage, which is shown if the
// arguments are wrong.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

/** Parses a value, or throws an error that describes the problem. */
function checked(name, value, { counts = [], whole = [], shares = [], oneOf = {} }) {
	const wrong = (wanted) =>
		Object.assign(new Error(`--${name} is ${wanted}, not ${JSON.stringify(value)}`), { code: "ERR_PARSE_ARGS_VALUE" });
	if (counts.includes(name) && !/^0*[1-9]/.test(value)) throw wrong("a number of at least 1");
	if (counts.includes(name) || whole.includes(name)) {
		if (!/^\d{1,15}$/.test(value)) throw wrong("a whole number");
		return Number(value);
	}
	if (shares.includes(name)) {
		if (!/^(0(\.\d+)?|1)$/.test(value)) throw wrong("a share from 0 to 1");
		return Number(value);
	}
	if (oneOf[name] && !oneOf[name].includes(value)) throw wrong(`one of ${oneOf[name].join(", ")}`);
	return value;
}

/**
 * `parseArgs(config)` for the script at `url`. Shows the usage and ends the process for `--help` and for wrong
 * arguments. Values of options may be `counts` of at least 1, `whole` numbers, `shares` from 0 to 1, or `oneOf` some
 * words; numbers are returned as numbers.
 */
export function optionsOf(url, config, kinds = {}) {
	const usage = () => {
		const lines = readFileSync(fileURLToPath(url), "utf8").split("\n");
		const end = lines.findIndex((line) => !line.startsWith("//"));
		return lines
			.slice(0, end)
			.map((line) => line.replace(/^\/\/ ?/, ""))
			.join("\n");
	};
	try {
		const { values, positionals } = parseArgs({ ...config, options: { ...config.options, help: { type: "boolean" } } });
		const { help, ...given } = values;
		const entries = Object.entries(given).map(([name, value]) => [name, checked(name, value, kinds)]);
		if (!help) return { values: Object.fromEntries(entries), positionals };
		console.log(usage());
	} catch (error) {
		if (!error.code?.startsWith("ERR_PARSE_ARGS")) throw error;
		console.error(`${error.message}\n\n${usage()}`);
		process.exit(2);
	}
	process.exit(0);
}
