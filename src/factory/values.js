// Values as JSON: writes the caller's values, their long strings separately, and parses lines.
(shared, codes) => {
	"use strict";
	const { unbound } = shared;
	const { parse, stringify } = JSON;
	const { getOwnPropertyDescriptor, getOwnPropertySymbols, getPrototypeOf, keys } = Object;
	const { isArray } = Array;
	const indexOf = unbound(String.prototype.indexOf);
	const substring = unbound(String.prototype.substring);
	const toSpliced = unbound(Array.prototype.toSpliced);
	const trim = unbound(String.prototype.trim);
	const { isProxy, isBoxedPrimitive } = globalThis.process?.getBuiltinModule?.("node:util")?.types ?? {};

	// Writing values. From a plain one (own data in plain objects and lists, nothing that the engine would call) the long
	// strings are taken out, and the addon escapes them: the engine takes ten times as long. Whether a value is plain is
	// found without running any code of the caller's, and none runs before it is written. So no step here may depend on
	// what the caller can change: no method of a prototype, no iterator, no setter.
	const OBJECT = Object.prototype;
	const LIST = Array.prototype;
	const NOT_PLAIN = Symbol("not plain");
	const { stringPlaceholder: STRING_PLACEHOLDER, longString: LONG } = codes;
	const DEEP = 32;
	// A value of many small ones costs more to look at than its long strings save. At most MANY are looked at, and one
	// more for every UNITS_EACH units of long strings.
	const MANY = 64;
	const UNITS_EACH = 32;
	// With more units the text may be longer than a string can be, which is the engine's error to throw.
	const MOST_UNITS = 1 << 26;
	let left;
	let units;

	// What is different in the copies that are being made: position, other value, and so on.
	let changes;
	let changed;

	// The value with placeholders for its long strings, which are put into `texts`; itself if it has none.
	function withoutTexts(value, texts, depth) {
		if (typeof value === "string") {
			if (value.length < LONG) return value === STRING_PLACEHOLDER ? NOT_PLAIN : value;
			texts[texts.length++] = value;
			left += value.length / UNITS_EACH;
			units += value.length;
			return units > MOST_UNITS ? NOT_PLAIN : STRING_PLACEHOLDER;
		}
		if (typeof value === "function" || typeof value === "bigint") return NOT_PLAIN;
		if (typeof value !== "object" || value === null) return value;
		if (depth === 0 || isProxy(value)) return NOT_PLAIN;
		const isList = isArray(value);
		if (getPrototypeOf(value) !== (isList ? LIST : OBJECT) || "toJSON" in value) return NOT_PLAIN;
		if (!isList && isBoxedPrimitive(value)) return NOT_PLAIN;
		const names = isList ? undefined : keys(value);
		const { length } = names ?? value;
		left -= length;
		if (left < 0) return NOT_PLAIN;
		// Copying reads all, so all is looked at before.
		const first = changed;
		for (let at = 0; at < length; at++) {
			const key = isList ? at : names[at];
			const property = getOwnPropertyDescriptor(value, key);
			if (property === undefined || property.get !== undefined || key === STRING_PLACEHOLDER) return NOT_PLAIN;
			const is = withoutTexts(property.value, texts, depth - 1);
			if (is === property.value) continue;
			if (is === NOT_PLAIN) return NOT_PLAIN;
			changes[changed++] = at;
			changes[changed++] = is;
		}
		if (changed === first) return value;
		const last = changed;
		changed = first;
		if (!isList) {
			// The copy would call getters of symbols, which V8 does not look at.
			if (getOwnPropertySymbols(value).length > 0) return NOT_PLAIN;
			const copy = { ...value };
			for (let next = first; next < last; next += 2) copy[names[changes[next]]] = changes[next + 1];
			return copy;
		}
		const copy = toSpliced(value);
		for (let next = first; next < last; next += 2) copy[changes[next]] = changes[next + 1];
		return copy;
	}

	// Whether a value can be found plain: what the engine would look up in a prototype is in none.
	const canTell = () =>
		isProxy !== undefined && getPrototypeOf(LIST) === OBJECT && !("get" in OBJECT) && !("value" in OBJECT);

	// The JSON text of a value, or a list-like object of the text with placeholders and the strings that they replace.
	function write(value) {
		const texts = { __proto__: null, length: 1 };
		left = MANY;
		units = 0;
		changes = { __proto__: null };
		changed = 0;
		const shadow = canTell() ? withoutTexts(value, texts, DEEP) : NOT_PLAIN;
		changes = undefined;
		if (shadow === NOT_PLAIN || texts.length === 1) return stringify(value);
		texts[0] = stringify(shadow);
		return texts;
	}

	return {
		// For the other scripts.
		LONG,

		parse,
		listOf: (...elements) => elements,
		// A content that is one text block.
		textBlock(text) {
			return [{ type: "text", text }];
		},
		write,
		// Each value's line; undefined for one that has none.
		lines(values) {
			const all = [];
			for (let at = 0; at < values.length; at++) all[at] = write(values[at]);
			return all;
		},
		parseLines(text) {
			const values = [];
			const all = trim(text);
			for (let from = 0; from < all.length; ) {
				const found = indexOf(all, "\n", from);
				const to = found < 0 ? all.length : found;
				const line = substring(all, from, to);
				from = to + 1;
				if (!trim(line)) continue;
				let value;
				try {
					value = parse(line);
				} catch {
					// A line that is not JSON is skipped, as everywhere.
					continue;
				}
				values[values.length] = value;
			}
			return values;
		},
	};
};
