// Measures the memory of 20,000 managers that are opened, read and dropped, and the growth for each of a million
// appends:
//   npm run leaks -- --managers 20000 --entries 1000000
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { count } from "../__test__/support/counts.mjs";
import { optionsOf } from "./options.mjs";

const { values } = optionsOf(
	import.meta.url,
	{ options: { managers: { type: "string" }, entries: { type: "string" } } },
	{ counts: ["managers", "entries"] },
);
const script = fileURLToPath(new URL("../__test__/stress/leaks.mjs", import.meta.url));
const args = [
	"--expose-gc",
	script,
	String(values.managers ?? count("leak_managers", "long")),
	String(values.entries ?? count("leak_appends", "long")),
];
const { status, stdout } = spawnSync(process.execPath, args, {
	stdio: ["ignore", "pipe", "inherit"],
	encoding: "utf8",
});
if (status === 0) {
	const told = JSON.parse(stdout.trim().split("\n").at(-1));
	const count = (number) => number.toLocaleString("en-US");
	const dropped = told.managers - Math.floor(told.managers / 4);
	console.log(
		`${count(dropped)} more managers opened, read and dropped: ${told.growthMB.toFixed(0)} MB more; ` +
			`${count(told.entries)} appends to one: ${told.bytesPerEntry} bytes each, ` +
			`${told.heapBytesPerEntry} of them in the JavaScript heap (the caller's message among them)`,
	);
}
process.exit(status ?? 1);
