// Objects, texts, dates and order of listed sessions, and the turns of the event loop in which promises of the addon
// are settled. `listedText` is the addon's function that reads the text of a listed session.
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

	// For each listed session: the file and state from which its text is read, and the text after the first read.
	const texts = new WeakMap();
	// Maps a file to the text that was requested last, so that a later list of the unchanged file does not read it again.
	// A text is collected together with the last listed session that uses it.
	const requested = new Map();
	const isGone = (file) => mapGet(requested, file) !== undefined && deref(mapGet(requested, file)) === undefined;
	const collected = new FinalizationRegistry((file) => void (isGone(file) && mapDelete(requested, file)));
	function request(text) {
		const known = mapGet(requested, text.file);
		if (known !== undefined && deref(known) === text) return;
		mapSet(requested, text.file, new WeakRef(text));
		register(collected, text, text.file);
	}
	// Returns the text of a file in this state: the requested one, or a new one that is not read yet. An empty text is
	// read again, because it is also the result of a failed read.
	function textOf(file, source) {
		const known = mapGet(requested, file);
		const text = known === undefined ? undefined : deref(known);
		return text?.source === source && text.value !== "" ? text : { file, source, value: undefined };
	}
	// We schedule by setImmediate, so that a list also settles under a test's fake timers.
	const later = (callback) => void (setImmediate ? setImmediate(callback) : setTimeout(callback, 0));

	return {
		// Returns the newest date in ms since 1970, or undefined if no value is a date. A value whose conversion throws is
		// not a date.
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
		// Returns each local day that overlaps a UTC day: `start` is the time at which it begins, `named` is UTC midnight
		// of the same date. UTC days are counted from 1970.
		localDays(utcDays) {
			const days = [];
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
				// A UTC day overlaps two local days, or three if the local clock skips most of a day.
				for (let next = 0; next < 3; next++) {
					const start = midnight(year, month, date + next);
					const shown = new Date(start);
					const named = setUTCFullYear(new Date(0), getFullYear(shown), getMonth(shown), getDate(shown));
					if (isNaN(named)) continue;
					days[days.length] = { start, named };
				}
			}
			return days;
		},
		// Completes the object of a listed session. `source` describes the listed state of the file: two lists have the
		// same `source` if the file did not change between them. The first read of `allMessagesText` reads the text, and
		// makes the property plain data.
		info(made, file, source) {
			const settle = (object, value) => define(object, "allMessagesText", value);
			const text = textOf(file, source);
			made.created = new Date(made.created);
			made.modified = new Date(made.modified);
			defineProperty(made, "allMessagesText", {
				__proto__: null,
				get() {
					request(text);
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
		// Returns the texts of these listed sessions that were not read yet. Other values are ignored.
		unreadTexts(infos) {
			const unread = [];
			for (let next = 0; next < infos.length; next++) {
				const text = get(texts, infos[next]);
				if (text === undefined || text.value !== undefined) continue;
				request(text);
				unread[unread.length] = text;
			}
			return unread;
		},
		// Returns the requested texts that listed sessions still use.
		requestedTexts() {
			const found = [];
			mapForEach(requested, (known) => {
				const text = deref(known);
				if (text !== undefined) found[found.length] = text;
			});
			return found;
		},
		// Sorts lists with invalid times (dates too far away). Their order depends on the engine's sort, so we call it.
		newestFirst: (infos) => sort(infos, (a, b) => getTime(b.modified) - getTime(a.modified)),
		// Returns the positions of the names, sorted by `localeCompare` in descending order. Equal names keep their order.
		byName(names) {
			const order = [];
			for (let next = 0; next < names.length; next++) order[next] = next;
			return sort(order, (a, b) => localeCompare(names[b], names[a]) || a - b);
		},
		// Inserts a listed session into a sorted array, after the sessions with the same time.
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
		// Calls `cancel` when the signal fires, and `end` in a later turn of the event loop. Returns the function that
		// removes the listener.
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
