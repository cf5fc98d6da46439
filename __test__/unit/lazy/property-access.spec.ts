// All ways in which JavaScript reads an object: lazy entries have the same values as plain entries and pi's.
import assert from "node:assert";
import { Console } from "node:console";
import { Writable } from "node:stream";
import { format, inspect, isDeepStrictEqual } from "node:util";
import { deserialize, serialize } from "node:v8";
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import { header, message, scratch, shape, writeSession } from "../../support/scratch.js";
import { agrees, type Look, openLazy, openPlain, openReference, sampleFile, waiting, waits } from "./support.js";

/** What `console.log` prints. */
function printed(value: unknown): string {
	let text = "";
	const stdout = new Writable({
		write(chunk, _, done) {
			text += String(chunk);
			done();
		},
	});
	new Console({ stdout }).log(value, [value]);
	return text;
}

/** A value after it was sent through a port. */
function posted(value: unknown): unknown {
	const { port1, port2 } = new MessageChannel();
	port1.postMessage(value);
	const received = receiveMessageOnPort(port2)?.message as unknown;
	port1.close();
	return received;
}

const forIn = (object: any): [string, unknown][] => {
	const found: [string, unknown][] = [];
	for (const key in object) found.push([key, object[key]]);
	return found;
};

const groupBy = (Object as unknown as { groupBy?: (items: unknown[], key: (item: any) => string) => unknown }).groupBy;

