// Entries whose bodies are read on first access. Until then a body is an own, enumerable, configurable accessor under
// its key; on first access it becomes plain data.
//
// All accessors of a key are the same two functions, which keeps the objects in the engine's fast shape: which entry
// an object is of is in a private field of it. A Proxy of the object, or an object that inherits from it, has no
// such field; it is found by the object's inspection function there, which `util.inspect` calls to show values instead
// of accessors.
(shared, codes, readBody) => {
	"use strict";
	const { define, invalid, unbound } = shared;
	const { Boolean, TypeError } = globalThis;
	const { parse, stringify } = JSON;
	const { create, defineProperty, getOwnPropertyDescriptor, getOwnPropertyDescriptors, getPrototypeOf } = Object;
	const { getOwnPropertySymbols, isFrozen, keys, prototype, setPrototypeOf } = Object;
	const propertyIsEnumerable = unbound(prototype.propertyIsEnumerable);
	const startsWith = unbound(String.prototype.startsWith);
	const { deleteProperty: deletes } = Reflect;
	const INSPECT = Symbol.for("nodejs.util.inspect.custom");
	const OF_MESSAGE = codes.bodyOfMessage;
	const OF_ENTRY = codes.bodyOfEntry;
	const BODY_KEYS = ["content", "details", "data"];
	const ANY_OF_MESSAGE = OF_MESSAGE.content | OF_MESSAGE.details;
	const ANY_OF_ENTRY = OF_ENTRY.content | OF_ENTRY.details | OF_ENTRY.data;
	// Stands for a value that is not read, here as in lines without their bodies.
	const BODY_PLACEHOLDER = codes.bodyPlaceholder;

	// What it takes to read an object's values. The caller's code never gets one.
	class Cell {
		#source;
		constructor(object, source, row, id, codes, waiting) {
			this.#source = source;
			this.object = object;
			this.row = row;
			this.id = id;
			this.codes = codes;
			this.waiting = waiting;
			// What was read, shared with copies of the object, and what was assigned to a sealed object.
			this.values = undefined;
			this.given = undefined;
			this.inspect = undefined;
		}
		read(key) {
			return readBody(this.#source, this.row, this.id, this.codes[key]);
		}
		// The same values are in another file now.
		moveTo(row, source) {
			this.row = row;
			this.#source = source;
		}
		isOf(row, source, id) {
			return this.row === row && this.#source === source && this.id === id;
		}
		copyFor(object, waiting) {
			return new Cell(object, this.#source, this.row, this.id, this.codes, waiting);
		}
	}

	// Its fields are its own, whatever setters Object.prototype was given.
	setPrototypeOf(Cell.prototype, null);

	class Given {
		constructor(object) {
			// A private field can be put on any object this way; on a frozen one later no more.
			return object;
		}
	}
	class Marked extends Given {
		#cell;
		constructor(object, cell) {
			super(object);
			this.#cell = cell;
		}
		static cellOf(object) {
			return #cell in object ? object.#cell : undefined;
		}
		static forget(object) {
			object.#cell = undefined;
		}
	}

	// What was read of an object.
	const NOT_READ = Symbol("not read");
	class Values {
		content = NOT_READ;
		details = NOT_READ;
		data = NOT_READ;
	}
	setPrototypeOf(Values.prototype, null);

	// The cell of an object, or of the one that it is a Proxy of or inherits from: that one's inspection function has the
	// mark, too. No function of the caller's is called to find it.
	function cellOf(holder) {
		const cell = Marked.cellOf(holder);
		if (cell !== undefined) return cell;
		const inspect = holder[INSPECT];
		return typeof inspect === "function" ? Marked.cellOf(inspect) : undefined;
	}

	function markRead(cell, key) {
		cell.waiting &= ~cell.codes[key];
		if (cell.waiting !== 0) return;
		const { object } = cell;
		const shown = getOwnPropertyDescriptor(object, INSPECT);
		if (shown?.value === cell.inspect && shown.configurable) deletes(object, INSPECT);
		Marked.forget(object);
	}

	const isOurs = (object, key) => getOwnPropertyDescriptor(object, key)?.get === ACCESSORS[key].get;

	// Whether a property is an accessor of ours that can be exchanged.
	const canReplace = (property, key) => property?.get === ACCESSORS[key].get && property.configurable;

	// Puts a value in an accessor's place; false where the object does not let go of it.
	function replaceAccessor(object, key, value) {
		const property = getOwnPropertyDescriptor(object, key);
		return property.configurable && define(object, key, value, property.enumerable);
	}

	function touch(cell, key) {
		const { object } = cell;
		if (cell.given && key in cell.given) return cell.given[key];
		const values = (cell.values ??= new Values());
		if (values[key] === NOT_READ) values[key] = cell.read(key);
		// A frozen object keeps its accessor, which gives the same value every time.
		const property = getOwnPropertyDescriptor(object, key);
		if (canReplace(property, key)) {
			// In this order: V8 takes four times as long to exchange the accessor first.
			markRead(cell, key);
			define(object, key, values[key], property.enumerable);
		}
		return values[key];
	}

	// A value, or what stands for one in a log that must not end because of it.
	function valueOrError(object, key) {
		try {
			return object[key];
		} catch (error) {
			return { [INSPECT]: () => `[${error}]` };
		}
	}

	// What `util.inspect` is to show of an object that keeps its accessors.
	function shownOf(object) {
		if (!isOurs(object, "content") && !isOurs(object, "details") && !isOurs(object, "data")) return object;
		const all = getOwnPropertyDescriptors(object);
		for (const key of BODY_KEYS) {
			if (!isOurs(object, key)) continue;
			all[key] = { __proto__: null, value: valueOrError(object, key), enumerable: all[key].enumerable };
		}
		delete all[INSPECT];
		return create(getPrototypeOf(object), all);
	}

	const accessor = (key) => ({
		get() {
			const cell = cellOf(this);
			if (cell === undefined) throw invalid(`${key} was taken from its entry`);
			const value = touch(cell, key);
			// An object that was given the entry's property descriptors.
			if (this !== cell.object && isOurs(this, key)) replaceAccessor(this, key, value);
			return value;
		},
		// As an assignment to plain data does: to the receiver, be it the object, a Proxy of it or its heir.
		set(value) {
			const cell = Marked.cellOf(this);
			if (isOurs(this, key) ? replaceAccessor(this, key, value) : define(this, key, value)) {
				if (cell !== undefined) markRead(cell, key);
			} else if (cell !== undefined && !isFrozen(this)) {
				// A sealed object keeps its accessor, and can be written to.
				cell.given ??= { __proto__: null };
				cell.given[key] = value;
			} else {
				throw new TypeError(`Cannot assign to read only property '${key}' of object '#<Object>'`);
			}
		},
		enumerable: true,
		configurable: true,
	});
	const CONTENT = accessor("content");
	const DETAILS = accessor("details");
	const DATA = accessor("data");
	const ACCESSORS = { content: CONTENT, details: DETAILS, data: DATA };

	// Assigning to what Object.prototype has, or was given, might not make a property.
	function put(object, key, value) {
		if (key in prototype) define(object, key, value);
		else object[key] = value;
	}

	// The object with accessors in place of the values it lacks.
	function withAccessors(from, codes, waiting) {
		const object = {};
		const names = keys(from);
		for (let at = 0; at < names.length; at++) {
			const key = names[at];
			if (key === "content" && (codes.content & waiting) !== 0) defineProperty(object, key, CONTENT);
			else if (key === "details" && (codes.details & waiting) !== 0) defineProperty(object, key, DETAILS);
			else if (key === "data" && (codes.data & waiting) !== 0) defineProperty(object, key, DATA);
			else put(object, key, from[key]);
		}
		return object;
	}

	// Gives an object with accessors its cell.
	function attach(cell) {
		const { object } = cell;
		cell.inspect = function () {
			for (const key of BODY_KEYS) {
				try {
					if (isOurs(object, key)) touch(cell, key);
					if (this !== object && isOurs(this, key)) this[key];
				} catch {
					// It is shown as what it is: a value that cannot be read.
				}
			}
			return shownOf(this);
		};
		new Marked(object, cell);
		new Marked(cell.inspect, cell);
		define(object, INSPECT, cell.inspect, false);
		return object;
	}

	function defer(entry, row, omitted, source) {
		if ((omitted & ANY_OF_MESSAGE) !== 0) {
			const waiting = omitted & ANY_OF_MESSAGE;
			const message = withAccessors(entry.message, OF_MESSAGE, waiting);
			entry.message = attach(new Cell(message, source, row, entry.id, OF_MESSAGE, waiting));
		}
		if ((omitted & ANY_OF_ENTRY) === 0) return entry;
		const waiting = omitted & ANY_OF_ENTRY;
		return attach(new Cell(withAccessors(entry, OF_ENTRY, waiting), source, row, entry.id, OF_ENTRY, waiting));
	}

	const hasRead = (cell, key) =>
		(cell.values !== undefined && cell.values[key] !== NOT_READ) || Boolean(cell.given && key in cell.given);

	// The codes of an object's values that were not read yet.
	function unread(object) {
		const cell = Marked.cellOf(object);
		if (cell === undefined) return 0;
		let left = 0;
		for (const key of BODY_KEYS) {
			const code = cell.codes[key] & cell.waiting;
			if (code !== 0 && !hasRead(cell, key) && isOurs(object, key)) left |= code;
		}
		return left;
	}

	// An object's own values, with placeholders for those with these codes.
	function shadowOf(object, left, codes) {
		const shadow = {};
		for (const key of keys(object)) put(shadow, key, (codes[key] & left) !== 0 ? BODY_PLACEHOLDER : object[key]);
		return shadow;
	}

	// A copy of an entry around the same values, read or not.
	function copyOf(entry) {
		const waiting = unread(entry);
		if (waiting === 0) return { ...entry };
		const cell = Marked.cellOf(entry);
		const { codes } = cell;
		const copied = cell.copyFor(withAccessors(shadowOf(entry, waiting, codes), codes, waiting), waiting);
		for (const symbol of getOwnPropertySymbols(entry)) {
			if (propertyIsEnumerable(entry, symbol)) put(copied.object, symbol, entry[symbol]);
		}
		cell.values ??= new Values();
		copied.values = cell.values;
		return attach(copied);
	}

	function move(part, entry, row, source) {
		const cell = typeof part === "object" && part !== null ? Marked.cellOf(part) : undefined;
		if (cell !== undefined && cell.id === entry.id) cell.moveTo(row, source);
	}

	return {
		defer,
		// The entries of a list are read from a session of their own from here on: each row's from its line there.
		moveTo(objects, source) {
			for (let row = 0; row < objects.length; row++) {
				const entry = objects[row];
				move(entry, entry, row, source);
				move(entry?.message, entry, row, source);
			}
		},
		// In a new session an entry is under the id by which its children know it, whatever became of its object.
		rechained(entry, id, parentId, isCompaction, firstKept) {
			const copy = copyOf(entry);
			if (copy.id !== id) put(copy, "id", id);
			put(copy, "parentId", parentId);
			if (isCompaction) put(copy, "firstKeptEntryId", firstKept ?? entry.firstKeptEntryId);
			return copy;
		},
		// The codes of what was not read of the entry in a row of a source, and its text with placeholders for that;
		// undefined if all was read, or if what is left to read is another entry's.
		unreadText(entry, row, source) {
			const message = typeof entry.message === "object" && entry.message !== null ? entry.message : undefined;
			const ofEntry = unread(entry);
			const ofMessage = message === undefined ? 0 : unread(message);
			if ((ofEntry | ofMessage) === 0 || typeof entry.toJSON === "function") return undefined;
			if (message !== undefined && typeof message.toJSON === "function") return undefined;
			if (ofEntry !== 0 && !Marked.cellOf(entry).isOf(row, source, entry.id)) return undefined;
			if (ofMessage !== 0 && !Marked.cellOf(message).isOf(row, source, entry.id)) return undefined;
			const shadow = shadowOf(entry, ofEntry, OF_ENTRY);
			if (ofMessage !== 0) put(shadow, "message", shadowOf(message, ofMessage, OF_MESSAGE));
			return [ofEntry | ofMessage, stringify(shadow)];
		},
		// Whether a message has no content, found without reading it.
		lacksContent(message) {
			const waiting = Marked.cellOf(message)?.waiting ?? 0;
			if ((waiting & OF_MESSAGE.content) !== 0 && isOurs(message, "content")) return false;
			return (message.content ?? null) === null;
		},
		// Makes the entries of a text, a list of lines, in their places. False, and none is made, unless they are those
		// whose `ids` these are, each followed by a line feed: lines may be a list together that are none by themselves.
		fill(objects, rows, omitted, source, text, ids) {
			const values = parse(text);
			if (values.length !== rows.length) return false;
			let read = 0;
			for (let at = 0; at < values.length; at++) {
				const id = values[at]?.id;
				if (typeof id !== "string" || !startsWith(ids, id, read) || ids[read + id.length] !== "\n") return false;
				read += id.length + 1;
			}
			for (let at = 0; at < rows.length; at++) {
				objects[rows[at]] = omitted[at] === 0 ? values[at] : defer(values[at], rows[at], omitted[at], source);
			}
			return true;
		},
	};
};
