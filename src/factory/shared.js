// Functions that several scripts use. Each script keeps references to the engine's functions from the moment the addon
// is loaded, so replacing them later has no effect. A setter that was added to Object.prototype does not run where pi
// would not run it. Otherwise we trust the prototypes, as pi does: nobody has changed the indexes and the iteration of
// arrays.
() => {
	"use strict";
	const { Date, TypeError } = globalThis;
	const { assign, setPrototypeOf } = Object;
	const { defineProperty } = Reflect;
	// Converts a method to a function whose first argument is the method's `this`.
	const { bind, call } = Function.prototype;
	const unbound = bind.bind(call);
	const getTime = unbound(Date.prototype.getTime);

	// Returns a date in ms since 1970, NaN if the value is not a date.
	const time = (value) => getTime(new Date(value));

	// All properties share one descriptor, because creating one takes longer than defining a property.
	const PLAIN = setPrototypeOf({ value: undefined, writable: true, enumerable: true, configurable: true }, null);
	// Creates a plain data property without running a setter of Object.prototype. Returns false if the object refuses it.
	function define(object, key, value, enumerable = true) {
		PLAIN.value = value;
		PLAIN.enumerable = enumerable;
		try {
			return defineProperty(object, key, PLAIN);
		} finally {
			PLAIN.value = undefined;
		}
	}

	// Returns the error for a wrong argument or receiver.
	const invalid = (text) => assign(new TypeError(text), { code: "ERR_INVALID_ARGUMENT" });

	return { define, invalid, time, unbound };
};