const LOOKS: Record<string, Look> = {
	spread: (o) => ({ ...o }),
	"spread between others": (o) => ({ before: 1, content: "theirs", ...o, details: "mine" }),
	"spread of the message": (o) => ({ ...o, message: { ...o.message } }),
	rest: ({ type, role, ...rest }) => [type, role, rest],
	destructuring: ({ content, details, data, message }) => [content, details, data, message?.content],
	"destructuring with defaults": ({ content = "none", details: { truncation = 0 } = {} }) => [content, truncation],
	"Object.keys": (o) => Object.keys(o),
	"Object.values": (o) => Object.values(o),
	"Object.entries": (o) => Object.entries(o),
	"Object.fromEntries": (o) => Object.fromEntries(Object.entries(o)),
	"Object.assign from": (o) => Object.assign({ content: 1, z: 2 }, o),
	"Object.assign to": (o) => Object.assign(o, { content: "another", extra: 1 }),
	"for in": forIn,
	in: (o) => ["content" in o, "details" in o, "data" in o, "message" in o, "valueOf" in o],
	"Object.hasOwn": (o) => ["content", "details", "data", "gone"].map((key) => Object.hasOwn(o, key)),
	propertyIsEnumerable: (o) => Object.keys(o).map((key) => Object.prototype.propertyIsEnumerable.call(o, key)),
	"Reflect.get": (o) => Object.keys(o).map((key) => Reflect.get(o, key)),
	"Reflect.get with a receiver": (o) => Object.keys(o).map((key) => Reflect.get(o, key, new Proxy(o, {}))),
	"optional chaining": (o) => [o?.content?.length, o.message?.content?.[0]?.text, o.details?.nested?.[0]],
	"JSON.stringify": (o) => JSON.stringify(o),
	"JSON.stringify, indented": (o) => JSON.stringify({ o, list: [o] }, null, "\t"),
	"JSON.stringify with a function": (o) =>
		JSON.stringify(o, function (this: object, key: string, value: unknown) {
			return key === "timestamp" ? Object.keys(this) : value;
		}),
	"JSON.stringify with a list": (o) => JSON.stringify(o, ["message", "content", "details", "text", "role"], 1),
	"JSON there and back": (o) => JSON.parse(JSON.stringify(o)),
	structuredClone: (o) => structuredClone(o),
	"structuredClone of what refers twice": (o) => {
		const [one, other] = structuredClone([o, { again: o }]) as any[];
		return [one === other.again, one];
	},
	"v8.serialize": (o) => serialize(o).toString("base64"),
	"v8.serialize and back": (o) => deserialize(serialize(o)),
	"posted to a port": posted,
	"util.inspect": (o) => inspect(o),
	"util.inspect, shallow": (o) => inspect({ a: { o } }, { depth: 1 }),
	"util.inspect, no depth": (o) => inspect(o, { depth: 0 }),
	"util.inspect, all": (o) => inspect(o, { depth: null, maxStringLength: null, maxArrayLength: null }),
	"util.inspect in containers": (o) =>
		inspect([o, new Map([[o, { o }]]), new Set([o])], { depth: 6, compact: false, sorted: true }),
	"util.inspect with colours": (o) => inspect(o, { colors: true, breakLength: 60, getters: true }),
	"util.inspect, twice": (o) => [inspect(o), inspect(o)],
	"util.format": (o) => format("%o %O %j %s", o, o, o, o),
	"console.log": printed,
	"a template": (o) => `${o} ${String(o)} ${o.toString === Object.prototype.toString}`,
	"its tag": (o) => [Object.prototype.toString.call(o), Object.getPrototypeOf(o) === Object.prototype],
	"Object.create, read": (o) => {
		const heir = Object.create(o);
		return [Object.keys(heir), heir.content, heir.details, heir.data, forIn(heir)];
	},
	"Object.create, then the object": (o) => [Object.create(o).content, o.content],
	"an heir's heir": (o) => ({ ...Object.assign(Object.create(Object.create(o)), { a: 1 }), b: Object.create(o).data }),
	"a Proxy, read": (o) => {
		const proxy = new Proxy(o, {});
		return [proxy.content, Object.keys(proxy), { ...proxy }, forIn(proxy), JSON.stringify(proxy), "content" in proxy];
	},
	"a Proxy that counts": (o) => {
		const asked: string[] = [];
		const get = (target: object, key: string, receiver: object) => {
			// Our class finds the entry behind a Proxy by a symbol.
			if (typeof key === "string") asked.push(key);
			return Reflect.get(target, key, receiver);
		};
		return [{ ...new Proxy(o, { get }) }, asked];
	},
	"a Proxy of a Proxy": (o) => ({ ...new Proxy(new Proxy(o, {}), {}) }),
	"a Proxy, cloned": (o) => structuredClone(new Proxy(o, {})),
	"a Proxy, inspected": (o) => inspect(new Proxy(o, {}), { depth: 4 }),
	"all descriptors on another object": (o) => ({ ...Object.defineProperties({}, Object.getOwnPropertyDescriptors(o)) }),
	"a clone by descriptors": (o) => {
		const clone = Object.create(Object.getPrototypeOf(o), Object.getOwnPropertyDescriptors(o));
		return [JSON.stringify(clone), { ...clone }, structuredClone(clone), inspect(clone, { depth: 9 })];
	},
	"a clone by descriptors, inspected first": (o) =>
		inspect(Object.create(Object.prototype, Object.getOwnPropertyDescriptors(o)), { depth: 9 }),
	"a clone by descriptors, then its properties": (o) => {
		const clone = Object.defineProperties({} as any, Object.getOwnPropertyDescriptors(o));
		return [Object.values(clone), Object.keys(clone).map((key) => Object.getOwnPropertyDescriptor(clone, key))];
	},
	"own keys afterwards": (o) => [
		Object.values(o).length,
		Reflect.ownKeys(o).map(String),
		Object.getOwnPropertySymbols(o),
	],
	"descriptors afterwards": (o) => [Object.values(o).length, Object.getOwnPropertyDescriptors(o)],
	"own keys, texts": (o) => Object.getOwnPropertyNames(o),
	"the same value each time": (o) => [o.content === o.content, o.details === o.details, o.data === o.data],
	"a getter on call": (o) =>
		Object.entries(Object.getOwnPropertyDescriptors(o)).map(([key, { get }]) => (get ? get.call(o) : o[key])),
	"a comparison": (o) => [o == o, o === o, isDeepStrictEqual(o, { ...o }), [o].includes(o), [o].indexOf(o)],
	grouped: (o) => (groupBy ? groupBy([o], (one) => String(one.role ?? one.type)) : { [o.role ?? o.type]: [o] }),
	"flattened and sorted": (o) => [[o], [[o.content]]].flat(3).sort().map(shape),
	"a Map's key": (o) => new Map([[o, 1]]).get(o),
	"a WeakMap's key": (o) => new WeakMap([[o, o.content]]).get(o),
};

