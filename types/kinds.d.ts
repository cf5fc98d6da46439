// Types of the table of kinds. See scripts/declarations.mjs for where the build puts them.

/**
 * Facts about each kind of entry, each role of messages and each type of content blocks.
 *
 * @example
 * ```ts
 * const { scopes, searchRoles }: EntryKinds = entryKinds();
 * console.log(scopes.length, searchRoles.includes("toolResult")); // → 7 true
 * ```
 */
export interface EntryKinds {
	/** By the `type` of an entry. */
	entries: Record<string, KindFacts>;
	/** By the `role` of a message. */
	roles: Record<string, KindFacts>;
	/** By the `type` of a content block. A text without a scope has the scope of the content that
	 * contains it. */
	blocks: Record<string, KindFacts>;
	/** The kinds of text that a search can be limited to. */
	scopes: SearchScope[];
	/** The kinds of text that a search reads by default. */
	defaultScopes: SearchScope[];
	/** The roles of messages and the types of other entries that a search can find. */
	searchRoles: SearchRole[];
}

/**
 * Facts about one kind of entry, one role, or one type of blocks.
 *
 * @example
 * ```ts
 * const fields = ({ says }: KindFacts): string[] => says.flatMap((one) => ("field" in one ? [one.field] : []));
 * console.log(fields(entryKinds().roles.bashExecution!)); // → [ 'command', 'output' ]
 * ```
 */
export interface KindFacts {
	/** The name of the speaker that people are shown: `tool`, for example. */
	speaker: string;
	/** The fields that contain ids of other entries, besides `parentId`. */
	refersTo: string[];
	/** The texts and sentences that a reader is shown, in this order, and the texts that a search reads. */
	says: (SaidText | Sentence)[];
	/** The message that is made from an entry's fields for the model. Other kinds add their `message`, or nothing. */
	makes?: MadeMessage;
}

/**
 * Texts in a field of an entry or a message.
 *
 * @example
 * ```ts
 * const said: SaidText = { field: "replacement.content", form: "content", scope: "custom", part: "text" };
 * ```
 */
export interface SaidText {
	/** The field; a dot leads to a field of its value. */
	field: string;
	/**
	 * Where the texts are: the value itself (`text`), every string in it (`json`), its text blocks (`content`), its
	 * blocks of text, thinking and tool calls (`answer`), the calls of other tools (`calls`), an object of named texts
	 * (`sections`), or the names in a list of tools (`tools`).
	 */
	form: "text" | "json" | "content" | "answer" | "calls" | "sections" | "tools";
	/** The scope in which a search finds them; absent if no search does. */
	scope?: SearchScope;
	/** How a reader is shown them; absent if a sentence contains them. */
	part?: "text" | "call" | "output" | "note";
	/** The title of a call, an output or a list. `{field}` is replaced by the text of that field. */
	title?: string;
	/** The field that marks the part as a failure, by a truthy value. */
	failed?: string;
}

/**
 * A sentence about an entry or a message. `{field}` is replaced by the text of that field. A part in brackets is left
 * out if one of its fields is falsy.
 *
 * @example
 * ```ts
 * const label: Sentence = { sentence: "labels {targetId}", on: "label", otherwise: "removes the label" };
 * ```
 */
export interface Sentence {
	sentence: string;
	/** The field that decides whether the sentence is shown; absent if it is always shown. */
	on?: string;
	/** The values of that field with which the sentence is shown; if absent, each truthy value. */
	values?: string[];
	/** The sentence that is shown otherwise. */
	otherwise?: string;
}

/**
 * A message that is made from an entry: its role, these fields of the entry in this order, and the entry's time.
 *
 * @example
 * ```ts
 * const made: MadeMessage | undefined = entryKinds().entries.branch_summary?.makes;
 * console.log(made?.role, made?.fields); // → branchSummary [ 'summary', 'fromId' ]
 * ```
 */
export interface MadeMessage {
	role: string;
	fields: string[];
	/** Whether no message is made if `summary` is empty. */
	needsSummary: boolean;
	/** The field with a message that precedes the made one, if the entry has that field. */
	before?: string;
}
