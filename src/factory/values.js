// Writes the caller's values as JSON, their long strings separately, and parses lines.
(shared, codes) => {
	"use strict";
	const { define, unbound } = shared;
	const { parse, stringify } = JSON;
	const { getOwnPropertyDescriptor, getOwnPropertySymbols, getPrototypeOf, keys } = Object;
	const { isArray } = Array;
	const indexOf = unbound(String.prototype.indexOf);
	const substring = unbound(String.prototype.substring);
	const toSpliced = unbound(Array.prototype.toSpliced);
	const trim = unbound(String.prototype.trim);
	const { isProxy, isBoxedPrimitive } = globalThis.process?.getBuiltinModule?.("node:util")?.types ?? {};

	// Writing a value. A value is plain if it consists of own data in plain objects and lists, so that the engine would
	// call no code of the caller to write it. We remove the long strings from a plain value, and the addon escapes them,
	// because the engine takes ten times as long. Until a plain value is written, none of the caller's code runs. So the
	// code here uses nothing that the caller can change: no method of a prototype, no iterator, no setter.
	const OBJECT = Object.prototype;
	const LIST = Array.prototype;
	const NOT_PLAIN = Symbol("not plain");
	const { stringPlaceholder: STRING_PLACEHOLDER, longString: LONG } = codes;
	// The engine writes values that are nested deeper.
	const DEEP = 32;
	// Looking at many small values costs more time than their long strings save. So we look at MANY values at most, and
	// at one more for every UNITS_EACH units of long strings.
	const MANY = 64;
	const UNITS_EACH = 32;
	// The text of more units may be too long for a string. The engine writes such a value, so that it throws its error.
	const MOST_UNITS = 1 << 26;
	// How many values may still be looked at, and the units of the long strings that were found.
	let left;
	let units;

	// The differences of the copies that are being made from their originals: a position, its new value, and so on.
	let changes;
	let changed;

	// Returns a copy of the value with placeholders for its long strings, which are added to `texts`. Returns the value
	// itself if it contains none, and NOT_PLAIN if the engine must write it.
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
		// A copy reads all properties, so we look at all of them before we copy.
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
			// The copy would call getters under symbols. V8's JSON ignores these, so it writes the value.
			if (getOwnPropertySymbols(value).length > 0) return NOT_PLAIN;
			const copy = { ...value };
			for (let next = first; next < last; next += 2) copy[names[changes[next]]] = changes[next + 1];
			return copy;
		}
		const copy = toSpliced(value);
		for (let next = first; next < last; next += 2) copy[changes[next]] = changes[next + 1];
		return copy;
	}

	// Whether we can decide that a value is plain: the prototypes are unchanged where the engine reads them.
	const canTell = () =>
		isProxy !== undefined && getPrototypeOf(LIST) === OBJECT && !("get" in OBJECT) && !("value" in OBJECT);

	// Returns the JSON text of a value. If long strings were removed, returns a list-like object: the text with
	// placeholders, followed by the strings.
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
		// entries.js uses it.
		LONG,

		parse,
		listOf: (...elements) => elements,
		addTo(list, ...elements) {
			for (let at = 0; at < elements.length; at++) define(list, list.length, elements[at]);
		},
		// Returns a content of one text block.
		textBlock(text) {
			return [{ type: "text", text }];
		},
		write,
		// Returns the text of each value; undefined for a value without JSON.
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
					// We skip a line that is not JSON, as everywhere.
					continue;
				}
				values[values.length] = value;
			}
			return values;
		},
	};
};
