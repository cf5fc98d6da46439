// Entries whose bodies are read on first access. Until then a body is an own, enumerable, configurable accessor under
// its key. The first access replaces the accessor with plain data.
//
// All objects share the two functions of a key's accessor, so that the engine keeps the objects in their fast shape. A
// private field of an object contains its cell, from which the accessor reads. A Proxy of the object, and an object
// that inherits from it (its heir), do not have the private field. They have the object's inspection function, which
// `util.inspect` calls to show values in place of accessors. It has the private field, too.
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
	// Replaces a body that is not read, in the shadow of an object as in a line without its bodies.
	const BODY_PLACEHOLDER = codes.bodyPlaceholder;

	// A cell contains what is needed to read the bodies of one object. It never reaches the caller.
	class Cell {
		#source;
		constructor(object, source, row, id, codes, waiting) {
			this.#source = source;
			this.object = object;
			this.row = row;
			this.id = id;
			this.codes = codes;
			// The codes of the bodies that are still accessors.
			this.waiting = waiting;
			// The bodies that were read. Copies of the object share them.
			this.values = undefined;
			// The values that were assigned to a sealed object.
			this.assigned = undefined;
			// The object's inspection function.
			this.inspect = undefined;
		}
		read(key) {
			return readBody(this.#source, this.row, this.id, this.codes[key]);
		}
		// From now on the bodies are read from another file.
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

	// Without a prototype, assigning a field of a cell runs no setter that was added to Object.prototype.
	setPrototypeOf(Cell.prototype, null);

	class ReturnsObject {
		constructor(object) {
			// A class that extends this one adds its private field to the object. We do so when the object is new, because
			// later versions of JavaScript refuse it on a frozen object.
			return object;
		}
	}
	class HasCell extends ReturnsObject {
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

	// The bodies of an object that were read.
	const NOT_READ = Symbol("not read");
	class Values {
		content = NOT_READ;
		details = NOT_READ;
		data = NOT_READ;
	}
	setPrototypeOf(Values.prototype, null);

	// Returns the cell of an object. For a Proxy or an heir it finds the cell through the inspection function, which it
	// does not call.
	function cellOf(holder) {
		const cell = HasCell.cellOf(holder);
		if (cell !== undefined) return cell;
		const inspect = holder[INSPECT];
		return typeof inspect === "function" ? HasCell.cellOf(inspect) : undefined;
	}

	function markRead(cell, key) {
		cell.waiting &= ~cell.codes[key];
		if (cell.waiting !== 0) return;
		const { object } = cell;
		const shown = getOwnPropertyDescriptor(object, INSPECT);
		if (shown?.value === cell.inspect && shown.configurable) deletes(object, INSPECT);
		HasCell.forget(object);
	}

	const isOurs = (object, key) => getOwnPropertyDescriptor(object, key)?.get === ACCESSORS[key].get;

	// Whether a property is an accessor of ours that can be replaced.
	const canReplace = (property, key) => property?.get === ACCESSORS[key].get && property.configurable;

	// Replaces an accessor with a value. Returns false if the object refuses it.
	function replaceAccessor(object, key, value) {
		const property = getOwnPropertyDescriptor(object, key);
		return property.configurable && define(object, key, value, property.enumerable);
	}

	// Returns a body, and makes it plain data if the object allows that.
	function touch(cell, key) {
		const { object } = cell;
		if (cell.assigned && key in cell.assigned) return cell.assigned[key];
		const values = (cell.values ??= new Values());
		if (values[key] === NOT_READ) values[key] = cell.read(key);
		// A frozen object keeps its accessor, which returns the same value each time.
		const property = getOwnPropertyDescriptor(object, key);
		if (canReplace(property, key)) {
			// In this order, because V8 takes four times as long if the accessor is replaced first.
			markRead(cell, key);
			define(object, key, values[key], property.enumerable);
		}
		return values[key];
	}

	// Returns a property's value. If reading it throws, returns an object that `util.inspect` shows as the error, because
	// printing an entry must not throw.
	function valueOrError(object, key) {
		try {
			return object[key];
		} catch (error) {
			return { [INSPECT]: () => `[${error}]` };
		}
	}

	// Returns the object that `util.inspect` shows: a copy with values if the object keeps accessors, otherwise itself.
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
			// The caller copied the entry's property descriptors to another object, which also gets plain data.
			if (this !== cell.object && isOurs(this, key)) replaceAccessor(this, key, value);
			return value;
		},
		// Has the effect of an assignment to plain data: it changes the receiver, which is the object, its Proxy or its
		// heir.
		set(value) {
			const cell = HasCell.cellOf(this);
			if (isOurs(this, key) ? replaceAccessor(this, key, value) : define(this, key, value)) {
				if (cell !== undefined) markRead(cell, key);
			} else if (cell !== undefined && !isFrozen(this)) {
				// A sealed object keeps its accessor, but accepts assignments.
				cell.assigned ??= { __proto__: null };
				cell.assigned[key] = value;
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

	// An assignment creates no property if Object.prototype has a setter or a constant of that name.
	function put(object, key, value) {
		if (key in prototype) define(object, key, value);
		else object[key] = value;
	}

	// Returns a copy of an object with accessors in place of its unread bodies. `waiting` contains their codes.
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

	// Connects a cell with its object, and adds the inspection function. Returns the object.
	function attach(cell) {
		const { object } = cell;
		cell.inspect = function () {
			for (const key of BODY_KEYS) {
				try {
					if (isOurs(object, key)) touch(cell, key);
					if (this !== object && isOurs(this, key)) this[key];
				} catch {
					// `shownOf` shows the error.
				}
			}
			return shownOf(this);
		};
		new HasCell(object, cell);
		new HasCell(cell.inspect, cell);
		define(object, INSPECT, cell.inspect, false);
		return object;
	}

	// Returns an entry that was parsed from a line without its bodies. Accessors replace the placeholders of the bodies.
	// `omitted` contains their codes, `row` and `source` the position from which they are read.
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
		(cell.values !== undefined && cell.values[key] !== NOT_READ) || Boolean(cell.assigned && key in cell.assigned);

	// Returns the codes of an object's unread bodies.
	function unread(object) {
		const cell = HasCell.cellOf(object);
		if (cell === undefined) return 0;
		let left = 0;
		for (const key of BODY_KEYS) {
			const code = cell.codes[key] & cell.waiting;
			if (code !== 0 && !hasRead(cell, key) && isOurs(object, key)) left |= code;
		}
		return left;
	}

	// Returns a copy of an object's own values, with placeholders for the bodies with these codes.
	function shadowOf(object, left, codes) {
		const shadow = {};
		for (const key of keys(object)) put(shadow, key, (codes[key] & left) !== 0 ? BODY_PLACEHOLDER : object[key]);
		return shadow;
	}

	// Returns a shallow copy of an entry. Bodies that are unread stay unread, and are read only once for both.
	function copyOf(entry) {
		const waiting = unread(entry);
		if (waiting === 0) return { ...entry };
		const cell = HasCell.cellOf(entry);
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
		const cell = typeof part === "object" && part !== null ? HasCell.cellOf(part) : undefined;
		if (cell !== undefined && cell.id === entry.id) cell.moveTo(row, source);
	}

	return {
		defer,
		// From now on the bodies of these entries are read from another session, where each entry is in the row of its
		// index in the list.
		moveTo(objects, source) {
			for (let row = 0; row < objects.length; row++) {
				const entry = objects[row];
				move(entry, entry, row, source);
				move(entry?.message, entry, row, source);
			}
		},
		// Returns a copy of an entry for a new session, with a new parent. In a new session an entry gets the id to which
		// its children refer, even if the caller changed its object.
		rechained(entry, id, parentId, isCompaction, firstKept) {
			const copy = copyOf(entry);
			if (copy.id !== id) put(copy, "id", id);
			put(copy, "parentId", parentId);
			if (isCompaction) put(copy, "firstKeptEntryId", firstKept ?? entry.firstKeptEntryId);
			return copy;
		},
		// Returns the codes of the unread bodies, and the text with placeholders for them. Returns undefined if there are
		// none, if they belong to another row or source, or if `toJSON` decides the text.
		unreadText(entry, row, source) {
			const message = typeof entry.message === "object" && entry.message !== null ? entry.message : undefined;
			const ofEntry = unread(entry);
			const ofMessage = message === undefined ? 0 : unread(message);
			if ((ofEntry | ofMessage) === 0 || typeof entry.toJSON === "function") return undefined;
			if (message !== undefined && typeof message.toJSON === "function") return undefined;
			if (ofEntry !== 0 && !HasCell.cellOf(entry).isOf(row, source, entry.id)) return undefined;
			if (ofMessage !== 0 && !HasCell.cellOf(message).isOf(row, source, entry.id)) return undefined;
			const shadow = shadowOf(entry, ofEntry, OF_ENTRY);
			if (ofMessage !== 0) put(shadow, "message", shadowOf(message, ofMessage, OF_MESSAGE));
			return [ofEntry | ofMessage, stringify(shadow)];
		},
		// Whether a message has no content, found without reading it.
		lacksContent(message) {
			const waiting = HasCell.cellOf(message)?.waiting ?? 0;
			if ((waiting & OF_MESSAGE.content) !== 0 && isOurs(message, "content")) return false;
			return (message.content ?? null) === null;
		},
		// Creates the entries from a list of lines. Returns false, and creates none, if an id differs from `ids`, where
		// each id is followed by a line feed. They may differ, because lines that are not JSON can together be a valid
		// list.
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
