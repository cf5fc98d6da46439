// Faults that must not come back. Each test is named after the fault.
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { loadReference } from "../../support/reference.js";
import { type EngineFlags, runtime, scriptCommand, scriptFile } from "../../support/runtime.js";
import {
	api,
	assistant,
	caught,
	entry,
	header,
	jsonLines,
	LOAD,
	linesOf,
	loose,
	message,
	opened,
	scratch,
	user,
	writeSession,
} from "../../support/scratch.js";
import { testIf, testWith } from "../../support/windows.js";

const { SessionManager } = api;

/**
 * Runs a script with our module, loaded after `before`, in another process, so that the test can see its end or its
 * memory.
 */
function inChild(
	script: string,
	{ args = [] as string[], engine = {} as EngineFlags, shell = "", before = "" } = {},
): string {
	const code = `${before}\n${LOAD}\n${script}`;
	const command = scriptCommand(scriptFile(code), args, engine);
	if (!shell) return execFileSync(command[0] as string, command.slice(1), { encoding: "utf8" });
	// Deno's caches, which its processes share, must not count.
	return execFileSync("bash", ["-c", `${shell}; exec "$@"`, "bash", ...command], {
		encoding: "utf8",
		env: { ...process.env, DENO_DIR: scratch() },
	});
}

// Regression: no memory was collected before the loop ended.
test("a synchronous loop over sessions takes bounded memory", () => {
	const file = writeSession(scratch(), [
		header(),
		...Array.from({ length: 100 }, (_, n) => message(`e${n}`, n ? `e${n - 1}` : null, user("x".repeat(10_000)))),
	]);
	const script = "for (let n = 0; n < 300; n++) SessionManager.open(process.argv[2]).getEntries(); console.log('done')";
	expect(inChild(script, { args: [file], engine: { heapMb: 100 } })).toBe("done\n");
});

// Regression: if an entry referred to its manager, the manager was never collected.
test("an entry's reference to its manager keeps none alive", () => {
	const script = `
		const made = new FinalizationRegistry(() => collected++);
		let collected = 0;
		for (let n = 0; n < 100; n++) {
			const manager = SessionManager.inMemory();
			manager.appendCustomEntry("x", { owner: manager });
			made.register(manager, n);
		}
		(async () => {
			for (let turn = 0; turn < 100 && collected < 90; turn++) {
				gc();
				await new Promise((done) => setImmediate(done));
			}
			console.log(collected >= 90);
		})();`;
	expect(inChild(script, { engine: { gc: true } })).toBe("true\n");
});

// Regression: they had none.
testWith("limits")("entries of others have objects after a failed append", () => {
	const file = writeSession(scratch(), [header(), message("a", null, user("first"))]);
	const script = `
		process.on("SIGXFSZ", () => {});
		const file = process.argv[2];
		const manager = SessionManager.open(file);
		manager.getEntries();
		require("node:fs").appendFileSync(file, JSON.stringify({ type: "custom", id: "foreign", parentId: "a" }) + "\\n");
		let [message, code] = [];
		try { manager.appendCustomEntry("x", "y".repeat(30e6)) } catch (error) { ({ message, code } = error) }
		manager.branch("foreign");
		console.log(JSON.stringify([message.includes(file), code, manager.getEntries().map((e) => e.id), manager.getEntry("foreign").id,
			manager.getChildren("a").length, manager.getTree().length, manager.buildContextEntries().length]));`;
	const seen = JSON.parse(inChild(script, { args: [file], shell: "trap '' XFSZ; ulimit -f 20000" }));
	// Regression: the limit of the size of files was ENOSPC.
	expect(seen).toEqual([true, "EFBIG", ["a", "foreign"], "foreign", 1, 1, 2]);
	expect(readFileSync(file, "utf8").endsWith("\n")).toBe(true);
	expect(linesOf(file)).toHaveLength(3);
});

// Regression: it was, where the listeners could not be called, or the entry of appendUsage not be made, any more.
test("an append that overflows the stack adds nothing", () => {
	const script = `
		process.on("uncaughtException", () => {});
		const appends = {
			message: (manager) => manager.appendMessage({ role: "user", content: "a", timestamp: 1 }),
			usage: (manager) => manager.appendUsage("tool", "p", "m", { input: 1 }),
		};
		const seen = Object.entries(appends).map(([type, append]) => {
			const manager = SessionManager.inMemory("/work");
			manager.onAppend(() => {});
			let [returned, thrown] = [0, 0];
			const dive = () => {
				try { dive(); } catch {}
				// With little stack left, and with enough.
				if (returned + thrown > 2000) return;
				try { append(manager); returned++; } catch { thrown++; }
			};
			dive();
			return [type, thrown > 0, returned > 0, manager.getEntryCount() - returned];
		});
		console.log(JSON.stringify(seen));`;
	expect(JSON.parse(inChild(script))).toEqual(["message", "usage"].map((type) => [type, true, true, 0]));
});