describe("at each entry and message", () => {
	for (const [name, look] of Object.entries(LOOKS)) {
		test(name, () => agrees(sampleFile(), look));
	}
});

test("all entries are written byte by byte as pi's", () => {
	const file = sampleFile();
	const texts = [openLazy(file), openPlain(file), openReference(file)].map((manager) => [
		JSON.stringify(manager.getEntries()),
		JSON.stringify(manager.getTree(), null, 2),
		JSON.stringify(manager.buildSessionProjection()),
		JSON.stringify(manager.buildSessionContext()),
	]);
	expect(texts[0]).toEqual(texts[2]);
	expect(texts[1]).toEqual(texts[2]);
});

test("printed lists, trees and contexts are pi's", () => {
	const file = sampleFile();
	const looks: Look[] = [
		(manager) => manager.getEntries(),
		(manager) => manager.getTree(),
		(manager) => manager.buildSessionContext(),
		(manager) => new Map(manager.getEntries().map((one: any) => [one.id, one])),
	];
	for (const look of looks) {
		for (const depth of [0, 1, 2, 5, null]) {
			const [lazy, plain, reference] = [openLazy(file), openPlain(file), openReference(file)].map((one) =>
				inspect(look(one), { depth }),
			);
			expect(lazy).toBe(reference);
			expect(plain).toBe(reference);
		}
	}
});

test("a worker gets whole entries", async () => {
	const file = sampleFile();
	const code = `
		const { parentPort } = require("node:worker_threads");
		parentPort.on("message", (value) => { parentPort.postMessage(JSON.stringify(value)); });`;
	const worker = new Worker(code, { eval: true });
	const answer = new Promise<string>((done, failed) => {
		worker.once("message", done);
		worker.once("error", failed);
	});
	worker.postMessage(openLazy(file).getEntries());
	expect(await answer).toBe(JSON.stringify(openReference(file).getEntries()));
	await worker.terminate();
});

describe("equality", () => {
	const fresh = (): [any[], any[], any[], any[]] => {
		const file = sampleFile();
		return [openLazy(file), openLazy(file), openPlain(file), openReference(file)].map((one) => one.getEntries()) as any;
	};

	/** Compares lists, entries and messages, each time with entries whose values were not read. */
	function each(compare: (one: any, other: any) => void): void {
		const picks: ((entries: any[], at: number) => any)[] = [(all, at) => all[at], (all, at) => all[at].message ?? {}];
		for (const other of [1, 2, 3]) {
			for (const [from, to] of [
				[0, other],
				[other, 0],
			] as const) {
				const lists = fresh();
				compare(lists[from], lists[to]);
				for (const pick of picks) {
					const sides = fresh();
					for (const at of lists[0].keys()) compare(pick(sides[from] as any[], at), pick(sides[to] as any[], at));
				}
			}
		}
	}

	test("assert.deepStrictEqual", () => each((one, other) => assert.deepStrictEqual(one, other)));
	test("assert.deepEqual", () => each((one, other) => assert.deepEqual(one, other)));
	test("util.isDeepStrictEqual", () => each((one, other) => expect(isDeepStrictEqual(one, other)).toBe(true)));
	test("toEqual", () => each((one, other) => expect(one).toEqual(other)));
	test("toStrictEqual", () => each((one, other) => expect(one).toStrictEqual(other)));
	test("toMatchObject", () => each((one, other) => expect(one).toMatchObject(other)));
	test("objectContaining", () =>
		each((one, other) => {
			if (!Array.isArray(other)) expect(one).toEqual(expect.objectContaining(other));
			else expect(one).toEqual(expect.arrayContaining(other.map((item) => expect.objectContaining(item))));
		}));

	test("differences are seen", () => {
		const [lazy, , plain] = fresh();
		const changed = structuredClone(plain[2]);
		changed.message.content[0].text += "!";
		expect(isDeepStrictEqual(lazy[2], changed)).toBe(false);
		expect(() => assert.deepStrictEqual(openLazy(sampleFile()).getEntries()[2], changed)).toThrow(
			/strictly deep-equal/,
		);
		expect(openLazy(sampleFile()).getEntries()[2]).not.toEqual(changed);
		expect(openLazy(sampleFile()).getEntries()[2]).not.toMatchObject(changed);
	});

	test("a snapshot shows values, no accessors", () => {
		const file = writeSession(scratch(), [
			header(),
			message("a", null, { role: "user", content: "ha".repeat(256), n: 1 }),
		]);
		const one = openLazy(file).getEntries()[0] as any;
		expect(waiting(one)).toEqual(["message.content"]);
		expect(one).toMatchInlineSnapshot(`
			{
			  "id": "a",
			  "message": {
			    "content": "hahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahahaha",
			    "n": 1,
			    "role": "user",
			  },
			  "parentId": null,
			  "timestamp": "2025-01-01T00:00:00.000Z",
			  "type": "message",
			}
		`);
	});
});

