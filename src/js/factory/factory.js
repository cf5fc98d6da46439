// Work that is cheaper, or only exact, in JavaScript: making many small objects, and asking the engine and its host. The addon
// compiles this once, and calls it with `scratch`, an array of numbers that the addon reads in place. It keeps no state of
// sessions and decides nothing about them: what an entry contributes, and its position in the tree, come in as numbers.
(scratch, codes) => {
	"use strict";
	// The engine's functions are taken now, so that code that replaces them later changes nothing here. Loops use indexes,
	// because an iterator is looked up at each use. The clock, the environment and the working directory are the host's, which
	// may change them.
	const world = globalThis;
	const { Array, Boolean, Date, Error, Float64Array, Map, Set, TypeError, URL, Uint8Array } = world;
	const { decodeURIComponent, queueMicrotask, setImmediate, setTimeout } = world;
	const { parse, stringify } = JSON;
	const { max, round } = Math;
	const { isNaN } = Number;
	const { apply, defineProperty: defines, ownKeys } = Reflect;
	const { defineProperty, entries, getOwnPropertyDescriptor, getOwnPropertySymbols, getPrototypeOf, hasOwn, keys } = Object;
	const { isArray } = Array;
	// A method as a function of what it is called on and its arguments.
	const { bind, call } = Function.prototype;
	const unbound = bind.bind(call);
	const propertyIsEnumerable = unbound(Object.prototype.propertyIsEnumerable);
	const indexOf = unbound(String.prototype.indexOf);
	const localeCompare = unbound(String.prototype.localeCompare);
	const substring = unbound(String.prototype.substring);
	const trim = unbound(String.prototype.trim);
	const slice = unbound(Array.prototype.slice);
	const sort = unbound(Array.prototype.sort);
	const splice = unbound(Array.prototype.splice);
	const mapSet = unbound(Map.prototype.set);
	const setAdd = unbound(Set.prototype.add);
	const setHas = unbound(Set.prototype.has);
	const getDate = unbound(Date.prototype.getDate);
	const getFullYear = unbound(Date.prototype.getFullYear);
	const getMonth = unbound(Date.prototype.getMonth);
	const getTime = unbound(Date.prototype.getTime);
	const setFullYear = unbound(Date.prototype.setFullYear);
	const setHours = unbound(Date.prototype.setHours);
	const setUTCFullYear = unbound(Date.prototype.setUTCFullYear);
	// Set by lib/register/app.mjs: the pi that this process runs, which may be a renamed build.
	const APP = Symbol.for("pi-session-native.app");
	const builtin = (name) => world.process?.getBuiltinModule?.(name);

	const { MESSAGE, MESSAGE_EMPTY_LIST, MESSAGE_EMPTY_TEXT } = codes.contribution;
	const { NOTHING, CUSTOM_MESSAGE, BRANCH_SUMMARY, COMPACTION } = codes.contribution;
	const TEXT_ALWAYS = codes.textWanted.ALWAYS;
	const TEXT_OF_CONVERSATION = codes.textWanted.OF_CONVERSATION;

	const time = (value) => getTime(new Date(value));

	// The descriptor of a plain data property, whatever setters or attributes Object.prototype was given.
	const plain = (value) => ({ __proto__: null, value, writable: true, enumerable: true, configurable: true });
	// Sets an element of the list itself, even if arrays were given a setter for its index.
	function put(list, at, value) {
		if (at in list) defineProperty(list, at, plain(value));
		else list[at] = value;
	}

	const roles = { __proto__: null };
	codes.roles.forEach((name, code) => {
		roles[name] = code;
	});
	const OTHER_ROLE = codes.roles.length;
	const { conversation } = codes;

	const customMessage = (entry, content) => ({
		role: "custom",
		customType: entry.customType,
		content,
		display: entry.display,
		details: entry.details,
		timestamp: time(entry.timestamp),
	});

	function messages(entry, gives) {
		switch (gives) {
			case MESSAGE:
				return [entry.message];
			case MESSAGE_EMPTY_LIST:
				return [{ ...entry.message, content: [] }];
			case MESSAGE_EMPTY_TEXT:
				return [{ ...entry.message, content: "" }];
			case CUSTOM_MESSAGE:
				return [customMessage(entry, entry.content ?? [])];
			case BRANCH_SUMMARY:
				return [
					{
						role: "branchSummary",
						summary: entry.summary,
						fromId: entry.fromId,
						timestamp: time(entry.timestamp),
					},
				];
			case COMPACTION: {
				const summary = {
					role: "compactionSummary",
					summary: entry.summary,
					tokensBefore: entry.tokensBefore,
					timestamp: time(entry.timestamp),
				};
				return entry.systemMessage ? [entry.systemMessage, summary] : [summary];
			}
			default:
				return [];
		}
	}

	// A copy with other content. The replaced content is not read: it may be large, or unreadable.
	function withContent(message, content) {
		const copy = {};
		const names = ownKeys(message);
		for (let at = 0; at < names.length; at++) {
			const key = names[at];
			if (!propertyIsEnumerable(message, key)) continue;
			defineProperty(copy, key, plain(key === "content" ? content : message[key]));
		}
		if (!hasOwn(copy, "content")) defineProperty(copy, "content", plain(content));
		return copy;
	}

	// The `length` of pi's class, methods, statics and functions. For methods that pi does not have: the required arguments.
	const LENGTHS = {
		SessionManager: 6,
		create: 3,
		open: 3,
		continueRecent: 2,
		forkFrom: 4,
		findById: 3,
		list: 4,
		listAll: 3,
		search: 1,
		usage: 0,
		verify: 1,
		repair: 1,
		isLocked: 1,
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
		onAppend: 1,
		branch: 1,
		branchWithSummary: 5,
		createBranchedSession: 1,
	};
	const FUNCTION_LENGTHS = {
		assertValidSessionId: 1,
		getDefaultSessionDir: 1,
		findMostRecentSession: 2,
		buildContextEntries: 3,
		buildSessionContext: 3,
		buildSessionProjection: 3,
		parseSessionEntries: 1,
		projectContextEntry: 2,
		loadEntriesFromFile: 1,
		migrateSessionEntries: 1,
		getLatestCompactionEntry: 1,
		sessionEntryToContextMessages: 1,
	};

	// Writing values. Of a plain one (own data in plain objects and lists, nothing that the engine would call) the long
	// strings are taken out and escaped by the addon: the engine takes ten times as long. Whether a value is plain is found
	// without running any code of the caller's, and none runs before it is written. So no step here may depend on what the
	// caller can change: no method of a prototype, no iterator, no element of a list that could have a setter.
	const { isProxy, isBoxedPrimitive } = builtin("node:util")?.types ?? {};
	const OBJECT = Object.prototype;
	const LIST = Array.prototype;
	const NOT_PLAIN = Symbol("not plain");
	const { standIn: STAND_IN } = codes;
	// Of a shorter string taking it out costs more than it saves.
	const LONG = 256;
	const DEEP = 32;
	// A value of many small ones costs more to look at than its long strings save: so many are looked at, and one more for
	// so many letters of a long string.
	const MANY = 64;
	const LETTERS_EACH = 32;
	// With more letters the text may be longer than a string can be, which is the engine's error to throw.
	const MOST_LETTERS = 1 << 26;
	let left;
	let letters;
	// How often values and long texts crossed, and how often the engine's JSON alone was used for one. Tests read this.
	const crossings = { written: 0, writtenByEngine: 0, parsed: 0, parsedByEngine: 0 };

	// What is different in the copies that are being made: position, other value, and so on.
	let changes;
	let changed;

	// The value with stand-ins for its long strings, which are put into `texts`; itself if it has none.
	function withoutTexts(value, texts, depth) {
		if (typeof value === "string") {
			if (value.length < LONG) return value === STAND_IN ? NOT_PLAIN : value;
			texts[texts.length++] = value;
			left += value.length / LETTERS_EACH;
			letters += value.length;
			return letters > MOST_LETTERS ? NOT_PLAIN : STAND_IN;
		}
		if (typeof value === "function" || typeof value === "bigint") return NOT_PLAIN;
		if (typeof value !== "object" || value === null) return value;
		if (depth === 0 || isProxy(value)) return NOT_PLAIN;
		const isList = isArray(value);
		if (getPrototypeOf(value) !== (isList ? LIST : OBJECT) || "toJSON" in value) return NOT_PLAIN;
		if (!isList && isBoxedPrimitive(value)) return NOT_PLAIN;
		const names = isList ? undefined : keys(value);
		const { length } = names ?? value;
		left -= length;
		if (left < 0) return NOT_PLAIN;
		// Copying reads all, so all is looked at before.
		const first = changed;
		for (let at = 0; at < length; at++) {
			const key = isList ? at : names[at];
			const property = getOwnPropertyDescriptor(value, key);
			if (property === undefined || property.get !== undefined || key === STAND_IN) return NOT_PLAIN;
			const is = withoutTexts(property.value, texts, depth - 1);
			if (is === property.value) continue;
			if (is === NOT_PLAIN) return NOT_PLAIN;
			changes[changed++] = at;
			changes[changed++] = is;
		}
		if (changed === first) return value;
		const last = changed;
		changed = first;
		if (!isList) {
			// The copy would call getters of symbols, which V8 does not look at.
			if (getOwnPropertySymbols(value).length > 0) return NOT_PLAIN;
			const copy = { ...value };
			for (let next = first; next < last; next += 2) copy[names[changes[next]]] = changes[next + 1];
			return copy;
		}
		const copy = [];
		for (let at = 0, next = first; at < length; at++) {
			// An index may have been given a setter for all lists.
			if (at in copy) return NOT_PLAIN;
			const isOther = next < last && changes[next] === at;
			copy[at] = isOther ? changes[next + 1] : value[at];
			if (isOther) next += 2;
		}
		return copy;
	}

	// Whether a value can be found plain: what the engine would look up in a prototype is in none.
	const canTell = () =>
		isProxy !== undefined && getPrototypeOf(LIST) === OBJECT && !("get" in OBJECT) && !("value" in OBJECT);

	// The JSON text of a value, or a list-like object of the text with stand-ins and the strings that they stand for.
	function write(value) {
		crossings.written++;
		const texts = { __proto__: null, length: 1 };
		left = MANY;
		letters = 0;
		changes = { __proto__: null };
		changed = 0;
		const shadow = canTell() ? withoutTexts(value, texts, DEEP) : NOT_PLAIN;
		changes = undefined;
		if (shadow === NOT_PLAIN) crossings.writtenByEngine++;
		if (shadow === NOT_PLAIN || texts.length === 1) return stringify(value);
		texts[0] = stringify(shadow);
		return texts;
	}

	// Puts long strings back into a value that was parsed without them: behind each stand-in is the number of its string,
	// counted from `first`.
	function putBack(value, texts, first) {
		if (typeof value === "string") {
			return value.length > 1 && value[0] === STAND_IN ? texts[first + +substring(value, 1)] : value;
		}
		if (typeof value !== "object" || value === null) return value;
		const names = isArray(value) ? undefined : keys(value);
		const { length } = names ?? value;
		for (let at = 0; at < length; at++) {
			const key = names === undefined ? at : names[at];
			const was = value[key];
			const is = putBack(was, texts, first);
			if (is !== was) value[key] = is;
		}
		return value;
	}

	const SELF = Symbol("pi-session-native.manager");

	// What a manager holds, by the manager: it is collected with it.
	const anchors = new WeakMap();
	const has = unbound(WeakMap.prototype.has);
	const set = unbound(WeakMap.prototype.set);

	// A new list of listeners without one of them, or with another at the end. A list that is being iterated does not change.
	function listenersWith(list, added, removed) {
		const all = { __proto__: null, length: 0 };
		for (let at = 0; at < (list?.length ?? 0); at++) if (list[at] !== removed) all[all.length++] = list[at];
		if (added !== undefined) all[all.length++] = added;
		return all;
	}

	/** The addon's own function that fetches a listed session's text. */
	let listedText;
	// A list settles under the fake timers of a test, too.
	const later = (callback) => void (setImmediate ? setImmediate(callback) : setTimeout(callback, 0));

	return {
		parse(text) {
			if (text.length >= 2 * LONG) crossings.parsedByEngine++;
			return parse(text);
		},
		// The value of a text that these long strings were taken out of.
		parseApart(text, texts) {
			crossings.parsed++;
			return putBack(parse(text), texts, 0);
		},
		// The same for the elements of a list; `starts` has the place of each one's first string.
		parseAllApart(text, texts, starts) {
			const values = parse(text);
			crossings.parsed += values.length;
			for (let at = 0; at < values.length; at++) values[at] = putBack(values[at], texts, starts[at]);
			return values;
		},
		write,
		messages,
		customMessage,
		withContent,

		anchor(manager) {
			const anchor = { entries: undefined, header: undefined, listeners: undefined };
			set(anchors, manager, anchor);
			defineProperty(manager, SELF, { __proto__: null, value: manager });
			return anchor;
		},
		// Adds a listener to a manager. Returns the function that removes it.
		subscribe(anchor, listener) {
			const added = { listener };
			anchor.listeners = listenersWith(anchor.listeners, added);
			return () => {
				anchor.listeners = listenersWith(anchor.listeners, undefined, added);
			};
		},
		// The entry is in the session by now, so an exception of a listener does not fail the append.
		notify(anchor, entry) {
			const { listeners } = anchor;
			for (let at = 0; at < (listeners?.length ?? 0); at++) {
				const { listener } = listeners[at];
				try {
					listener(entry);
				} catch (error) {
					queueMicrotask(() => {
						throw error;
					});
				}
			}
		},
		// Gives the class what napi-rs does not: statics with a name that are not constructors, attributes, lengths, and methods that
		// work on a Proxy of a manager or an object that inherits from one, as tests and hosts call them. The engine runs a
		// native method only on its own instance; each finds the manager through a property of it. On anything else they
		// throw: of a wrong `this` V8 makes a TypeError, but Bun and Deno a plain Error.
		finishClass(SessionManager, functions) {
			const { prototype } = SessionManager;
			const wrap = (holder, name, method) => {
				const value = method(holder[name]);
				Object.defineProperty(value, "length", { value: LENGTHS[name] ?? 0, configurable: true });
				Object.defineProperty(holder, name, { value, writable: true, enumerable: false, configurable: true });
			};
			const isMethod = (holder, name) =>
				name !== "constructor" && typeof Object.getOwnPropertyDescriptor(holder, name).value === "function";
			for (const name of Object.getOwnPropertyNames(prototype).filter((name) => isMethod(prototype, name))) {
				wrap(prototype, name, (native) => ({
					[name](...args) {
						const manager = this?.[SELF];
						if (!has(anchors, manager)) throw new TypeError("Illegal invocation");
						return apply(native, manager, args);
					},
				})[name]);
			}
			for (const name of Object.getOwnPropertyNames(SessionManager).filter((name) => isMethod(SessionManager, name))) {
				wrap(SessionManager, name, (native) => ({
					[name](...args) {
						return apply(native, SessionManager, args);
					},
				})[name]);
			}
			Object.defineProperty(SessionManager, "length", { value: LENGTHS.SessionManager, configurable: true });
			Object.defineProperty(functions, Symbol.for("pi-session-native.crossings"), { value: crossings });
			for (const name of Object.keys(functions)) {
				const value = functions[name];
				if (typeof value !== "function" || value === SessionManager) continue;
				Object.defineProperty(value, "length", { value: FUNCTION_LENGTHS[name] ?? 0, configurable: true });
			}
		},
		// A list that is not a plain array: a Proxy of one is read as one.
		listOf(value) {
			if (!isArray(value)) return undefined;
			const list = [];
			for (let at = 0; at < value.length; at++) put(list, at, value[at]);
			return list;
		},

		now: () => world.Date.now(),
		cwd: () => world.process.cwd(),
		env: (name) => world.process?.env?.[name],
		home: () => builtin("node:os")?.homedir(),
		fileUrl(url) {
			const convert = builtin("node:url")?.fileURLToPath;
			return convert ? convert(url) : decodeURIComponent(new URL(url).pathname);
		},
		agentDir: () => world[APP]?.getAgentDir(),
		appName: () => world[APP]?.name,
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

		header: (id, timestamp, cwd, parentSession) => ({ type: "session", version: 3, id, timestamp, cwd, parentSession }),
		envelopeFirst: (type, id, parentId, timestamp, own) => ({ type, id, parentId, timestamp, ...own }),
		envelopeLast: (type, id, parentId, timestamp, own) => ({ type, ...own, id, parentId, timestamp }),
		// Everything an append needs of a message, in one call: puts its entry's own fields at the end of the list, gives
		// their text if it is wanted, and leaves in the scratch the role's code (-1 for no object), whether content is
		// missing, the time, and the place in the list.
		message(list, message, wants) {
			let role = -1;
			let content;
			if ((typeof message === "object" && message !== null) || typeof message === "function") {
				const name = message.role;
				role = (typeof name === "string" ? roles[name] : undefined) ?? OTHER_ROLE;
				({ content } = message);
			}
			const own = { message };
			const wanted = wants === TEXT_ALWAYS || (wants === TEXT_OF_CONVERSATION && conversation[role] === true);
			// The caller's code may run here, and append: everything else comes after it.
			let text;
			// Most messages with a short text have no long one elsewhere.
			if (wanted) text = typeof content === "string" && content.length < LONG ? stringify(own) : write(own);
			scratch[2] = world.Date.now();
			scratch[0] = role;
			scratch[1] = (content ?? null) === null ? 1 : 0;
			const at = list.length;
			scratch[3] = at;
			put(list, at, own);
			return text;
		},
		ownThinkingLevel: (thinkingLevel) => ({ thinkingLevel }),
		ownModel: (provider, modelId) => ({ provider, modelId }),
		ownUsage: (kind, provider, model, usage) => ({ kind, provider, model, usage }),
		ownUsageWithNote: (kind, provider, model, usage, note) => ({ kind, provider, model, usage, note }),
		ownCompaction: (summary, firstKeptEntryId, tokensBefore, details, usage, fromHook) => ({
			summary,
			firstKeptEntryId,
			tokensBefore,
			details,
			usage,
			fromHook,
		}),
		ownCompactionWithPrompt: (summary, firstKeptEntryId, tokensBefore, details, usage, fromHook, systemMessage) => ({
			summary,
			firstKeptEntryId,
			tokensBefore,
			details,
			usage,
			fromHook,
			systemMessage,
		}),
		ownCustom: (customType, data) => ({ customType, data }),
		ownName: (name) => ({ name }),
		ownCustomMessage: (customType, content, display, details) => ({ customType, content, display, details }),
		ownEdit: (targetId, replacement) => ({ targetId, replacement }),
		ownLabel: (targetId, label) => ({ targetId, label }),
		ownBranchSummary: (fromId, summary, details, usage, fromHook) => ({ fromId, summary, details, usage, fromHook }),
		textBlocks: (text) => [{ type: "text", text }],
		replacement: (content) => ({ content }),
		labelEntry: (id, parentId, timestamp, targetId, label) => ({
			type: "label",
			id,
			parentId,
			timestamp,
			targetId,
			label,
		}),
		// Each value's line; undefined for one that has none.
		lines(values) {
			const all = [];
			for (let at = 0; at < values.length; at++) put(all, at, write(values[at]));
			return all;
		},
		parseLines(text) {
			const values = [];
			const all = trim(text);
			for (let from = 0; from < all.length; ) {
				const found = indexOf(all, "\n", from);
				const to = found < 0 ? all.length : found;
				const line = substring(all, from, to);
				from = to + 1;
				if (!trim(line)) continue;
				let value;
				try {
					value = parse(line);
				} catch {
					// A line that is not JSON is passed over, as everywhere.
					continue;
				}
				put(values, values.length, value);
			}
			return values;
		},
		copy: (list) => slice(list),
		run: (list, from, to) => slice(list, from, to),
		pick(objects, rows) {
			const picked = new Array(rows.length);
			for (let at = 0; at < rows.length; at++) picked[at] = objects[rows[at]];
			return picked;
		},
		tree(objects, parents, labels, times) {
			const nodes = new Array(parents.length);
			for (let at = 0; at < parents.length; at++) {
				const label = labels[at] < 0 ? undefined : objects[labels[at]];
				nodes[at] = {
					entry: objects[at],
					children: [],
					label: label?.label,
					labelTimestamp: label?.timestamp,
				};
			}
			const roots = [];
			const newest = new Float64Array(parents.length);
			for (let at = 0; at < newest.length; at++) newest[at] = -Infinity;
			let unsorted;
			for (let at = 0; at < parents.length; at++) {
				const parent = parents[at];
				if (parent < 0) {
					roots[roots.length] = nodes[at];
					continue;
				}
				// A time that is not a number compares false: such siblings are left to the sort, too.
				if (times[at] >= newest[parent]) newest[parent] = times[at];
				else {
					unsorted ??= new Uint8Array(parents.length);
					unsorted[parent] = 1;
				}
				const { children } = nodes[parent];
				children[children.length] = nodes[at];
			}
			for (let at = 0; at < (unsorted?.length ?? 0); at++) {
				if (unsorted[at] === 0) continue;
				sort(nodes[at].children, (a, b) => time(a.entry.timestamp) - time(b.entry.timestamp));
			}
			return roots;
		},
		// `lists` are the messages of the entries at these positions, which edits have changed.
		project(objects, rows, gives, positions, lists) {
			const entries = new Array(rows.length);
			const all = [];
			let count = 0;
			let next = 0;
			for (let at = 0; at < rows.length; at++) {
				const sourceEntry = objects[rows[at]];
				const own = positions?.[next] === at ? lists[next++] : messages(sourceEntry, gives[at]);
				entries[at] = { sourceEntry, messages: own };
				for (let one = 0; one < own.length; one++) all[count++] = own[one];
			}
			return { entries, messages: all };
		},
		context(objects, rows, gives, positions, lists) {
			const all = [];
			let count = 0;
			let next = 0;
			for (let at = 0; at < rows.length; at++) {
				if (gives[at] === NOTHING) continue;
				const entry = objects[rows[at]];
				if (gives[at] === MESSAGE && positions?.[next] !== at) {
					all[count++] = entry.message;
					continue;
				}
				const own = positions?.[next] === at ? lists[next++] : messages(entry, gives[at]);
				for (let one = 0; one < own.length; one++) all[count++] = own[one];
			}
			return all;
		},
		withSettings: (projection, thinkingLevel, model) => ({ ...projection, thinkingLevel, model }),
		justMessages: (messages, thinkingLevel, model) => ({ messages, thinkingLevel, model }),
		modelOf: (entry, fromMessage) =>
			fromMessage
				? { provider: entry.message.provider, modelId: entry.message.model }
				: { provider: entry.provider, modelId: entry.modelId },

		// The newest of these dates; undefined if none is a date. A value whose conversion throws is not one.
		newestTime(odd) {
			let newest;
			for (let next = 0; next < odd.length; next++) {
				let at = NaN;
				try {
					at = time(odd[next]);
				} catch {}
				if (!isNaN(at)) newest = max(newest ?? at, at);
			}
			return newest;
		},
		// The starts of the local days that overlap these UTC days, each with its date as UTC midnight.
		localDays(utcDays) {
			const pairs = [];
			const midnight = (year, month, date) => {
				const at = new Date(0);
				setFullYear(at, year, month, date);
				return setHours(at, 0, 0, 0, 0);
			};
			for (let at = 0; at < utcDays.length; at++) {
				const first = new Date(utcDays[at] * 86_400_000);
				const year = getFullYear(first);
				const month = getMonth(first);
				const date = getDate(first);
				// A UTC day overlaps two local days, or three where the local clock skips most of one.
				for (let next = 0; next < 3; next++) {
					const start = midnight(year, month, date + next);
					const shown = new Date(start);
					const named = setUTCFullYear(new Date(0), getFullYear(shown), getMonth(shown), getDate(shown));
					if (isNaN(named)) continue;
					put(pairs, pairs.length, start);
					put(pairs, pairs.length, named);
				}
			}
			return pairs;
		},
		// `source` says which state of the file was listed, `catalog` where its text may be; the text is fetched when it
		// is asked for, and is a plain property from then on. Leaves in the scratch when it was modified.
		info(path, id, cwd, name, parent, headerTime, active, fileTime, counts, first, file, source, catalog) {
			const created = new Date(headerTime);
			const fromHeader = typeof headerTime === "string" ? getTime(created) : NaN;
			let modified = new Date(round(fileTime));
			if (active > 0) modified = new Date(active);
			else if (!isNaN(fromHeader)) modified = new Date(fromHeader);
			scratch[0] = getTime(modified);
			const settle = (object, value) => defines(object, "allMessagesText", plain(value));
			let text;
			return {
				path,
				id,
				cwd,
				name,
				parentSessionPath: parent,
				created,
				modified,
				messageCount: counts,
				firstMessage: first,
				get allMessagesText() {
					if (text === undefined) {
						text = listedText(file, source, catalog);
						settle(this, text);
					}
					return text;
				},
				set allMessagesText(value) {
					settle(this, value);
				},
			};
		},
		// The infos at these positions of a list that has holes.
		inOrder(infos, rows) {
			const list = [];
			for (let at = 0; at < rows.length; at++) put(list, at, infos[rows[at]]);
			return list;
		},
		hit: (path, id, name, cwd, entryId, role, timestamp, snippet) => ({
			path,
			id,
			name,
			cwd,
			entryId,
			role,
			timestamp,
			snippet,
		}),
		// For invalid times (a date too far away): only the engine's own sort gives the same order. Holes, where a file was not a
		// session, are left out.
		newestFirst(infos) {
			const list = [];
			for (let at = 0; at < infos.length; at++) if (hasOwn(infos, at)) put(list, list.length, infos[at]);
			return sort(list, (a, b) => getTime(b.modified) - getTime(a.modified));
		},
		// Positions of files, the newest first, those of one time by name, the last first.
		sortFiles: (order, times, names) =>
			sort(order, (a, b) => times[b] - times[a] || localeCompare(names[b], names[a]) || a - b),
		// Inserts an info into a sorted list, after those of the same time.
		insertNewest(infos, info) {
			const at = getTime(info.modified);
			let from = 0;
			let to = infos.length;
			while (from < to) {
				const middle = (from + to) >> 1;
				if (getTime(infos[middle].modified) >= at) from = middle + 1;
				else to = middle;
			}
			splice(infos, from, 0, info);
		},
		// Returns a function that calls `slice` in later turns of the event loop until it returns false.
		slices(slice) {
			const run = () => {
				if (slice()) later(run);
			};
			return () => later(run);
		},
		useText(read) {
			listedText = read;
		},
		failure: (message) => new Error(message),
		listen(signal, callback) {
			signal.addEventListener("abort", callback, { once: true });
			return () => signal.removeEventListener("abort", callback);
		},
	};
};
