// Operations on arrays, maps and objects, many of which belong to the caller.
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
		// Returns a plain copy of an array, which may be a Proxy. Returns undefined if the value is not an array.
		arrayOf(value) {
			if (!isArray(value)) return undefined;
			const array = [];
			for (let at = 0; at < value.length; at++) array[at] = value[at];
			return array;
		},
		// Returns the first own key of an object that is not in a list of names.
		unknownKey(object, names) {
			return find(keys(object), (key) => !includes(names, key));
		},
		entriesOf: (object) => entries(object),
		// In strict code, assigning and deleting throw a TypeError if the object refuses them.
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
		// Adds a value to a set. Returns false if the set contains it already.
		addNew: (set, value) => !setHas(set, value) && Boolean(setAdd(set, value)),
		slice: (array, from, to) => slice(array, from, to),
		// Returns the objects at these indexes.
		pick(objects, rows) {
			const picked = new Array(rows.length);
			for (let at = 0; at < rows.length; at++) picked[at] = objects[rows[at]];
			return picked;
		},
	};
};
