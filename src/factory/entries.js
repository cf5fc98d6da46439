// Entry objects, and what is made of them: messages, projections and trees. Making many small objects is cheaper here
// than through Node-API. The addon calls these functions with `scratch`, an array of numbers that it reads in place.
// They keep no state of sessions. Rust decides the kind of the message that an entry contributes, and its position in
// the tree, and passes both as numbers. The shape of the message is that of the table of kinds.
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

	// `objects` has the entries of labels; `unordered` are the rows whose children are to be sorted by their times.
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

	// By code of a kind of entry: how its message is built. The template has the message's keys: values that replace those
	// of a copy run no setter of Object.prototype.
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

	function messages(entry, gives) {
		switch (gives) {
			case NOTHING:
				return [];
			case MESSAGE:
				return [entry.message];
			case MESSAGE_EMPTY_LIST:
				return [{ ...entry.message, content: [] }];
			case MESSAGE_EMPTY_TEXT:
				return [{ ...entry.message, content: "" }];
			default: {
				const maker = makers[gives];
				const message = made(entry, maker, maker.hasContent ? (entry.content ?? []) : undefined);
				const before = maker.before === undefined ? undefined : entry[maker.before];
				return before ? [before, message] : [message];
			}
		}
	}

	// A copy with other content. The replaced content is not read: it may be large, or unreadable.
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
		// The message that an entry makes, with other content.
		editedMessage: (entry, gives, content) => made(entry, makers[gives], content),
		withContent,

		messageEntry: (type, id, parentId, timestamp, message) => ({ type, id, parentId, timestamp, message }),
		envelopeFirst: (type, id, parentId, timestamp, own) => ({ type, id, parentId, timestamp, ...own }),
		envelopeLast: (type, id, parentId, timestamp, own) => ({ type, ...own, id, parentId, timestamp }),
		// Everything an append needs of a message, in one call: gives the text of its entry's own fields if it is needed,
		// and leaves in the scratch the role's code (-1 for no object), whether content is missing, and the time.
		message(message, need) {
			let role = -1;
			let content;
			if ((typeof message === "object" && message !== null) || typeof message === "function") {
				const name = message.role;
				role = (typeof name === "string" ? roles[name] : undefined) ?? OTHER_ROLE;
				({ content } = message);
			}
			// The caller's code may run here, and append: everything else comes after it.
			let text;
			if (need === TEXT_ALWAYS || (need === TEXT_OF_CONVERSATION && conversation[role] === true)) {
				// Most messages with a short text have no long one elsewhere.
				text = typeof content === "string" && content.length < LONG ? stringify({ message }) : write({ message });
			}
			scratch[0] = role;
			scratch[1] = (content ?? null) === null ? 1 : 0;
			scratch[2] = world.Date.now();
			return text;
		},
		tree: (objects, parents, labels, unordered) => tree(objects, objects, parents, labels, unordered),
		// `entries` is a list of what is known of entries without reading them; for others it has null.
		outline(objects, entries, rows, parents, labels, unordered) {
			for (let at = 0; at < entries.length; at++) entries[at] ??= objects[at];
			const branch = new Array(rows.length);
			for (let at = 0; at < rows.length; at++) branch[at] = entries[rows[at]].id;
			return { tree: tree(entries, objects, parents, labels, unordered), branch };
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
	};
};
