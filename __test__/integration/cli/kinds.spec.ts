// Takes each kind of entry, role and block of the table of kinds through every place that treats kinds differently. The
// test fails with the list of places that do not know a kind, which is the list of changes that a new kind still needs.
import { copyFileSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { KindFacts } from "../../../index.js";
import { good, put, world } from "../../support/cli.js";
import { api, entry, type Json, jsonLines, message, opened, root, user } from "../../support/scratch.js";

const { entryKinds, SessionManager } = api;
const kinds = entryKinds();

/** A word in a field, and the scope in which a search finds it. */
interface Word {
	word: string;
	scope: string | undefined;
	place: string;
}

/** An entry in which each text of a row, and each field of its sentences, is a different word. */
interface Sample {
	line: Json & { id: string };
	role: string;
	words: Word[];
	/** Words of its sentences, which a reader is shown but no search finds. */
	shown: Word[];
	facts: KindFacts;
}

let count = 0;
const newWord = (place: string, scope?: string): Word => ({
	word: `word${String(++count).padStart(4, "0")}x`,
	scope,
	place,
});
const setAt = (of: Json, path: string, value: unknown): void => {
	const [key = "", ...rest] = path.split(".");
	if (rest.length === 0) of[key] = value;
	else setAt((of[key] ??= {}) as Json, rest.join("."), value);
};

/** Fills the fields of a row. */
function fill(of: Json, name: string, { says, makes }: KindFacts): Pick<Sample, "words" | "shown"> {
	const words: Word[] = [];
	const shown: Word[] = [];
	const word = (field: string, scope?: string): string => {
		const made = newWord(`${name}.${field}`, scope);
		words.push(made);
		return made.word;
	};
	for (const said of says) {
		if (!("field" in said)) continue;
		const { field, form, scope } = said;
		const values = {
			text: () => word(field, scope),
			json: () => ({ key: [word(field, scope)] }),
			content: () => [{ type: "text", text: word(field, scope) }],
			answer: () =>
				Object.entries(kinds.blocks).flatMap(([type, row]) => blocks(type, row, `${name}.${field}`, scope, words)),
			calls: () => ({
				complete: true,
				calls: [
					{ id: "1", name: word(`${field}.name`, scope), arguments: { path: word(`${field}.arguments`, scope) } },
					{ id: "2", name: "run", status: "error", error: word(`${field}.error`, scope) },
				],
			}),
			sections: () => ({ section: word(field, scope) }),
			tools: () => [{ name: word(field, scope) }],
		};
		setAt(of, field, values[form]());
	}
	for (const said of says) {
		if ("field" in said) continue;
		if (said.values) of[said.on as string] = said.values[0];
		for (const [, field = ""] of said.sentence.matchAll(/\{(\w+)\}/g)) {
			if (Object.hasOwn(of, field)) continue;
			const made = newWord(`${name}.${field}`);
			of[field] = made.word;
			shown.push(made);
		}
	}
	for (const field of makes?.fields ?? []) of[field] ??= `made of ${field}`;
	return { words, shown };
}

/** A block of each type. There are two tool calls, because an error is shown in place of the arguments. */
function blocks(type: string, { says }: KindFacts, place: string, scope: string | undefined, words: Word[]): Json[] {
	const made: Json = { type };
	const failed: Json = { type, name: "run", arguments: {} };
	for (const said of says) {
		if (!("field" in said)) continue;
		const word = newWord(`${place} ${type}.${said.field}`, said.scope ?? scope);
		words.push(word);
		const of = said.field === "argumentsError" ? failed : made;
		of[said.field] = said.form === "json" ? { key: word.word } : word.word;
	}
	return Object.hasOwn(failed, "argumentsError") ? [made, failed] : [made];
}

const TARGET = "target00";

function samples(): Sample[] {
	const entries = Object.entries(kinds.entries).filter(([type]) => type !== "message");
	const made = [
		...entries.map(([type, facts], at) => {
			const own: Json = Object.fromEntries(facts.refersTo.map((field) => [field, TARGET]));
			const said = fill(own, type, facts);
			return { line: entry(type, `e${at}`, TARGET, own), role: type, facts, ...said };
		}),
		...Object.entries(kinds.roles).map(([role, facts], at) => {
			const own: Json = { role, timestamp: 1 };
			const said = fill(own, role, facts);
			// The role `hookMessage` of version 2 is now `custom`.
			return {
				line: entry("message", `m${at}`, TARGET, { message: own }),
				role: role === "hookMessage" ? "custom" : role,
				facts,
				...said,
			};
		}),
	] as Sample[];
	// All entries are on one branch.
	let parent = TARGET;
	for (const { line } of made) {
		line.parentId = parent;
		parent = line.id;
	}
	return made;
}

test("every place knows each kind, role and block", async () => {
	const missing: string[] = [];
	const check = (isThere: boolean, place: string): void => {
		if (!isThere) missing.push(place);
	};
	const all = samples();
	const at = world();
	const file = put(at, "kinds", [
		entry("message", TARGET, null, { message: user("the beginning") }),
		...all.map(({ line }) => line),
	]);

	// A reader is shown every word.
	const shown = await good(at, ["show", file, "--full"], { COLUMNS: "1000" });
	const exported = await good(at, ["export", file, "--format", "md", "--full"]);
	for (const { word, place } of all.flatMap(({ words, shown }) => [...words, ...shown])) {
		const field = place.slice(Math.max(place.lastIndexOf("."), place.lastIndexOf(" ")) + 1);
		for (const [text, name] of [
			[shown, "show"],
			[exported, "export"],
		] as const) {
			const lines = text.split("\n").filter((line) => line.includes(word));
			check(lines.length > 0, `${name}: ${place}`);
			// An unknown kind is shown as its JSON.
			check(!lines.some((line) => line.includes(`"${field}":`)), `${name}, other than as JSON: ${place}`);
		}
	}

	// `/find` names the scopes that it does not search.
	check(
		String(kinds.scopes.filter((one) => !kinds.defaultScopes.includes(one))) === "tool,thinking,custom",
		"find.mjs",
	);

	// A search finds each text only in its scope, under the role of its entry.
	for (const { line, role, words } of all) {
		for (const { word, scope, place } of words) {
			for (const one of kinds.scopes) {
				const hits = await SessionManager.search(word, { sessionDir: dirname(file), in: [one] });
				check(hits.length === Number(one === scope), `search in ${one}: ${place}`);
				if (hits[0]) check(hits[0].entryId === line.id && hits[0].role === role, `search, role: ${place}`);
			}
		}
	}

	// A redaction removes the texts, alone and with their entries, and keeps the references.
	const copy = join(dirname(file), "copy.jsonl");
	for (const { line, words, facts, role } of all) {
		for (const { word, place } of words) {
			copyFileSync(file, copy);
			SessionManager.redact(copy, { text: word });
			// The name of a tool is kept, because results refer to it.
			const stays = place.endsWith("toolCall.name");
			check(readFileSync(copy, "utf8").includes(word) === stays, `redact a text: ${place}`);
		}
		copyFileSync(file, copy);
		SessionManager.redact(copy, { entries: [line.id] });
		const left = readFileSync(copy, "utf8");
		for (const { word, place } of words) check(!left.includes(word), `redact an entry: ${place}`);
		copyFileSync(file, copy);
		SessionManager.redact(copy, { text: TARGET });
		const kept = jsonLines(copy).find((one) => one.id === line.id);
		for (const field of facts.refersTo) check(kept[field] === TARGET, `redact keeps references: ${role}.${field}`);
	}

	// The model receives the messages.
	for (const { line, facts, role } of all.filter(({ line }) => line.type !== "message")) {
		const made = api.sessionEntryToContextMessages(line as any).at(-1) as unknown as Json | undefined;
		check(made?.role === facts.makes?.role, `context: ${role}`);
		for (const field of facts.makes?.fields ?? []) check(made?.[field] === line[field], `context: ${role}.${field}`);
	}

	// The types and the docs contain every name.
	const types = readFileSync(join(root, "index.d.ts"), "utf8");
	const format = readFileSync(join(root, "docs/file-format.md"), "utf8");
	const union = (name: string): string => new RegExp(`export type ${name} =([^;]*);`).exec(types)?.[1] ?? "";
	const isDeclared = (key: string, name: string, of: string): boolean =>
		[...types.matchAll(/^export interface (\w+)[^{]*\{([\s\S]*?)^\}/gm)].some(
			([, type, body]) => body?.includes(`\t${key}: "${name}";`) && new RegExp(`\\b${type}\\b`).test(union(of)),
		);
	for (const name of Object.keys(kinds.entries))
		check(isDeclared("type", name, "SessionEntry"), `types, SessionEntry: ${name}`);
	// Version 3 has no hookMessage.
	for (const name of Object.keys(kinds.roles).filter((role) => role !== "hookMessage"))
		check(types.includes(`\trole: "${name}";`), `types, AgentMessage: ${name}`);
	for (const name of Object.keys(kinds.blocks)) check(types.includes(`\ttype: "${name}";`), `types, blocks: ${name}`);
	for (const name of kinds.searchRoles) check(union("SearchRole").includes(`"${name}"`), `types, SearchRole: ${name}`);
	for (const name of kinds.scopes) check(union("SearchScope").includes(`"${name}"`), `types, SearchScope: ${name}`);
	const made = new Set(["branchSummary", "compactionSummary"]);
	for (const rows of [kinds.entries, kinds.roles, kinds.blocks]) {
		for (const [name, { says, refersTo }] of Object.entries(rows)) {
			// Except for `custom`, no entry contains a message of a role that is made from entries.
			if (made.has(name)) continue;
			check(new RegExp(`\\b${name}\\b`).test(format), `docs/file-format.md: ${name}`);
			const fields = says.flatMap((one) => ("field" in one ? one.field.split(".") : []));
			for (const field of [...fields, ...refersTo])
				check(format.includes(`\`${field}\``), `docs/file-format.md: ${name}.${field}`);
		}
	}

	expect(missing).toEqual([]);
});

// Regression: a redaction left them out. It also removes nested calls, and arguments that are not JSON.
test("a redacted entry keeps its duration, thinking level and price", () => {
	const { file } = opened([
		message("a", null, {
			role: "assistant",
			content: [{ type: "toolCall", id: "c", name: "read", arguments: {}, argumentsError: "not JSON: hunter2" }],
			thinkingLevel: "high",
			durationMs: 12.5,
			usage: { input: 1, cost: { total: 2, totalFromProvider: true } },
		}),
		message("b", "a", {
			role: "toolResult",
			toolCallId: "c",
			content: [],
			nestedCalls: { complete: true, calls: [{ id: "1", name: "run", arguments: { key: "hunter2" } }] },
			durationMs: 3,
		}),
		entry("custom", "d", "b", { customType: "pi.virtual-model-state", data: { state: "hunter2" } }),
	]);
	SessionManager.redact(file, { entries: ["a", "b", "d"] });
	const [, a, b, d] = jsonLines(file);
	expect(a.message).toEqual({
		role: "assistant",
		content: [{ type: "toolCall", id: "c", name: "read", arguments: {} }],
		thinkingLevel: "high",
		durationMs: 12.5,
		usage: { input: 1, cost: { total: 2, totalFromProvider: true } },
	});
	expect(b.message).toEqual({ role: "toolResult", toolCallId: "c", content: [], durationMs: 3 });
	expect(d).toMatchObject({ type: "custom", customType: "pi.virtual-model-state" });
	expect(d).not.toHaveProperty("data");
});
