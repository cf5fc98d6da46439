// The class `SessionManager` beyond what napi-rs makes of it, and what each manager owns.
(shared) => {
	"use strict";
	const { invalid, unbound } = shared;
	const { Object, Symbol, queueMicrotask } = globalThis;
	const { apply } = Reflect;
	const { defineProperty } = Object;

	// The `length` of pi's methods. lib/takeover compares them with the methods of the pi that it finds: a method with
	// another number of arguments may do something else, and that pi keeps its own manager.
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

	class Given {
		constructor(object) {
			// A private field can be put on any object this way.
			return object;
		}
	}
	// What a manager holds is in a private field of it, and collected with it. To ask whether there is one takes a tenth
	// of a look into a WeakMap.
	class Anchored extends Given {
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
		// The entry is in the session by now, so an exception of a listener does not fail the append. Listeners that are
		// added or removed meanwhile are in another list.
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
		// Gives the class what napi-rs does not: statics with a name that are not constructors, attributes, lengths of methods, and
		// methods that work on a Proxy of a manager or an object that inherits from one, as tests and applications call
		// them. The engine runs a native method only on its own instance; each finds the manager through a property of it.
		// On anything else they throw: of a wrong `this` V8 makes a TypeError, but Bun and Deno a plain Error.
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
						return `SessionManager ${inspect({ id, file, entries: manager.getEntryCount(), leaf: manager.getLeafId() }, options)}`;
					},
				}.inspect,
				writable: true,
				enumerable: false,
				configurable: true,
			});
		},
	};
};
