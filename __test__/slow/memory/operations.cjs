// One process under a limit of memory: does everything with a session file, each call by itself, and writes its value or its error.
// Arguments: the session file, and the names of the calls.
const fs = require("node:fs");
const path = require("node:path");
const { SessionManager, loadEntriesFromFile } = require(path.resolve("index.js"));

const [file, ...names] = process.argv.slice(2);
const dir = path.dirname(file);
const open = () => SessionManager.open(file);
const lines = () => fs.readFileSync(file).subarray(fs.readFileSync(file).indexOf(10) + 1);
const count = (bytes) => bytes.toString("latin1").split("\n").length - 1;
const message = { role: "user", content: "appended", timestamp: 1 };
const leaf = (session) => session.getLeafId();

const OPERATIONS = {
	getLeafId: () => open().getLeafId(),
	getEntries: () => open().getEntries().length,
	getTree: () => open().getTree().length,
	getBranch: () => open().getBranch().length,
	getOutline: () => open().getOutline(),
	getChildren: () => {
		const session = open();
		return session.getChildren("root").length + session.getChildren(null).length;
	},
	getLabel: () => open().getLabel("root"),
	buildSessionContext: () => open().buildSessionContext().messages.length,
	getUsage: () => open().getUsage({ by: ["model", "day", "session", "project"] }).entries,
	getDiagnostics: () => open().getDiagnostics().totals,
	getSessionName: () => open().getSessionName(),
	loadEntriesFromFile: () => loadEntriesFromFile(file).length,
	readonly: () => SessionManager.open(file, { readonly: true }).getEntries().length,
	reload: () => {
		const session = open();
		session.getEntries();
		fs.appendFileSync(file, '{"type":"custom","id":"foreign","parentId":null}\n');
		session.reload();
		return session.getEntries().length;
	},
	append: () => open().appendMessage(message).length,
	branch: () => {
		const session = open();
		session.branch(leaf(session));
		return session.branchWithSummary(leaf(session), "summary").length;
	},
	createBranchedSession: () => {
		const session = open();
		return session.createBranchedSession(leaf(session)).length;
	},
	forkFrom: () => SessionManager.forkFrom(file, dir, path.join(dir, "forks")).getEntryCount(),
	verify: () => SessionManager.verify(file).lines,
	repair: () => SessionManager.repair(file).repairCount,
	merge: () => {
		const stored = lines();
		return SessionManager.merge(file, { session: "s", lines: stored, hosts: new Uint32Array(count(stored)) }).added;
	},
	mergeHosts: () => {
		const stored = lines();
		const twice = Buffer.concat([stored, Buffer.from(stored.toString("latin1").replaceAll('"custom"', '"custox"'), "latin1")]);
		const hosts = new Uint32Array(count(twice)).fill(1, count(stored));
		return SessionManager.merge(file, { session: "s", lines: twice, hosts }).renamed.length;
	},
	redactDry: () => SessionManager.redact(file, { text: "xyzzy", dryRun: true }).left,
	redactText: () => SessionManager.redact(file, { text: "secret" }).lines.length,
	redactEntries: () => SessionManager.redact(file, { entries: ["root"] }).lines.length,
	list: () => SessionManager.listAll(dir).then((all) => all.length > 0 || Promise.reject({ code: "LEFT_OUT" })),
	readTexts: () => SessionManager.listAll(dir).then((all) => SessionManager.readTexts(all)),
	search: () => SessionManager.search("secret", { sessionDir: dir, limit: Infinity, in: ["user", "assistant", "name", "summary", "tool", "custom"] }),
	usage: () => SessionManager.usage({ sessionDir: dir, by: ["model", "day", "session", "project"], largest: 1e6 }),
};

process.stdout.write("loaded\n");
(async () => {
	for (const name of names.length > 0 ? names : Object.keys(OPERATIONS)) {
		const before = fs.readFileSync(file);
		try {
			await OPERATIONS[name]();
			process.stdout.write(`${name} value\n`);
		} catch (error) {
			process.stdout.write(`${name} ${error.code ?? error}\n`);
		}
	}
})();
module.exports = { OPERATIONS };
