// A process with a memory limit: calls the API on a session file. Each call has its own directory, so that it begins
// with the same file. Writes the value or the error of each call. Arguments: the session file, a directory, and the
// names of the calls.
const fs = require("node:fs");
const path = require("node:path");
const { SessionManager, loadEntriesFromFile } = require("../../../index.js");

const [original, scratch, ...names] = process.argv.slice(2);
const message = { role: "user", content: "appended", timestamp: 1 };
const groupings = { by: ["model", "day", "session", "project"], largest: 1_000_000 };
const everything = { limit: Infinity, in: ["user", "assistant", "name", "summary", "tool", "custom"] };

/** The lines after the header. */
const stored = (file) => {
	const bytes = fs.readFileSync(file);
	return bytes.subarray(bytes.indexOf(10) + 1, bytes.lastIndexOf(10) + 1);
};

/** The calls with the path of a session file. */
const OPERATIONS = {
	getLeafId: (file) => SessionManager.open(file).getLeafId(),
	getEntries: (file) => SessionManager.open(file).getEntries(),
	getTexts: (file) =>
		SessionManager.open(file)
			.getEntries()
			.map((entry) => entry.message?.content.length),
	getTree: (file) => SessionManager.open(file).getTree(),
	getBranch: (file) => SessionManager.open(file).getBranch(),
	getOutline: (file) => SessionManager.open(file).getOutline(),
	getChildren: (file) => SessionManager.open(file).getChildren("root"),
	getLabel: (file) => SessionManager.open(file).getLabel("root"),
	buildSessionContext: (file) => SessionManager.open(file).buildSessionContext(),
	getUsage: (file) => SessionManager.open(file).getUsage(groupings),
	getDiagnostics: (file) => SessionManager.open(file).getDiagnostics(),
	getSessionName: (file) => SessionManager.open(file).getSessionName(),
	loadEntriesFromFile: (file) => loadEntriesFromFile(file),
	openReadonly: (file) => SessionManager.open(file, { readonly: true }).getEntries(),
	verify: (file) => SessionManager.verify(file),
	redactDry: (file) => SessionManager.redact(file, { text: "xyzzy", dryRun: true }),
	/** A list omits a session that cannot be read, as pi's does. */
	list: async (file) => {
		const all = await SessionManager.listAll(path.dirname(file));
		if (all.length === 0) throw { code: "LEFT_OUT" };
	},
	readTexts: async (file) => SessionManager.readTexts(await SessionManager.listAll(path.dirname(file))),
	search: (file) => SessionManager.search("secret", { sessionDir: path.dirname(file), ...everything }),
	/** The hits wait until this thread receives them, which is busy while the other threads search. */
	searchBusy: (file) => {
		const text = fs.readFileSync(file, "utf8");
		for (let n = 0; n < 60; n++)
			fs.writeFileSync(path.join(path.dirname(file), `${n}.jsonl`), text.replaceAll('"id":"', `"id":"${n}-`));
		const threads = () => fs.readdirSync("/proc/self/task").length;
		const before = threads();
		const found = OPERATIONS.search(file);
		while (threads() > before);
		return found;
	},
	usage: (file) => SessionManager.usage({ sessionDir: path.dirname(file), ...groupings }),
	forkFrom: (file) => SessionManager.forkFrom(file, path.dirname(file), path.join(path.dirname(file), "forks")),
	createBranchedSession: (file) => {
		const session = SessionManager.open(file);
		return session.createBranchedSession(session.getLeafId());
	},
	append: (file) => SessionManager.open(file).appendMessage(message),
	branchWithSummary: (file) => {
		const session = SessionManager.open(file);
		return session.branchWithSummary(session.getLeafId(), "summary");
	},
	reload: (file) => {
		const session = SessionManager.open(file);
		fs.writeFileSync(`${file}.new`, fs.readFileSync(file));
		fs.renameSync(`${file}.new`, file);
		session.reload();
	},
	repair: (file) => SessionManager.repair(file),
	merge: (file) => {
		return SessionManager.merge(file, { session: "s", lines: stored(file) });
	},
	mergeOthers: (file) => {
		const lines = Buffer.from(
			stored(file).toString("latin1").replaceAll('"type":"custom"', '"type":"custox"'),
			"latin1",
		);
		return SessionManager.merge(file, { session: "s", lines });
	},
	redactText: (file) => SessionManager.redact(file, { text: "secret" }),
	redactEntries: (file) => SessionManager.redact(file, { entries: ["root"] }),
};

process.stdout.write("loaded\n");
(async () => {
	for (const name of names) {
		const file = path.join(scratch, name, "session.jsonl");
		fs.mkdirSync(path.dirname(file));
		fs.copyFileSync(original, file);
		try {
			await OPERATIONS[name](file);
			process.stdout.write(`${name} value\n`);
		} catch (error) {
			process.stdout.write(`${name} ${error.code ?? error}\n`);
		}
	}
})();
