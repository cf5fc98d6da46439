// Listed sessions, hits of a search, and the dates of both. `listedText` is the addon's function that reads a listed
// session's text.
(shared, listedText) => {
	"use strict";
	const { define, time, unbound } = shared;
	const { Array, Date, FinalizationRegistry, Map, WeakMap, WeakRef, setImmediate, setTimeout } = globalThis;
	const { max } = Math;
	const { isNaN } = Number;
	const { defineProperty } = Reflect;
	const localeCompare = unbound(String.prototype.localeCompare);
	const sort = unbound(Array.prototype.sort);
	const splice = unbound(Array.prototype.splice);
	const getDate = unbound(Date.prototype.getDate);
	const getFullYear = unbound(Date.prototype.getFullYear);
	const getMonth = unbound(Date.prototype.getMonth);
	const getTime = unbound(Date.prototype.getTime);
	const setFullYear = unbound(Date.prototype.setFullYear);
	const setHours = unbound(Date.prototype.setHours);
	const setUTCFullYear = unbound(Date.prototype.setUTCFullYear);
	const get = unbound(WeakMap.prototype.get);
	const set = unbound(WeakMap.prototype.set);

	const mapGet = unbound(Map.prototype.get);
	const mapSet = unbound(Map.prototype.set);
	const mapDelete = unbound(Map.prototype.delete);
	const mapForEach = unbound(Map.prototype.forEach);
	const deref = unbound(WeakRef.prototype.deref);
	const register = unbound(FinalizationRegistry.prototype.register);

	// Of each listed session, where its text is read, and the text once it was read.
	const texts = new WeakMap();
	// By file: the last of these whose text was asked for. A later list that found the file unchanged has the same one, so
	// that no text is read twice. It lives only as long as the sessions that have it.
	const asked = new Map();
	const isGone = (file) => mapGet(asked, file) !== undefined && deref(mapGet(asked, file)) === undefined;
	const collected = new FinalizationRegistry((file) => void (isGone(file) && mapDelete(asked, file)));
	function ask(text) {
		const known = mapGet(asked, text.file);
		if (known !== undefined && deref(known) === text) return;
		mapSet(asked, text.file, new WeakRef(text));
		register(collected, text, text.file);
	}
	// What was read of a file in this state. A text that could not be read is empty, and is tried again.
	function textOf(file, source) {
		const known = mapGet(asked, file);
		const text = known === undefined ? undefined : deref(known);
		return text?.source === source && text.value !== "" ? text : { file, source, value: undefined };
	}
	// A list settles under the fake timers of a test, too.
	const later = (callback) => void (setImmediate ? setImmediate(callback) : setTimeout(callback, 0));

	return {
		// The newest of these dates; undefined if none is a date. A value whose conversion throws is not one.
		newestTime(dates) {
			let newest;
			for (let next = 0; next < dates.length; next++) {
				let at = NaN;
				try {
					at = time(dates[next]);
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
					pairs[pairs.length] = start;
					pairs[pairs.length] = named;
				}
			}
			return pairs;
		},
		// Completes a listed session. `source` says which state of the file was listed, and is the same in lists that found
		// it unchanged. The text is read when it is asked for, and is a plain property from then on.
		info(made, file, source) {
			const settle = (object, value) => define(object, "allMessagesText", value);
			const text = textOf(file, source);
			made.created = new Date(made.created);
			made.modified = new Date(made.modified);
			defineProperty(made, "allMessagesText", {
				__proto__: null,
				get() {
					ask(text);
					text.value ??= listedText(file, source);
					settle(this, text.value);
					return text.value;
				},
				set(value) {
					settle(this, value);
				},
				enumerable: true,
				configurable: true,
			});
			set(texts, made, text);
			return made;
		},
		// The texts of these listed sessions that were not read yet; what is not a listed session has none.
		unreadTexts(infos) {
			const unread = [];
			for (let next = 0; next < infos.length; next++) {
				const text = get(texts, infos[next]);
				if (text === undefined || text.value !== undefined) continue;
				ask(text);
				unread[unread.length] = text;
			}
			return unread;
		},
		// The texts that were asked for and are still in use.
		readTexts() {
			const found = [];
			mapForEach(asked, (known) => {
				const text = deref(known);
				if (text !== undefined) found[found.length] = text;
			});
			return found;
		},
		// For invalid times (a date too far away): only the engine's own sort gives the same order.
		newestFirst: (infos) => sort(infos, (a, b) => getTime(b.modified) - getTime(a.modified)),
		// The positions of names in the order of the engine's language, the last first; of equal ones as they are.
		byName(names) {
			const order = [];
			for (let next = 0; next < names.length; next++) order[next] = next;
			return sort(order, (a, b) => localeCompare(names[b], names[a]) || a - b);
		},
		// Inserts an info into a sorted array, after those of the same time.
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
		// Calls `cancel` when the signal fires, and `end` in a later turn of the event loop. Returns the function that ends
		// that.
		listen(signal, cancel, end) {
			const onAbort = () => {
				cancel();
				later(end);
			};
			signal.addEventListener("abort", onAbort, { once: true });
			return () => signal.removeEventListener("abort", onAbort);
		},
	};
};
