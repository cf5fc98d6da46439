// The module keeps references to the engine's functions when it is loaded. Replacing them later changes no result.
import { execFileSync } from "node:child_process";
import { utimesSync } from "node:fs";
import { expect, test } from "vitest";
import { scriptCommand, scriptFile } from "../../support/runtime.js";
import {
	assistant,
	entry,
	header,
	LOAD,
	message,
	scratch,
	system,
	toolResult,
	user,
	writeSession,
} from "../../support/scratch.js";

const LONG = 'long, "quoted"\n'.repeat(2_000);
const at = (minute: number): { timestamp: string } => ({
	timestamp: new Date(Date.UTC(2025, 0, 1, 0, minute)).toISOString(),
});

const LINES = [
	header(),
	message(
		"p",
		null,
		system({ content: "You help.", sections: { rules: "Be brief." }, toolsAdded: [{ name: "read" }] }),
		at(1),
	),
	message("a", "p", user("a question"), at(2)),
	message("b", "a", assistant("an answer"), at(3)),
	message("c", "b", toolResult(LONG), at(4)),
	// Siblings whose order differs from their times.
	message("d", "a", user("later"), at(9)),
	message("e", "a", user("earlier"), at(5)),
	entry("custom_message", "f", "c", {
		customType: "note",
		content: LONG,
		display: true,
		details: { long: LONG },
		...at(6),
	}),
	entry("custom", "g", "f", { customType: "state", data: { long: LONG }, ...at(7) }),
	entry("label", "h", "g", { targetId: "b", label: "here", ...at(8) }),
	entry("context_edit", "i", "h", { targetId: "c", replacement: { content: "shorter" }, ...at(10) }),
	entry("session_info", "j", "i", { name: "named", ...at(11) }),
	message("k", "j", user("one more question"), at(12)),
];

/**
 * Makes all kinds of calls, and notes the results. `change` runs once everything is loaded, and returns the function
 * that undoes it.
 */
const script = (change: string): string => `
	const { writeSync } = require("node:fs");
	${LOAD}
	const [dir, listedDir] = process.argv.slice(2);
	const file = dir + "/session.jsonl";
	const text = require("node:fs").readFileSync(file, "utf8");
	const entriesText = text.split("\\n").slice(1, -1).map((line) => JSON.parse(line));
	// A migration assigns to the caller's objects, as in pi, so these objects inherit no setter.
	const old = [{ __proto__: null, type: "session", id: "s" }, { __proto__: null, type: "message", message: { role: "user", content: "x" } }];
	const body = (role, content) => ({ role, content, timestamp: 5 });
	const [question, answer] = [body("user", ${JSON.stringify(LONG)}), body("assistant", [{ type: "text", text: "yes" }])];
	const odd = new Proxy(entriesText, {});
	const results = { __proto__: null, count: 0 };
	const say = (what, value) => { results[results.count++] = { what, value }; };
	const heard = { __proto__: null, count: 0 };
	(async () => {
		const restore = (${change})();
		let failure;
		try {
			const manager = SessionManager.open(file);
			say("header", manager.getHeader());
			say("entries", manager.getEntries());
			say("lazy", manager.getEntry("c").message.content[0].text);
			say("lazy data", manager.getEntry("g").data);
			say("tree", manager.getTree());
			say("branch", manager.getBranch());
			say("children", manager.getChildren("a"));
			say("label", manager.getLabel("b"));
			say("name", manager.getSessionName());
			say("context", manager.buildSessionContext());
			say("projection", manager.buildSessionProjection());
			say("context entries", manager.buildContextEntries());
			const off = manager.onAppend((added) => { heard[heard.count++] = added.type; });
			manager.appendMessage(question);
			manager.appendMessage(answer);
			manager.appendThinkingLevelChange("high");
			manager.appendModelChange("one", "two");
			manager.appendCustomEntry("data", { list: [question] });
			off();
			manager.appendCustomMessageEntry("note", "text", true, { a: 1 });
			manager.appendContextEdit("a", { content: "other" });
			manager.appendLabelChange("a", "there");
			manager.appendSessionInfo("another");
			manager.appendCompaction("summary", "k", 7);
			say("appended", manager.getEntries());
			say("compacted", manager.buildSessionContext());
			say("latest", api.getLatestCompactionEntry(manager.getEntries()));
			manager.branch("c");
			manager.branchWithSummary("c", "what was left");
			say("branched", manager.buildSessionContext());
			manager.createBranchedSession("c");
			say("in a session of its own", manager.getEntries());
			say("path", manager.buildSessionContext());
			manager.newSession();
			manager.appendMessage(question);
			say("new", manager.getEntries());
			say("forked", SessionManager.forkFrom(file, "/other", dir + "/forks").getTree());
			say("loaded", api.loadEntriesFromFile(file));
			say("parsed", api.parseSessionEntries(text));
			api.migrateSessionEntries(old);
			say("migrated", old);
			say("of objects", api.buildSessionContext(entriesText, "k"));
			say("of a Proxy", api.buildSessionContext(odd, "k"));
			say("entries of objects", api.buildContextEntries(entriesText, "k"));
			say("projection of objects", api.buildSessionProjection(entriesText, "k"));
			say("projected", api.projectContextEntry(entriesText[1], entriesText[9]));
			say("messages", api.sessionEntryToContextMessages(entriesText[6]));
			say("missing", (() => { try { SessionManager.open(dir); } catch (error) { return error.code; } })());
			// Deno's event loop uses the replaced functions.
			if (globalThis.Deno) restore();
			const listed = await SessionManager.listAll(listedDir);
			say("listed", listed);
			say("texts", listed[0].allMessagesText);
			say("found", await SessionManager.search("question", { sessionDir: listedDir }));
			say("used", await SessionManager.usage({ sessionDir: listedDir, by: ["day"] }));
		} catch (error) {
			failure = error;
		} finally {
			restore();
		}
		say("heard", heard);
		if (failure !== undefined) throw failure;
		const all = Array.from({ length: results.count }, (_, at) => results[at]);
		const json = JSON.stringify(all, undefined, 1);
		const bytes = Buffer.from(json);
		for (let done = 0; done < bytes.length; ) done += writeSync(1, bytes, done);
	})().catch((error) => { console.error(error); process.exitCode = 1; });`;