// Regression: it did.
test("a toJSON that starts a session tears no branch", () => {
	const { manager } = opened([message("a", null, user("one")), message("b", "a", user("two"))]);
	const entry = manager.getEntry("a") as unknown as { message: Record<string, unknown> };
	entry.message.toJSON = () => manager.newSession() && {};
	expect(caught(() => manager.createBranchedSession("b")).message).toContain("another session");
});

// Regression: it never ended.
test("a list whose signal throws when it is asked settles", async () => {
	const dir = scratch();
	writeSession(dir, [header(), message("a", null, user("x"))]);
	const controller = new AbortController();
	const reason = new Error("asked too often");
	let asked = 0;
	Object.defineProperty(controller.signal, "aborted", {
		get: () => {
			if (asked++ > 0) throw reason;
			return false;
		},
	});
	await expect(SessionManager.list("/somewhere", dir, undefined, controller.signal)).rejects.toBe(reason);
});

// Regression: it was refused.
test("a Proxy of a list is accepted as in pi", () => {
	const entries = [{ type: "compaction", id: "c", parentId: null, timestamp: "", summary: "s" }];
	const proxy = new Proxy(entries, {}) as never;
	expect(api.getLatestCompactionEntry(proxy)).toBe(entries[0]);
	expect(api.buildContextEntries(proxy)).toEqual(entries);
	const { manager } = opened([message("a", null, user("x"))]);
	loose(manager).appendContextEdit?.("a", { content: new Proxy([{ type: "text", text: "y" }], {}) });
	expect(manager.buildSessionContext().messages).toMatchObject([{ content: [{ type: "text", text: "y" }] }]);
});

// Regression: it never ended.
test("a walk through a cycle of numbers ends", () => {
	const one = { type: "custom", id: 1, parentId: 2 };
	const two = { type: "custom", id: 2, parentId: 1 };
	const path = api.buildContextEntries(
		[one, two] as never,
		1 as never,
		new Map<unknown, unknown>([
			[1, one],
			[2, two],
		]) as never,
	);
	expect(path).toEqual([two, one]);
});

// Regression: statics had no names and were constructors, and methods had no length.
test("functions have pi's names and lengths", async () => {
	const reference = (await loadReference()) as any;
	const about = (value: any, hasLength: boolean) => {
		if (typeof value !== "function") return undefined;
		let constructs = true;
		try {
			Reflect.construct(Object, [], value);
		} catch {
			constructs = false;
		}
		return `${value.name}${hasLength ? `, ${value.length}` : ""}${constructs ? ", a constructor" : ""}`;
	};
	const members = (holder: object) =>
		Object.entries(Object.getOwnPropertyDescriptors(holder)).map(([name, { value }]) => [
			name,
			about(value, "getEntries" in holder && name !== "constructor"),
		]);
	const pairs = [
		[reference, api],
		[reference.SessionManager, SessionManager],
		[reference.SessionManager.prototype, SessionManager.prototype],
	];
	for (const [theirs, ours] of pairs) {
		const found = new Map(members(ours) as [string, string][]);
		const shared = members(theirs).filter(
			([name, what]) => what && found.has(name as string) && !(name as string).startsWith("_"),
		);
		expect(shared.length).toBeGreaterThan(5);
		for (const [name, what] of shared) expect([name, found.get(name as string)]).toEqual([name, what]);
	}
});

// Regression: an object that V8 had collected was released only after the next open, which waited in vain for its lock.
testIf(runtime === "node", "other engines collect when they like")(
	"a collected manager's lock is free in the same turn",
	() => {
		const file = writeSession(scratch(), [header(), message("a", null, user("x"))]);
		const script =
			"for (let n = 0; n < 5; n++) { SessionManager.open(process.argv[2], { lock: 'exclusive' }); gc(); } console.log('done')";
		expect(inChild(script, { args: [file], engine: { gc: true } })).toBe("done\n");
	},
);

