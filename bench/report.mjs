// Formats figures and tables.
import { cpus, totalmem } from "node:os";
import { referenceVersion } from "../scripts/reference/setup.mjs";
import { describe } from "./generate.mjs";

export function median(values) {
	const sorted = [...values].sort((a, b) => a - b);
	const middle = sorted.length >> 1;
	return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** A time in the best unit, with three digits. @param milliseconds */
export function time(milliseconds) {
	const units = [
		[1_000, "s"],
		[1, "ms"],
		[1e-3, "µs"],
		[0, "ns"],
	];
	const [from, unit] = units.find(([from]) => milliseconds >= from);
	return `${digits(milliseconds / (from || 1e-6))} ${unit}`;
}

const digits = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));
/** A ratio: `29×`, `1.3×`. */
export const times = (ratio) =>
	`${ratio >= 10 ? Math.round(ratio).toLocaleString("en") : Number(ratio.toPrecision(2))}×`;
const mebibytes = (bytes) => `${(bytes / 1_048_576).toFixed(0)} MiB`;

/**
 * The rows of one case, one for each time that it measures. `rounds` contains the answers of both sides for each round;
 * a round counts for the ratio if both sides answered.
 */
export function rowsOf({ name, operation, data, memory }, rounds, failures) {
	const answers = (side) => rounds.flatMap((round) => (round[side] ? [round[side]] : []));
	const parts = Object.keys((answers("pi")[0] ?? answers("ours")[0])?.times ?? { "": 0 });
	return parts.map((part) => {
		const title =
			[data?.startsWith(operation) ? undefined : operation, data].filter(Boolean).join(", ") + (part && `: ${part}`);
		const row = { case: part ? `${name} ${part}` : name, title };
		for (const side of ["pi", "ours"]) {
			const given = answers(side);
			if (failures[side]) row[`${side}Failure`] = failures[side];
			if (given.length === 0) continue;
			row[side] = median(given.map((answer) => answer.times[part]));
			if (!memory) continue;
			for (const [part, key] of [
				["Peak", "peak"],
				["Growth", "growth"],
			]) {
				const values = given.flatMap((answer) => answer[key] ?? []);
				if (values.length > 0) row[side + part] = median(values);
			}
		}
		const ratios = rounds
			.filter((round) => round.pi && round.ours)
			.map((round) => round.pi.times[part] / round.ours.times[part]);
		if (ratios.length > 0) {
			row.ratio = median(ratios);
			row.low = Math.min(...ratios);
			row.high = Math.max(...ratios);
		}
		return row;
	});
}

export function header(node, data) {
	const [cpu] = cpus();
	const machine = `${cpus().length} cores (${cpu?.model ?? "unknown"}), ${mebibytes(totalmem())} of memory`;
	const lines = [
		`Node ${node}, ${machine}, ${process.platform} ${process.arch}`,
		`pi ${referenceVersion} and this package alternate, each measurement in a fresh process, files in the page cache.`,
		"Times are bound to this machine and its mood; the ratio (pi / ours, median of the rounds) carries over better.",
		"",
	];
	for (const [name, { made }] of data) {
		const directory = `${made.files} files, ${made.lines.toLocaleString("en")} lines, ${mebibytes(made.bytes)}`;
		lines.push(`${name}: ${made.files ? directory : describe(made)}`);
	}
	return lines.join("\n");
}

export function table(rows) {
	const cells = [["case", "pi", "ours", "ratio", "spread"]];
	for (const row of rows) {
		cells.push([
			row.case,
			row.pi === undefined ? "failed" : time(row.pi),
			row.ours === undefined ? "failed" : time(row.ours),
			row.ratio === undefined ? "-" : row.ratio.toFixed(2),
			row.ratio === undefined ? "-" : `${row.low.toFixed(2)} to ${row.high.toFixed(2)}`,
		]);
	}
	return columns(cells);
}

export function memoryTable(rows) {
	const cells = [["memory", "pi peak", "ours peak", "pi growth", "ours growth", "growth ours / pi"]];
	const show = (bytes) => (bytes === undefined ? "-" : mebibytes(bytes));
	for (const row of rows.filter((row) => row.piPeak !== undefined || row.oursPeak !== undefined)) {
		const share = row.oursGrowth === undefined || !row.piGrowth ? "-" : (row.oursGrowth / row.piGrowth).toFixed(2);
		cells.push([row.case, show(row.piPeak), show(row.oursPeak), show(row.piGrowth), show(row.oursGrowth), share]);
	}
	return cells.length > 1 ? columns(cells) : "";
}

/** Aligns the first column to the left, and numbers to the right. */
function columns(cells) {
	const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
	const aligned = (cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]));
	return cells.map((row) => row.map(aligned).join("  ")).join("\n");
}
