// Results of a manager: the tree of a session, its outline, and the context for a model.

/**
 * An entry in the tree of the session.
 *
 * @example
 * ```ts
 * const depth = (node: SessionTreeNode): number => 1 + Math.max(0, ...node.children.map(depth));
 * console.log(manager.getTree().map(depth)); // → [ 2 ]
 * ```
 */
export interface SessionTreeNode {
	entry: SessionEntry;
	/** Oldest first. */
	children: SessionTreeNode[];
	/** The newest label; absent if there is none, or it was cleared. */
	label?: string;
	/** The time when the label was set, ISO 8601. */
	labelTimestamp?: string;
}

/**
 * A session's tree without the contents of its entries.
 *
 * @example
 * ```ts
 * const { tree, branch }: SessionOutline = manager.getOutline();
 * console.log(tree.length, branch.length); // → 1 2
 * ```
 */
export interface SessionOutline {
	tree: OutlineNode[];
	/** The ids of the path from the root to the leaf. */
	branch: string[];
}

/**
 * An entry in the outline of the session.
 *
 * @example
 * ```ts
 * const roles = (node: OutlineNode): unknown[] => [node.entry.message?.role, ...node.children.flatMap(roles)];
 * console.log(manager.getOutline().tree.flatMap(roles)); // → [ 'user', 'assistant' ]
 * ```
 */
export interface OutlineNode {
	/**
	 * An ISO `timestamp` is converted to UTC with milliseconds, because the index contains only the moment. Any other
	 * `timestamp` is unchanged.
	 */
	entry: { type: string; id: string; timestamp?: string; message?: { role: string } };
	/** Oldest first. */
	children: OutlineNode[];
	/** The newest label; absent if there is none, or it was cleared. */
	label?: string;
	/** The time when the label was set, ISO 8601. */
	labelTimestamp?: string;
}

/**
 * One entry of the context and its messages.
 *
 * @example
 * ```ts
 * const isSilent = (one: ProjectedSessionEntry): boolean => one.messages.length === 0;
 * const silent = manager.buildSessionProjection().entries.filter(isSilent);
 * ```
 */
export interface ProjectedSessionEntry {
	/** The entry in the session. */
	sourceEntry: SessionEntry;
	/** Empty for entries without messages, and for entries that an edit removed. */
	messages: AgentMessage[];
}

/**
 * The context, with the entry of each message.
 *
 * @example
 * ```ts
 * const projection: SessionProjection = buildSessionProjection(entries);
 * ```
 */
export interface SessionProjection {
	entries: ProjectedSessionEntry[];
	/** The messages of all entries; the same objects. */
	messages: AgentMessage[];
	/** The newest level on the path; `off` if there is none. */
	thinkingLevel: string;
	/** The newest model on the path, from a change of the model or an answer; null if there is none. */
	model: { provider: string; modelId: string } | null;
}

/**
 * The context of the model.
 *
 * @example
 * ```ts
 * const context: SessionContext = buildSessionContext(entries);
 * console.log(context.thinkingLevel); // → off
 * ```
 */
export interface SessionContext {
	/** In order; summaries replace compacted messages. */
	messages: AgentMessage[];
	/** The newest level on the path; `off` if there is none. */
	thinkingLevel: string;
	/** The newest model on the path, from a change of the model or an answer; null if there is none. */
	model: { provider: string; modelId: string } | null;
}

/**
 * The methods of a manager that read, as extensions get it.
 *
 * @example
 * ```ts
 * const count = (session: ReadonlySessionManager): number => session.getEntries().length;
 * console.log(count(manager)); // → 2
 * ```
 */
export type ReadonlySessionManager = Pick<
	SessionManager,
	| "getCwd"
	| "getSessionDir"
	| "getSessionId"
	| "getSessionFile"
	| "getLeafId"
	| "getLeafEntry"
	| "getEntry"
	| "getLabel"
	| "getBranch"
	| "buildContextEntries"
	| "buildSessionProjection"
	| "getHeader"
	| "getEntries"
	| "getTree"
	| "getSessionName"
>;
