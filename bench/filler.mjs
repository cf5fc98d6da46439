// The filler text of sessions: prose and code of many lines, cut from pools that are generated once. The bytes of a
// line in the file differ from its length (escapes, UTF-8), so each pool knows its bytes per character.
import { seeded } from "./random.mjs";

const WORDS = (
	"the file session entry leaf branch path context append tail index of and to a in is that for with not as it " +
	"read write edit bash grep error warning passed failed expected received at line column module function return " +
	"const let await import export type string number value result options config test run build cache"
).split(" ");
const LINE_STARTS = ["", "", "\t", "\t\t", "  ", "- ", "> ", "+", "-"];
const LINE_ENDS = [";", " {", "}", ",", ".", ":", ")", '"', ""];
const NON_LATIN = ["✓", "→", "…", "—", "日本", "мир", "🙂"];

const POOL_CHARS = 1 << 19;

function textPool(random, extras) {
	const parts = [];
	let length = 0;
	while (length < POOL_CHARS) {
		const words = Array.from({ length: random.between(2, 10) }, () => random.pick(WORDS));
		if (random.chance(0.15)) words.push(`"${random.pick(WORDS)}"`);
		if (random.chance(0.2)) words.push(String(random.between(0, 9999)));
		if (extras.length > 0 && random.chance(0.12)) words.push(random.pick(extras));
		const line = `${random.pick(LINE_STARTS)}${words.join(" ")}${random.pick(LINE_ENDS)}\n`;
		parts.push(line);
		length += line.length;
	}
	return measured(parts.join(""));
}

function base64Pool(random) {
	const bytes = Buffer.alloc((POOL_CHARS * 8 * 3) / 4);
	for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE(random.uint32(), at);
	return measured(bytes.toString("base64"));
}

function measured(text) {
	return { text, bytesPerChar: (Buffer.byteLength(JSON.stringify(text)) - 2) / text.length };
}

/** `wideShare` is the share of texts with letters beyond Latin-1, which V8 stores in two bytes per character. */
export function fillers(seed, wideShare) {
	const random = seeded(seed);
	const ascii = textPool(random, []);
	const wide = textPool(random, NON_LATIN);
	const base64 = base64Pool(random);

	/** A part of the pool that has about this number of bytes in a line. */
	function cut({ text, bytesPerChar }, bytes) {
		let left = Math.max(0, Math.round(bytes / bytesPerChar));
		let result = "";
		while (left > 0) {
			const take = Math.min(left, text.length);
			let start = Math.floor(random.unit() * (text.length - take));
			let end = start + take;
			// We do not cut a surrogate pair, because half of it would be written as an escape.
			if (isLowSurrogate(text, start)) start++;
			if (isLowSurrogate(text, end)) end--;
			result += text.slice(start, end);
			left -= take;
		}
		return result;
	}

	return {
		text: (bytes) => cut(random.chance(wideShare) ? wide : ascii, bytes),
		/** Valid base64: its length is a multiple of four. */
		base64: (bytes) => cut(base64, bytes & ~3),
	};
}

function isLowSurrogate(text, at) {
	const code = text.charCodeAt(at);
	return code >= 0xdc00 && code <= 0xdfff;
}
