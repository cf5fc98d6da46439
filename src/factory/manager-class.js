// The parts of the class `SessionManager` that napi-rs does not generate, and the anchor of each manager.
(shared) => {
	"use strict";
	const { invalid, unbound } = shared;
	const { Object, Symbol, queueMicrotask } = globalThis;
	const { apply } = Reflect;
	const { defineProperty } = Object;

	// The `length` of pi's methods. lib/takeover compares them with the methods of the installed pi. If an argument count
	// differs, the method may do something else, so that pi keeps its own manager.
	const LENGTHS = {
		setSessionFile: 1,
		newSession: 1,
		appendMessage: 1,
		appendThinkingLevelChange: 1,
		appendModelChange: 2,
		appendUsage: 5,
		appendCompaction: 6,
		appendCustomEntry: 2,
		appendSessionInfo: 1,
		appendCustomMessageEntry: 4,
		appendContextEdit: 2,
		appendLabelChange: 2,
		getEntry: 1,
		getChildren: 1,
		getLabel: 1,
		getBranch: 1,
		branch: 1,
		branchWithSummary: 5,
		createBranchedSession: 1,
	};

	const SELF = Symbol("pi-session-native.manager");
	// The method that Node, Deno and Bun call to print an object.
	const INSPECT = Symbol.for("nodejs.util.inspect.custom");

	class ReturnsObject {
		constructor(object) {
			// A class that extends this one adds its private field to the object.
			return object;
		}
	}
	// A private field of a manager contains its anchor, so that the two are collected together. Checking for a private
	// field takes a tenth of the time of a look into a WeakMap.
	class Anchored extends ReturnsObject {
		#anchor;
		constructor(object, anchor) {
			super(object);
			this.#anchor = anchor;
		}
		static has(object) {
			return typeof object === "object" && object !== null && #anchor in object;
		}
	}
	const concat = unbound(Array.prototype.concat);
	const filter = unbound(Array.prototype.filter);

	return {
		anchor(manager) {
			const anchor = { entries: undefined, listeners: [] };
			new Anchored(manager, anchor);
			defineProperty(manager, SELF, { __proto__: null, value: manager });
			return anchor;
		},
		// Adds a listener to a manager. Returns the function that removes it.
		subscribe(anchor, listener) {
			const added = { listener };
			anchor.listeners = concat(anchor.listeners, added);
			return () => {
				anchor.listeners = filter(anchor.listeners, (one) => one !== added);
			};
		},
		// Calls the listeners after an append. The session already contains the entry, so an exception of a listener does
		// not fail the append. A listener that adds or removes listeners changes a new list, not this one.
		notify(anchor, entry) {
			for (const { listener } of anchor.listeners) {
				try {
					listener(entry);
				} catch (error) {
					queueMicrotask(() => {
						throw error;
					});
				}
			}
		},
		// Adds what napi-rs does not generate: names and lengths of methods, the attributes of pi's methods, and methods
		// that also work on a Proxy of a manager or an heir of one, because tests and applications call them so. The engine
		// runs a native method only on an instance, so each method finds the instance through the property SELF. On any
		// other receiver it throws a TypeError, because Bun and Deno would throw a plain Error.
		finishClass(SessionManager) {
			const { prototype } = SessionManager;
			const wrap = (holder, name, method) => {
				const value = method(holder[name]);
				if (holder === prototype) defineProperty(value, "length", { value: LENGTHS[name] ?? 0, configurable: true });
				Object.defineProperty(holder, name, { value, writable: true, enumerable: false, configurable: true });
			};
			const isMethod = (holder, name) =>
				name !== "constructor" && typeof Object.getOwnPropertyDescriptor(holder, name).value === "function";
			for (const name of Object.getOwnPropertyNames(prototype).filter((name) => isMethod(prototype, name))) {
				wrap(
					prototype,
					name,
					(native) =>
						({
							[name](...args) {
								const manager = this?.[SELF];
								if (!Anchored.has(manager)) throw invalid("Illegal invocation");
								return apply(native, manager, args);
							},
						})[name],
				);
			}
			for (const name of Object.getOwnPropertyNames(SessionManager).filter((name) => isMethod(SessionManager, name))) {
				wrap(
					SessionManager,
					name,
					(native) =>
						({
							[name](...args) {
								return apply(native, SessionManager, args);
							},
						})[name],
				);
			}
			Object.defineProperty(prototype, INSPECT, {
				value: {
					inspect(depth, options, inspect) {
						const manager = this?.[SELF];
						if (depth < 0 || !Anchored.has(manager)) return "[SessionManager]";
						const [id, file] = [manager.getSessionId(), manager.getSessionFile()];
						const state = { id, file, entries: manager.getEntryCount(), leaf: manager.getLeafId() };
						return `SessionManager ${inspect(state, options)}`;
					},
				}.inspect,
				writable: true,
				enumerable: false,
				configurable: true,
			});
		},
	};
};
