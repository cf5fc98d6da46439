// Creates entry objects, and from them messages, projections and trees, because creating many small objects is cheaper
// here than through Node-API. These functions keep no state of sessions. Rust decides the kind of the message that an
// entry contributes, and the entry's position in the tree, and passes both as numbers. The table of kinds decides the
// shape of the message. `scratch` is an array of numbers that the addon shares: it reads there the results of
// `message`.
(shared, codes, scratch, values) => {
	"use strict";
	const { define, time, unbound } = shared;
	const { LONG, write } = values;
	const world = globalThis;
	const { Array } = world;
	const { stringify } = JSON;
	const { ownKeys } = Reflect;
	const { hasOwn } = Object;
	const propertyIsEnumerable = unbound(Object.prototype.propertyIsEnumerable);
	const sort = unbound(Array.prototype.sort);

	const { NOTHING, MESSAGE, MESSAGE_EMPTY_LIST, MESSAGE_EMPTY_TEXT } = codes.contribution;
	const TEXT_ALWAYS = codes.textNeed.ALWAYS;
	const TEXT_OF_CONVERSATION = codes.textNeed.OF_CONVERSATION;

	const roles = { __proto__: null };
	codes.roles.forEach((name, code) => {
		roles[name] = code;
	});
	const OTHER_ROLE = codes.roles.length;
	const { conversation } = codes;

	// Creates the tree. For each entry, `parents` contains the parent's row, and `labels` the row of the label entry in
	// `objects`; a negative row means none. The children of the rows in `unordered` must be sorted by their times.
	function tree(entries, objects, parents, labels, unordered) {
		const nodes = new Array(parents.length);
		for (let at = 0; at < parents.length; at++) {
			const label = labels[at] < 0 ? undefined : objects[labels[at]];
			nodes[at] = {
				entry: entries[at],
				children: [],
				label: label?.label,
				labelTimestamp: label?.timestamp,
			};
		}
		const roots = [];
		for (let at = 0; at < parents.length; at++) {
			const siblings = parents[at] < 0 ? roots : nodes[parents[at]].children;
			siblings[siblings.length] = nodes[at];
		}
		for (let at = 0; at < unordered.length; at++) {
			sort(nodes[unordered[at]].children, (a, b) => time(a.entry.timestamp) - time(b.entry.timestamp));
		}
		return roots;
	}

	// For each kind code: how its message is built. A template contains the keys, so that assigning runs no setter.
	const makers = codes.made.map((row) => {
		if (row === undefined) return undefined;
		const template = {};
		const { fields } = row;
		define(template, "role", row.role);
		for (let at = 0; at < fields.length; at++) define(template, fields[at], undefined);
		define(template, "timestamp", undefined);
		return { ...row, template, hasContent: hasOwn(template, "content") };
	});

	function made(entry, { template, fields }, content) {
		const message = { ...template };
		for (let at = 0; at < fields.length; at++) {
			const field = fields[at];
			message[field] = field === "content" ? content : entry[field];
		}
		message.timestamp = time(entry.timestamp);
		return message;
	}

	function messages(entry, contribution) {
		switch (contribution) {
			case NOTHING:
				return [];
			case MESSAGE:
				return [entry.message];
			case MESSAGE_EMPTY_LIST:
				return [{ ...entry.message, content: [] }];
			case MESSAGE_EMPTY_TEXT:
				return [{ ...entry.message, content: "" }];
			default: {
				const maker = makers[contribution];
				const message = made(entry, maker, maker.hasContent ? (entry.content ?? []) : undefined);
				const before = maker.before === undefined ? undefined : entry[maker.before];
				return before ? [before, message] : [message];
			}
		}
	}

	// Returns a copy with other content. The replaced content is not read, because it may be large or unreadable.
	function withContent(message, content) {
		const copy = {};
		for (const key of ownKeys(message)) {
			if (propertyIsEnumerable(message, key)) define(copy, key, key === "content" ? content : message[key]);
		}
		if (!hasOwn(copy, "content")) define(copy, "content", content);
		return copy;
	}

	return {
		messages,
		// Returns the message that is made from an entry, with other content.
		editedMessage: (entry, contribution, content) => made(entry, makers[contribution], content),
		withContent,

		messageEntry: (type, id, parentId, timestamp, message) => ({ type, id, parentId, timestamp, message }),
		envelopeFirst: (type, id, parentId, timestamp, own) => ({ type, id, parentId, timestamp, ...own }),
		envelopeLast: (type, id, parentId, timestamp, own) => ({ type, ...own, id, parentId, timestamp }),
		// Reads everything that an append needs of a message in one call: returns the text of the entry's own fields if it
		// is needed, and writes role code (-1 if the message is no object), content flag (1 if the content is missing) and
		// time to `scratch`.
		message(message, need) {
			let role = -1;
			let content;
			if ((typeof message === "object" && message !== null) || typeof message === "function") {
				const name = message.role;
				role = (typeof name === "string" ? roles[name] : undefined) ?? OTHER_ROLE;
				({ content } = message);
			}
			// Writing may run the caller's code, which may append. So the results are written to `scratch` after it.
			let text;
			if (need === TEXT_ALWAYS || (need === TEXT_OF_CONVERSATION && conversation[role] === true)) {
				// If the content is short, the message rarely contains a long string elsewhere.
				text = typeof content === "string" && content.length < LONG ? stringify({ message }) : write({ message });
			}
			scratch[0] = role;
			scratch[1] = (content ?? null) === null ? 1 : 0;
			scratch[2] = world.Date.now();
			return text;
		},
		tree: (objects, parents, labels, unordered) => tree(objects, objects, parents, labels, unordered),
		// For each entry, `entries` contains the fields that the index knows, or null. Null is replaced by the entry's
		// object.
		outline(objects, entries, rows, parents, labels, unordered) {
			for (let at = 0; at < entries.length; at++) entries[at] ??= objects[at];
			const branch = new Array(rows.length);
			for (let at = 0; at < rows.length; at++) branch[at] = entries[rows[at]].id;
			return { tree: tree(entries, objects, parents, labels, unordered), branch };
		},
		// Context edits have changed the entries at these positions. `lists` contains their messages.
		project(objects, rows, contributions, positions, lists) {
			const entries = new Array(rows.length);
			const all = [];
			let count = 0;
			let next = 0;
			for (let at = 0; at < rows.length; at++) {
				const sourceEntry = objects[rows[at]];
				const added = positions?.[next] === at ? lists[next++] : messages(sourceEntry, contributions[at]);
				entries[at] = { sourceEntry, messages: added };
				for (let one = 0; one < added.length; one++) all[count++] = added[one];
			}
			return { entries, messages: all };
		},
		context(objects, rows, contributions, positions, lists) {
			const all = [];
			let count = 0;
			let next = 0;
			for (let at = 0; at < rows.length; at++) {
				if (contributions[at] === NOTHING) continue;
				const entry = objects[rows[at]];
				if (contributions[at] === MESSAGE && positions?.[next] !== at) {
					all[count++] = entry.message;
					continue;
				}
				const added = positions?.[next] === at ? lists[next++] : messages(entry, contributions[at]);
				for (let one = 0; one < added.length; one++) all[count++] = added[one];
			}
			return all;
		},
		withSettings: (projection, thinkingLevel, model) => ({ ...projection, thinkingLevel, model }),
		justMessages: (messages, thinkingLevel, model) => ({ messages, thinkingLevel, model }),
		modelOf: (entry, fromMessage) =>
			fromMessage
				? { provider: entry.message.provider, modelId: entry.message.model }
				: { provider: entry.provider, modelId: entry.modelId },
	};
};