/** The results of all calls, without the ids and times that differ in each run. */
function results(change: string): string {
	const [dir, listed] = [scratch(), scratch()];
	writeSession(dir, LINES);
	for (const [name, time] of [
		["one", 1],
		["two", 2],
		["three", 3],
	] as const) {
		const file = writeSession(listed, [header({ id: `s${time}` }), ...LINES.slice(1)], `${name}.jsonl`);
		// The order of a search depends on it.
		utimesSync(file, time, time);
	}
	const command = scriptCommand(scriptFile(script(change)), [dir, listed]);
	const said = execFileSync(command[0] as string, command.slice(1), {
		encoding: "utf8",
		env: { ...process.env, PI_SESSION_NATIVE_CATALOG: "off" },
		maxBuffer: 1 << 28,
	});
	const inJson = (path: string) => JSON.stringify(path).slice(1, -1);
	return said
		.replaceAll(inJson(dir), "DIR")
		.replaceAll(inJson(listed), "LISTED")
		.replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UUID")
		.replace(/"((?:id|parentId|targetId|fromId|firstKeptEntryId))": "[0-9a-f]{8}"/g, '"$1": "ID"')
		.replace(/"20(?:2[6-9]|[3-9]\d)-[^"]*Z"/g, '"NOW"')
		.replace(/"timestamp": 1[789]\d{11}/g, '"timestamp": 0');
}

// The clock is read at each call, a caller's map may have any class, and arrays are iterated by the engine's iterator.
// Node's event loop needs the other functions.
const REPLACED = `() => {
	const kept = [Date.now, Map.prototype.get, Array.prototype[Symbol.iterator], Array.prototype.pop];
	const holders = ["Array", "Boolean", "Date", "Error", "Float64Array", "Function", "JSON", "Map", "Math", "Number", "Object", "Reflect", "Set", "String", "TypeError", "URL", "Uint8Array", "WeakMap"];
	const define = Reflect.defineProperty;
	const all = [];
	for (const name of holders) {
		for (const holder of [globalThis[name], globalThis[name].prototype]) {
			if (holder === undefined) continue;
			for (const key of Reflect.ownKeys(holder)) {
				const was = Reflect.getOwnPropertyDescriptor(holder, key);
				if (key === "constructor" || typeof was.value !== "function" || !was.configurable || kept.includes(was.value)) continue;
				all.push([holder, key, was, name + "." + String(key)]);
			}
		}
	}
	for (const key of ["queueMicrotask", "decodeURIComponent", "setImmediate", "setTimeout"]) {
		all.push([globalThis, key, Reflect.getOwnPropertyDescriptor(globalThis, key), key]);
	}
	for (const name of holders) {
		const was = Reflect.getOwnPropertyDescriptor(globalThis, name);
		all.push([globalThis, name, was, name]);
	}
	const { now } = Date;
	const Failure = Error;
	for (let at = 0; at < all.length; at++) {
		const { 0: holder, 1: key, 2: was, 3: shown } = all[at];
		const value = function () { throw new Failure(shown + " was replaced"); };
		if (key === "Date") value.now = now;
		define(holder, key, { value, writable: true, enumerable: was.enumerable, configurable: true });
	}
	return () => {
		for (let at = 0; at < all.length; at++) define(all[at][0], all[at][1], all[at][2]);
	};
}`;

// The properties that the engine's own code reads from an object of ours.
const WATCHED = `() => {
	const names = ["role", "content", "sections", "toolsAdded", "timestamp", "listeners", "id", "parentId", "firstKeptEntryId", "message", "children", "label", "code", "errno", "syscall", "path"];
	const define = Reflect.defineProperty;
	const { prototype } = Object;
	for (const name of names) {
		define(prototype, name, { get: () => undefined, set() { throw new Error(name + " was set"); }, configurable: true });
	}
	return () => {
		for (const name of names) delete prototype[name];
	};
}`;

test.each([
	["methods and classes of the engine that were replaced", REPLACED],
	["setters that Object.prototype was given", WATCHED],
])("%s change no result", (_, change) => {
	const plain = results("() => () => {}");
	expect(plain.length).toBeGreaterThan(100_000);
	expect(results(change)).toBe(plain);
});
