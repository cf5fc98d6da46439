// All ways in which JavaScript changes an object with large values.
import { inspect } from "node:util";
import type { Look } from "./support.js";

const KEYS = ["content", "details", "data"] as const;
const large = (o: any): string[] => KEYS.filter((key) => Object.hasOwn(o, key));

/** Each change is tried on an object whose values were not read, and on one whose values were all read. */
export const CHANGES: Record<string, Look> = {
	assignment: (o) => {
		for (const key of large(o)) o[key] = `new ${key}`;
		return large(o).map((key) => o[key]);
	},
	"assignment of one alone": (o) => {
		o.content = ["new"];
		return [o.content, o.details];
	},
	"assignment of what it is": (o) => {
		for (const key of large(o)) o[key] = o[key];
	},
	"assignment of undefined": (o) => {
		o.content = undefined;
		return ["content" in o, JSON.stringify(o), structuredClone(o)];
	},
	"assignment twice": (o) => {
		o.content = 1;
		o.content = 2;
	},
	"Object.assign": (o) => Object.assign(o, { content: "a", details: 1, more: true }) === o,
	"Reflect.set": (o) => KEYS.map((key) => Reflect.set(o, key, 7)),
	"Reflect.set on another receiver": (o) => {
		const other = { own: 1 };
		return [Reflect.set(o, "content", 7, other), other];
	},
	"compound assignment": (o) => {
		if (typeof o.content === "string") o.content += " and more";
		o.content ??= "was none";
		o.details &&= { replaced: true };
		return [o.content, o.details];
	},
	"a push to content": (o) => {
		if (Array.isArray(o.content)) o.content.push({ type: "text", text: "more" });
		return [o.content, JSON.stringify(o), structuredClone(o)];
	},
	"a change deep below": (o) => {
		const [block] = Array.isArray(o.content) ? o.content : [];
		if (block?.text) block.text = block.text.slice(0, 5);
		if (o.details?.truncation) o.details.truncation.lines.length = 1;
		return [o.content?.[0], o.details];
	},
	"a swap": (o) => {
		[o.content, o.details] = [o.details, o.content];
	},
	delete: (o) => {
		for (const key of large(o)) delete o[key];
		return [o.content, "content" in o, Object.keys(o), JSON.stringify(o), inspect(o)];
	},
	"delete and assignment": (o) => {
		delete o.content;
		o.content = "again";
		return [Object.keys(o), o.details, inspect(o)];
	},
	"Reflect.deleteProperty": (o) => [...KEYS.map((key) => Reflect.deleteProperty(o, key)), { ...o }],
	"a value defined": (o) =>
		Object.defineProperty(o, "content", { value: "defined", writable: true, enumerable: true, configurable: true }) ===
		o,
	"a fixed value defined": (o) => {
		Object.defineProperty(o, "content", { value: 1, writable: false, enumerable: false, configurable: false });
		o.content = 2;
	},
	"an accessor defined": (o) => {
		let given: unknown = "theirs";
		Object.defineProperty(o, "content", {
			get: () => given,
			set: (value) => {
				given = value;
			},
			enumerable: true,
			configurable: true,
		});
		const before = o.content;
		o.content = "set";
		return [before, o.content, o.details, JSON.stringify(o), { ...o }];
	},
	"made not enumerable, then read": (o) => {
		for (const key of large(o)) Object.defineProperty(o, key, { enumerable: false });
		return [Object.keys(o), JSON.stringify(o), o.content, o.details, o.data, Object.keys(o), { ...o }];
	},
	"preventExtensions, then read": (o) => {
		Object.preventExtensions(o);
		return [Object.isExtensible(o), o.content, o.details, o.data, { ...o }];
	},
	"preventExtensions, then assignment": (o) => {
		Object.preventExtensions(o);
		for (const key of large(o)) o[key] = 1;
	},
	"preventExtensions, then another key": (o) => {
		Object.preventExtensions(o);
		o.another = 1;
	},
	"preventExtensions, then delete": (o) => {
		Object.preventExtensions(o);
		return [delete o.content, Object.keys(o), { ...o }];
	},
	"another prototype": (o) => {
		Object.setPrototypeOf(o, { inherited: 1 });
		return [o.inherited, o.content, { ...o }];
	},
	"no prototype": (o) => {
		Object.setPrototypeOf(o, null);
		return [o.content, o.details, Object.keys(o), JSON.stringify(o)];
	},
	"an heir is written to": (o) => {
		const heir = Object.create(o);
		heir.content = "own";
		return [Object.keys(heir), heir.content, o.content, heir.details];
	},
	"an heir of a class is written to": (o) => {
		const Base = function (this: unknown) {} as unknown as { prototype: unknown; new (): { content: unknown } };
		Base.prototype = o;
		class Heir extends Base {
			override content = "field";
		}
		return [new Heir().content, new Base().content, o.content, Object.keys(new Heir())];
	},
	"a Proxy is written to": (o) => {
		const proxy = new Proxy(o, {});
		for (const key of large(o)) proxy[key] = `by proxy ${key}`;
		return [proxy.content, o.content, { ...proxy }, { ...o }];
	},
	"a Proxy's key is deleted": (o) => [delete new Proxy(o, {}).content, Object.keys(o), o.details],
	"a Proxy's key is defined": (o) => {
		const all = { value: 1, writable: true, enumerable: true, configurable: true };
		return [Object.defineProperty(new Proxy(o, {}), "content", all).content, o.content];
	},
	"a Proxy that refuses": (o) => {
		new Proxy(o, { set: () => false }).content = 1;
	},
	"a clone by descriptors is written to": (o) => {
		const clone = Object.defineProperties({} as any, Object.getOwnPropertyDescriptors(o));
		for (const key of large(o)) clone[key] = `of the clone ${key}`;
		return [{ ...clone }, { ...o }];
	},
	"another key before and after": (o) => {
		o.before = 1;
		const keys = Object.keys(o);
		o.content = "x";
		o.after = 2;
		return [keys, Object.keys(o)];
	},
	"a number as key": (o) => {
		o[0] = "zero";
		return [Object.keys(o), { ...o }];
	},
};

