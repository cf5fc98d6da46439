// Plain operations on lists, maps and objects, many of them the caller's.
(shared) => {
	"use strict";
	const { put, unbound } = shared;
	const { Array, Boolean, Error, Map, Set } = globalThis;
	const { entries } = Object;
	const { isArray } = Array;
	const slice = unbound(Array.prototype.slice);
	const mapSet = unbound(Map.prototype.set);
	const setAdd = unbound(Set.prototype.add);
	const setHas = unbound(Set.prototype.has);

	return {
		// A list that is not a plain array: a Proxy of one is read as one.
		listOf(value) {
			if (!isArray(value)) return undefined;
			const list = [];
			for (let at = 0; at < value.length; at++) put(list, at, value[at]);
			return list;
		},
		templateText: (value) => `${value}`,
		entriesOf: (object) => entries(object),
		// As an assignment and a deletion in strict code: if the object refuses them, that is a TypeError.
		assign(object, key, value) {
			object[key] = value;
		},
		remove(object, key) {
			delete object[key];
		},
		mapGet: (map, key) => map.get(key),
		entriesById(list) {
			const map = new Map();
			for (let at = 0; at < list.length; at++) mapSet(map, list[at].id, list[at]);
			return map;
		},
		newSet: () => new Set(),
		addNew: (set, value) => !setHas(set, value) && Boolean(setAdd(set, value)),
		copy: (list) => slice(list),
		run: (list, from, to) => slice(list, from, to),
		pick(objects, rows) {
			const picked = new Array(rows.length);
			for (let at = 0; at < rows.length; at++) picked[at] = objects[rows[at]];
			return picked;
		},
		failure: (message) => new Error(message),
	};
};
