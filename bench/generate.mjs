// Writes a session file in the same form as pi: `JSON.stringify` of every entry, keys in pi's order, a valid tree.
//
// The mix ("mixed") is similar to real sessions: the mean line is 6 KB; a fifth of the lines are over 4 KiB and contain
// four fifths of the bytes; by bytes 49 % are tool results, 47 % assistant messages, 3 % user messages; there is a
// compaction every 1,500 entries; one text in eight contains letters beyond Latin-1. "small" has the same entries with
// small lines only. No text contains U+2028 or U+2029, because on Node 24 pi's lists skip such lines
// (docs/moving-from-pi.md) and would do less work. Each line is written at once, so that the file is never in memory
// and only the disk limits its size.
//
//   node bench/generate.mjs <file> [--bytes 10485760 | --entries 1600] [--seed 1] [--sizes mixed|small]
//                           [--compact-every 1500] [--images 0.9] [--wide 0.125]
import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { isMain } from "../scripts/is-main.mjs";
import { optionsOf } from "../scripts/options.mjs";
import { seeded } from "./random.mjs";
import { transcript } from "./transcript.mjs";

/** Raise this number with every change of the generated content, so that older files are generated again. */
export const GENERATOR_VERSION = 1;
export const SESSION_CWD = "/home/user/project";

const START = Date.UTC(2025, 5, 1, 8);
const WRITE_CHARS = 1 << 20;

/**
 * `images` is the share of images in the bytes, `wide` the share of texts with letters beyond Latin-1. The length is
 * either a number of bytes or of entries.
 */
export const DEFAULTS = { seed: 1, sizes: "mixed", compactEvery: 1_500, images: 0, wide: 0.125 };

/** Writes the session and returns its composition. */
export function generateSession(file, options) {
	const { seed, sizes, compactEvery, images, wide, bytes, entries } = { ...DEFAULTS, ...options };
	if ((bytes === undefined) === (entries === undefined)) throw new Error("Say either bytes or entries");
	const start = START + seed * 3_600_000;
	const partial = `${file}.partial`;
	const fd = openSync(partial, "w");
	const made = tally();
	try {
		let pending = "";
		const write = (value, kind) => {
			const line = `${JSON.stringify(value)}\n`;
			made.add(kind, Buffer.byteLength(line));
			pending += line;
			if (pending.length >= WRITE_CHARS) flush();
		};
		const flush = () => {
			// A write may be short; `writeSync` returns the number of written bytes.
			const buffer = Buffer.from(pending);
			for (let at = 0; at < buffer.length; ) at += writeSync(fd, buffer, at);
			pending = "";
		};

		const timestamp = new Date(start).toISOString();
		write({ type: "session", version: 3, id: sessionId(seed, start), timestamp, cwd: SESSION_CWD }, "header");
		const shape = { seed, sizes, compactEvery, imageShare: images, wideShare: wide, start };
		for (const entry of transcript(shape)) {
			write(entry, entry.type === "message" ? entry.message.role : entry.type);
			// One line is the header.
			if (bytes !== undefined ? made.bytes >= bytes : made.lines > entries) break;
		}
		flush();
	} catch (error) {
		rmSync(partial, { force: true });
		throw error;
	} finally {
		closeSync(fd);
	}
	renameSync(partial, file);
	return made.summary();
}

/** A UUIDv7 with the session's own time. */
export function sessionId(seed, time) {
	const random = seeded(seed ^ 0x5e55);
	const stamp = time.toString(16).padStart(12, "0");
	const rest = random.hex(18);
	return `${stamp.slice(0, 8)}-${stamp.slice(8)}-7${rest.slice(0, 3)}-8${rest.slice(3, 6)}-${rest.slice(6)}`;
}

function tally() {
	const kinds = {};
	const made = { lines: 0, bytes: 0, big: 0, bigBytes: 0 };
	return {
		get bytes() {
			return made.bytes;
		},
		get lines() {
			return made.lines;
		},
		add(kind, size) {
			made.lines++;
			made.bytes += size;
			if (size > 4096) {
				made.big++;
				made.bigBytes += size;
			}
			kinds[kind] ??= { lines: 0, bytes: 0 };
			kinds[kind].lines++;
			kinds[kind].bytes += size;
		},
		summary: () => ({ ...made, kinds }),
	};
}

/** The composition in one sentence. */
export function describe({ lines, bytes, big, bigBytes, kinds }) {
	const percent = (part, whole) => `${((100 * part) / whole).toFixed(0)} %`;
	const share = (kind) => percent(kinds[kind]?.bytes ?? 0, bytes);
	const size = `${(bytes / 1_048_576).toFixed(1)} MiB, mean ${(bytes / lines / 1024).toFixed(2)} KiB`;
	return (
		`${lines.toLocaleString("en")} lines, ${size}; ` +
		`${percent(big, lines)} of the lines over 4 KiB with ${percent(bigBytes, bytes)} of the bytes; ` +
		`tool results ${share("toolResult")}, assistant ${share("assistant")}, user ${share("user")}; ` +
		`${kinds.compaction?.lines ?? 0} compactions`
	);
}

if (isMain(import.meta.url)) {
	const { values, positionals } = optionsOf(
		import.meta.url,
		{
			allowPositionals: true,
			options: {
				bytes: { type: "string" },
				entries: { type: "string" },
				seed: { type: "string" },
				sizes: { type: "string" },
				"compact-every": { type: "string" },
				images: { type: "string" },
				wide: { type: "string" },
			},
		},
		{
			counts: ["bytes", "entries"],
			whole: ["seed", "compact-every"],
			shares: ["images", "wide"],
			oneOf: { sizes: ["mixed", "small"] },
		},
	);
	const { "compact-every": compactEvery, ...options } = values;
	if (compactEvery !== undefined) options.compactEvery = compactEvery;
	if (positionals.length !== 1) {
		console.error(
			"Usage: node bench/generate.mjs <file> --bytes N | --entries N " +
				"[--seed N] [--sizes mixed|small] [--compact-every N] [--images SHARE] [--wide SHARE]",
		);
		process.exitCode = 2;
	} else {
		console.log(describe(generateSession(positionals[0], options)));
	}
}
