// Entry objects, and what is made of them: messages, projections and trees. Making many small objects is cheaper here than
// through Node-API. The addon calls these functions with `scratch`, an array of numbers that it reads in place. They keep no
// state of sessions and decide nothing about them: what an entry contributes, and its position in the tree, come in as numbers.
(shared, codes, scratch, values) => {
	"use strict";
	const { plain, put, time, unbound } = shared;
	const { LONG, write } = values;
	const world = globalThis;
	const { Array, Float64Array, Uint8Array } = world;
	const { parse, stringify } = JSON;
	const { ownKeys } = Reflect;
	const { defineProperty, hasOwn } = Object;
	const propertyIsEnumerable = unbound(Object.prototype.propertyIsEnumerable);
	const sort = unbound(Array.prototype.sort);

	const { MESSAGE, MESSAGE_EMPTY_LIST, MESSAGE_EMPTY_TEXT } = codes.contribution;
	const { NOTHING, CUSTOM_MESSAGE, BRANCH_SUMMARY, COMPACTION } = codes.contribution;
	const TEXT_ALWAYS = codes.textNeed.ALWAYS;
	const TEXT_OF_CONVERSATION = codes.textNeed.OF_CONVERSATION;

	const roles = { __proto__: null };
	codes.roles.forEach((name, code) => {
		roles[name] = code;
	});
	const OTHER_ROLE = codes.roles.length;
	const { conversation } = codes;

	// `objects` has the entries of labels.
	function tree(entries, objects, parents, labels, times) {
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
	}

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

	return {
		messages,
		customMessage,
		withContent,

		header: (id, timestamp, cwd, parentSession) => ({ type: "session", version: 3, id, timestamp, cwd, parentSession }),
		envelopeFirst: (type, id, parentId, timestamp, own) => ({ type, id, parentId, timestamp, ...own }),
		envelopeLast: (type, id, parentId, timestamp, own) => ({ type, ...own, id, parentId, timestamp }),
		// Everything an append needs of a message, in one call: puts its entry's own fields at the end of the array, gives
		// their text if it is wanted, and leaves in the scratch the role's code (-1 for no object), whether content is
		// missing, the time, and the place in the array.
		message(array, message, wants) {
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
			const at = array.length;
			scratch[3] = at;
			put(array, at, own);
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
		tree: (objects, parents, labels, times) => tree(objects, objects, parents, labels, times),
		// `places` is a list of what is known of entries without reading them; for others it has 0.
		outline(objects, places, rows, parents, labels, times) {
			const entries = parse(places);
			for (let at = 0; at < entries.length; at++) if (entries[at] === 0) entries[at] = objects[at];
			const branch = new Array(rows.length);
			for (let at = 0; at < rows.length; at++) branch[at] = entries[rows[at]].id;
			return { tree: tree(entries, objects, parents, labels, times), branch };
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
