// What several scripts need. Each script takes the engine's functions when the addon is loaded, so that code that
// replaces them later changes nothing. Setters that Object.prototype was given are not run where pi's would not be.
// Beyond that the prototypes are trusted, as pi trusts them: what arrays inherit for their indexes and iteration is the
// engine's.
() => {
	"use strict";
	const { Date, TypeError } = globalThis;
	const { assign, setPrototypeOf } = Object;
	const { defineProperty } = Reflect;
	// A method as a function of what it is called on and its arguments.
	const { bind, call } = Function.prototype;
	const unbound = bind.bind(call);
	const getTime = unbound(Date.prototype.getTime);

	const time = (value) => getTime(new Date(value));

	// One descriptor for all: making one takes longer than defining the property.
	const PLAIN = setPrototypeOf({ value: undefined, writable: true, enumerable: true, configurable: true }, null);
	// Makes a plain data property, whatever setters Object.prototype was given. False if the object refuses it.
	function define(object, key, value, enumerable = true) {
		PLAIN.value = value;
		PLAIN.enumerable = enumerable;
		try {
			return defineProperty(object, key, PLAIN);
		} finally {
			PLAIN.value = undefined;
		}
	}

	// The error for an argument, or a receiver, that cannot be used.
	const invalid = (text) => assign(new TypeError(text), { code: "ERR_INVALID_ARGUMENT" });

	return { define, invalid, time, unbound };
};