describe("before and after the first look", () => {
	test("large values are accessors, the others plain data", () => {
		const entries = openLazy(sampleFile()).getEntries() as any[];
		for (const { get, set, enumerable, configurable } of [
			Object.getOwnPropertyDescriptor(entries[0].message, "content") as PropertyDescriptor,
			Object.getOwnPropertyDescriptor(entries[8], "data") as PropertyDescriptor,
		]) {
			expect([typeof get, typeof set, enumerable, configurable]).toEqual(["function", "function", true, true]);
		}
		expect(entries.map(waiting)).toEqual([
			["message.content"],
			["message.content"],
			["message.content"],
			["message.content", "message.details"],
			["message.details"],
			["message.content"],
			["message.content"],
			["message.content"],
			["data"],
			["content", "details"],
			["details"],
			["details"],
			["content", "details", "data"],
			[],
			[],
		]);
	});

	test("a read value becomes plain, the other stays an accessor", () => {
		const one = openLazy(sampleFile()).getEntries()[3] as any;
		expect(one.message.content[0].type).toBe("text");
		expect(waiting(one)).toEqual(["message.details"]);
		expect(Object.getOwnPropertyDescriptor(one.message, "content")).toEqual({
			value: one.message.content,
			writable: true,
			enumerable: true,
			configurable: true,
		});
		expect(one.message.details.nested).toHaveLength(1);
		expect(waiting(one)).toEqual([]);
		expect(Object.getOwnPropertySymbols(one.message)).toEqual([]);
	});

	test("an accessor that was taken from its object says so", () => {
		const { message } = openLazy(sampleFile()).getEntries()[0] as any;
		const { get, set } = Object.getOwnPropertyDescriptor(message, "content") as Required<PropertyDescriptor>;
		expect(() => get.call({})).toThrow(TypeError);
		expect(() => get.call(undefined)).toThrow(TypeError);
		expect(() => set.call(undefined, 1)).toThrow(TypeError);
		expect(waits(message, "content")).toBe(true);
		expect(get.call(message)).toBe(message.content);
	});
});

test("an entry, its message and its content are unique objects", () => {
	const manager = openLazy(sampleFile());
	manager.branch("e9");
	const all = manager.getEntries() as any[];
	const context = manager.buildSessionContext().messages as any[];
	const projection = manager.buildSessionProjection();
	const found = new Set<unknown>();
	const visit = (nodes: any[]): void => {
		for (const node of nodes) {
			found.add(node.entry);
			visit(node.children);
		}
	};
	visit(manager.getTree());
	for (const [at, one] of all.entries()) {
		expect(manager.getEntry(one.id)).toBe(one);
		expect(found.has(one)).toBe(true);
		if (at > 9) continue;
		expect(manager.getBranch()[at]).toBe(one);
		expect(projection.entries[at]?.sourceEntry).toBe(one);
		if (one.type !== "message") continue;
		expect(context).toContain(one.message);
		const { content } = context.find((message) => message === one.message);
		expect((manager.getEntry(one.id) as any).message.content).toBe(content);
		expect(projection.entries[at]?.messages[0]).toBe(one.message);
	}
	expect(context.find((message) => message.role === "custom" && message.customType === "note").content).toBe(
		(manager.getEntry("e9") as any).content,
	);
});