// Regression: the lookup of the header's object also searched the prototypes of the list that contains it.
test("a header on Object.prototype is not a session's", () => {
	const { file } = opened([message("a", null, user("x"))]);
	Object.defineProperty(Object.prototype, "header", { value: { id: "other" }, configurable: true });
	onTestFinished(() => void Reflect.deleteProperty(Object.prototype, "header"));
	expect(SessionManager.open(file).getHeader()?.id).not.toBe("other");
});

// Regression: it needed that file, which was closed and deleted.
test("a branch of own entries does not need the file", () => {
	const dir = scratch();
	const manager = SessionManager.create("/somewhere", dir);
	const id = manager.appendMessage(user("one"));
	manager.appendMessage(user("two"));
	// As many other managers as may be open at once, and one more.
	const others = Array.from({ length: 600 }, (_, n) => {
		const other = SessionManager.create("/somewhere", dir, { id: `other-${n}` });
		other.appendMessage(user("x"));
		return other;
	});
	rmSync(manager.getSessionFile() as string);
	const file = manager.createBranchedSession(id) as string;
	expect(jsonLines(file)).toHaveLength(2);
	expect(manager.getEntries()).toHaveLength(1);
	for (const other of others) other.close();
});

// Regression: elements of a report were set while the session was borrowed, so a setter that used it had a panic. pi
// has no reports; in its lists, trees and branches such setters run, as in ours.
test("setters for elements of lists never meet a borrowed session", () => {
	const file = writeSession(scratch(), [
		header(),
		message("a", null, user("x")),
		message("b", "a", assistant("y")),
		message("b", "nowhere", user("an orphan with a used id")),
		"not JSON",
	]);
	const script = `
		const file = process.argv[2];
		const manager = SessionManager.open(file);
		manager.getEntries();
		const calls = {
			getUsage: () => manager.getUsage(),
			getDiagnostics: () => manager.getDiagnostics(),
			verify: () => SessionManager.verify(file),
			getOutline: () => manager.getOutline(),
			getEntries: () => manager.getEntries(),
			list: () => SessionManager.list("/", require("node:path").dirname(file)),
			search: () => SessionManager.search("x", { sessionDir: require("node:path").dirname(file) }),
			usage: () => SessionManager.usage({ sessionDir: require("node:path").dirname(file) }),
		};
		// Their lists have all elements.
		const reports = ["getUsage", "getDiagnostics", "verify"];
		const wrong = [];
		let isBusy = false;
		const attempt = (name, call) => {
			try {
				return call();
			} catch (error) {
				if (/borrowed|panic|Internal/.test(error.message)) wrong[wrong.length] = name + ": " + error.message;
			}
		};
		const set = () => {
			if (isBusy) return;
			isBusy = true;
			attempt("append in a setter", () => manager.appendMessage({ role: "user", content: "z", timestamp: 1 }));
			attempt("outline in a setter", () => manager.getOutline());
			isBusy = false;
		};
		(async () => {
			for (const prototype of [Array.prototype, Object.prototype]) {
				for (const name of Object.keys(calls)) {
					Object.defineProperty(prototype, "0", { get() {}, set, configurable: true });
					const result = attempt(name, calls[name]);
					// The event loop of some runtimes uses such properties, too.
					delete prototype[0];
					const text = JSON.stringify(result);
					if (reports.includes(name) && text.includes("[null")) wrong.push(name + ": " + text);
					await result;
				}
			}
			console.log(wrong.join("\\n") + "done");
		})();`;
	expect(inChild(script, { args: [file] })).toBe("done\n");
});

// Regression: all elements were arguments of one call, which overflowed the engine's stack. Then everything was read
// again.
test("a list of 300,000 strings is read only once", () => {
	const list = Array.from({ length: 300_000 }, (_, n) => `${n}`.padEnd(130, "x"));
	const file = writeSession(scratch(), [header(), entry("custom", "a", null, { customType: "list", data: list })]);
	const script = `
		const { data } = SessionManager.open(process.argv[2]).getEntry("a");
		console.log(data.length, data[0].trim().length, data[9_999].slice(0, 6), data[10_000].slice(0, 6), data[299_999].slice(0, 7), parsed);`;
	const watched = `
		const { parse } = JSON;
		let parsed = 0;
		JSON.parse = (text) => { parsed += text.length > 1e6 ? 1 : 0; return parse(text); };`;
	expect(inChild(script, { args: [file], before: watched })).toBe("300000 130 9999xx 10000x 299999x 0\n");
});
