// Plain operations on arrays, maps and objects, many of them the caller's.
(shared) => {
	"use strict";
	const { unbound } = shared;
	const { Array, Boolean, Map, Set } = globalThis;
	const { entries, keys } = Object;
	const { isArray } = Array;
	const find = unbound(Array.prototype.find);
	const includes = unbound(Array.prototype.includes);
	const slice = unbound(Array.prototype.slice);
	const mapSet = unbound(Map.prototype.set);
	const setAdd = unbound(Set.prototype.add);
	const setHas = unbound(Set.prototype.has);

	return {
		// A plain array of what another array holds: a Proxy of an array is one, too.
		arrayOf(value) {
			if (!isArray(value)) return undefined;
			const array = [];
			for (let at = 0; at < value.length; at++) array[at] = value[at];
			return array;
		},
		// The first own key of an object that is not in a list of names.
		unknownKey(object, names) {
			return find(keys(object), (key) => !includes(names, key));
		},
		entriesOf: (object) => entries(object),
		// As an assignment and a deletion in strict code: if the object refuses them, that is a TypeError.
		assign(object, key, value) {
			object[key] = value;
		},
		remove(object, key) {
			delete object[key];
		},
		mapGet: (map, key) => map.get(key),
		entriesById(array) {
			const map = new Map();
			for (let at = 0; at < array.length; at++) mapSet(map, array[at].id, array[at]);
			return map;
		},
		newSet: () => new Set(),
		addNew: (set, value) => !setHas(set, value) && Boolean(setAdd(set, value)),
		slice: (array, from, to) => slice(array, from, to),
		pick(objects, rows) {
			const picked = new Array(rows.length);
			for (let at = 0; at < rows.length; at++) picked[at] = objects[rows[at]];
			return picked;
		},
	};
};
