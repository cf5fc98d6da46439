// The differences between two correct runs: random ids, and each side's temporary folder. Ids become tokens in the
// order in which a case first reads them, folders become `<root>`. A token contains the number of the step that created
// the id. So it stays the same if other steps are removed when a failing case is shortened.

const GENERATED_ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{8}/g;
const ENTIRELY_GENERATED = new RegExp(`^(?:${GENERATED_ID.source})$`);
const TOKEN = /⟦[0-9.]+⟧/g;

/**
 * The type that the reference gets in place of a message entry without a message object, on which it would fail: see
 * hostile.ts.
 */
export const STAND_IN_TYPE = "message!";

/**
 * The id of the session line that the reference gets in place of a line of version 1 that is not an entry: see
 * hostile.ts.
 */
export const NON_ENTRY_ID = "not-an-entry";

export class Names {
	private readonly tokens = new Map<string, string>();
	private readonly actual = new Map<string, string>();
	private readonly encodedRoot: string;
	private step = 0;
	private count = 0;

	constructor(private readonly root: string) {
		// Its form inside the name of a default session folder.
		this.encodedRoot = root.slice(1).replace(/[/\\:]/g, "-");
	}

	startStep(step: number): void {
		this.step = step;
		this.count = 0;
	}

	/** Assigns a token to each generated id in `text` that has none. */
	register(text: unknown): void {
		if (typeof text !== "string") return;
		for (const [id] of this.withoutRoot(text).matchAll(GENERATED_ID)) {
			if (this.tokens.has(id)) continue;
			const token = `⟦${this.step}.${this.count++}⟧`;
			this.tokens.set(id, token);
			this.actual.set(token, id);
		}
	}

	knows(id: unknown): boolean {
		return typeof id === "string" && (this.tokens.has(id) || !ENTIRELY_GENERATED.test(id));
	}

	/** The text with tokens in place of ids and folders. */
	normalise(text: string): string {
		if (text.length < 8) return text;
		if (text === STAND_IN_TYPE) return "message";
		return this.withoutRoot(text).replace(GENERATED_ID, (id) => this.tokens.get(id) ?? id);
	}

	private withoutRoot(text: string): string {
		let result = text;
		if (result.includes(this.root)) result = result.replaceAll(this.root, "<root>");
		if (result.includes(this.encodedRoot)) result = result.replaceAll(this.encodedRoot, "<root>");
		return result;
	}

	/** The reverse: the value of a normalised text (an id or a path) on this side. */
	resolve(text: string): string {
		return text
			.replace(/--<root>/g, `--${this.encodedRoot}`)
			.replace(/<root>/g, this.root)
			.replace(TOKEN, (token) => this.actual.get(token) ?? unknownId(token));
	}
}

/**
 * If a shortened case lacks the step of a token: an id that does not exist, a different one for each token.
 */
function unknownId(token: string): string {
	const [step = 0, count = 0] = token.slice(1, -1).split(".").map(Number);
	return (0xbad00000 + step * 0x400 + count).toString(16);
}
