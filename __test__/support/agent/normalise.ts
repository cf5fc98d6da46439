// Two runs of one scenario differ in ids, clocks, temporary paths and ports. Each of these is replaced by a name in the
// order of first use. So if two texts of one run refer to the same thing, the texts of the other run must do so, too.
import { createHash } from "node:crypto";

// No \b before an id, because in a file name an underscore precedes it.
const SESSION_ID =
	/(?<![0-9A-Za-z])[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}(?![0-9A-Za-z])/g;
const ENTRY_ID = /(?<![0-9A-Za-z])[0-9a-f]{8}(?![0-9A-Za-z])/g;
const CLOCKS: [RegExp, string][] = [
	[/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "<iso>"],
	[/\b\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z/g, "<file time>"],
	[/\b\d{4}-\d\d-\d\d\b/g, "<date>"],
	[/\b1[6-9]\d{11}\b/g, "<ms>"],
	[/(\bdurationMs\\*":)\d+/g, "$1<ms>"],
	[/(\bwall_time_seconds\\*":)[\d.]+/g, "$1<s>"],
];

const encoded = (path: string) => path.replace(/^[/\\]/, "").replace(/[/\\:]/g, "-");

export class Normaliser {
	readonly #names = new Map<string, string>();
	readonly #root: string;

	constructor(root: string) {
		this.#root = root;
	}

	text(text: string): string {
		let result = text.replaceAll(this.#root, "<root>").replaceAll(encoded(this.#root), "<encoded root>");
		result = result.replace(/127\.0\.0\.1:\d+/g, "127.0.0.1:<port>");
		for (const [pattern, name] of CLOCKS) result = result.replace(pattern, name);
		result = result.replace(SESSION_ID, (id) => this.#name(id, "uuid"));
		return result.replace(ENTRY_ID, (id) => this.#name(id, "id"));
	}

	/** An exported page: its session in full, and a digest of pi's template around it. */
	html(html: string): string {
		const found = /(<script id="session-data"[^>]*>)([^<]*)(<\/script>)/.exec(html);
		if (!found) throw new Error("the exported page holds no session");
		const data = Buffer.from(found[2], "base64").toString("utf8");
		const page = createHash("sha256")
			.update(this.text(html.replace(found[2], "")))
			.digest("hex");
		return `${this.text(data)}\npage ${page}`;
	}

	#name(id: string, kind: string): string {
		const known = this.#names.get(id);
		if (known !== undefined) return known;
		const name = `<${kind} ${this.#names.size + 1}>`;
		this.#names.set(id, name);
		return name;
	}
}