/** Changes that prevent later changes of an object, even of a large value that was not read. */
export const FIXED: Record<string, Look> = {
	"made not configurable, then read": (o) => {
		for (const key of large(o)) Object.defineProperty(o, key, { configurable: false });
		return [o.content, o.details, o.data, o.content === o.content, { ...o }];
	},
	"freeze, then read": (o) => {
		Object.freeze(o);
		return [Object.isFrozen(o), o.content, o.details, o.data, { ...o }, JSON.stringify(o), structuredClone(o)];
	},
	"freeze: the same value each time": (o) => {
		Object.freeze(o);
		return [o.content === o.content, o.details === o.details, o.data === o.data];
	},
	"freeze, then inspect": (o) => inspect(Object.freeze(o), { depth: 9 }),
	"freeze, then assignment": (o) => {
		Object.freeze(o);
		o.content = "new";
	},
	"freeze, then delete": (o) => {
		Object.freeze(o);
		delete o.content;
		delete o.type;
		delete o.role;
	},
	"a deep freeze": (o) => {
		const freeze = (value: any): unknown => {
			if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
			Object.values(value).forEach(freeze);
			return Object.freeze(value);
		};
		freeze(o);
		return [Object.isFrozen(o), Object.isFrozen(o.content), Object.isFrozen(o.details), { ...o }];
	},
	"seal, then read": (o) => {
		Object.seal(o);
		return [Object.isSealed(o), o.content, o.details, o.data, o.content === o.content, { ...o }];
	},
	"seal, then assignment": (o) => {
		Object.seal(o);
		for (const key of large(o)) o[key] = `new ${key}`;
		return [o.content, o.details, o.data, { ...o }, JSON.stringify(o), inspect(o)];
	},
	"seal, a look, then assignment": (o) => {
		Object.seal(o);
		const before = o.content;
		for (const key of large(o)) o[key] = `new ${key}`;
		return [before, o.content, { ...o }];
	},
	"seal, then another key": (o) => {
		Object.seal(o);
		o.another = 1;
	},
	"a Proxy is frozen": (o) => {
		const proxy = Object.freeze(new Proxy(o, {}));
		return [Object.isFrozen(o), proxy.content, proxy.content === o.content, { ...proxy }];
	},
	"a frozen Proxy is written to": (o) => {
		Object.freeze(new Proxy(o, {})).content = 1;
	},
};
