// What several scripts need. Each script takes the engine's functions when the addon is loaded, so that code that replaces
// them later changes nothing. Loops use indexes, because an iterator is looked up at each use.
() => {
	"use strict";
	const { Date } = globalThis;
	const { defineProperty } = Object;
	// A method as a function of what it is called on and its arguments.
	const { bind, call } = Function.prototype;
	const unbound = bind.bind(call);
	const getTime = unbound(Date.prototype.getTime);

	const time = (value) => getTime(new Date(value));

	// The descriptor of a plain data property, whatever setters or attributes Object.prototype was given.
	const plain = (value) => ({ __proto__: null, value, writable: true, enumerable: true, configurable: true });
	// Sets an element of the array itself, even if arrays were given a setter for its index.
	function put(array, at, value) {
		if (at in array) defineProperty(array, at, plain(value));
		else array[at] = value;
	}

	return { plain, put, time, unbound };
};
