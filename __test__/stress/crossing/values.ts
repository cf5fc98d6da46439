// Values of all kinds that `JSON.stringify` treats specially, as recipes: a recipe creates the same value twice. A log
// notes the code that runs when the value is written.
import fc from "fast-check";

export type Recipe =
	| { kind: "plain"; value: unknown }
	| { kind: "text"; unit: string; times: number; last: string }
	| { kind: "list"; items: Recipe[] }
	| { kind: "object"; fields: [string, Recipe][] }
	| { kind: Odd; inner: Recipe };

/** Each creates a value around another one. */
const ODD = {
	getter: (inner, log) => ({
		before: "x".repeat(300),
		get got() {
			log.push("get");
			return inner;
		},
	}),
	"getter that changes its object": (inner, log) => {
		const object = {
			get got() {
				log.push("get");
				object.content = "changed";
				return inner;
			},
			content: "y".repeat(300),
		};
		return object;
	},
	"setter alone": (inner, log) => ({
		text: "k".repeat(300),
		inner,
		set only(value: unknown) {
			log.push(`set ${String(value)}`);
		},
	}),
	"hidden getter": (inner, log) =>
		Object.defineProperty({ inner }, "got", { get: () => log.push("never"), enumerable: false }),
	toJSON: (inner, log) => ({
		toJSON(key: string) {
			log.push(`toJSON ${key}`);
			return inner;
		},
	}),
	"hidden toJSON": (inner, log) =>
		Object.defineProperty({ other: "z".repeat(300) }, "toJSON", {
			value: (key: string) => (log.push(`toJSON ${key}`), inner),
		}),
	"toJSON that is no function": (inner) => ({ toJSON: "z".repeat(300), inner }),
	"toJSON of a function": (inner, log) => Object.assign(() => 1, { toJSON: () => (log.push("toJSON"), inner) }),
	"toJSON of a list": (inner, log) => Object.assign(["w".repeat(300)], { toJSON: () => (log.push("toJSON"), inner) }),
	"no prototype": (inner) => Object.assign(Object.create(null), { inner }),
	inherited: (inner) => Object.assign(Object.create({ inherited: "x" }), { inner }),
	instance: (inner) =>
		new (class Message {
			inner = inner;
			#hidden = 1;
			get shown() {
				return this.#hidden;
			}
		})(),
	"sub-class of Array": (inner) => class extends Array {}.of(inner as never, "v".repeat(300) as never),
	proxy: (inner, log) =>
		new Proxy({ inner, text: "u".repeat(300) } as object, {
			get: (target, key, receiver) => (log.push(`get ${String(key)}`), Reflect.get(target, key, receiver)),
			ownKeys: (target) => (log.push("keys"), Reflect.ownKeys(target)),
			getOwnPropertyDescriptor: (target, key) => (
				log.push(`own ${String(key)}`), Reflect.getOwnPropertyDescriptor(target, key)
			),
			has: (target, key) => (log.push(`has ${String(key)}`), Reflect.has(target, key)),
			getPrototypeOf: (target) => (log.push("prototype"), Reflect.getPrototypeOf(target)),
		}),
	"proxy of a list": (inner, log) =>
		new Proxy([inner, "t".repeat(300)], {
			get: (target, key, receiver) => (log.push(`get ${String(key)}`), Reflect.get(target, key, receiver)),
			getPrototypeOf: (target) => (log.push("prototype"), Reflect.getPrototypeOf(target)),
		}),
	"revoked proxy": (inner) => {
		const { proxy, revoke } = Proxy.revocable({ inner } as object, {});
		revoke();
		return proxy;
	},
	holes: (inner) => Object.assign(new Array(4), { 1: inner, 3: "s".repeat(300), name: "no element" }),
	"element with a getter": (inner, log) =>
		Object.defineProperty([inner, "r".repeat(300)], 0, { get: () => (log.push("get"), inner), enumerable: true }),
	frozen: (inner) => Object.freeze({ inner, text: "q".repeat(300) }),
	"hidden text": (inner) => Object.defineProperty({ inner }, "text", { value: "p".repeat(300), enumerable: false }),
	"symbol with a getter": (inner, log) => ({
		get [Symbol("s")]() {
			return log.push("get of a symbol");
		},
		inner,
		text: "o".repeat(300),
	}),
	symbol: (inner) => ({ [Symbol("s")]: "o".repeat(300), inner, of: Symbol("t") }),
	"boxed text": (inner) => ({ boxed: Object("n".repeat(300)), inner }),
	"boxed number": (inner, log) => ({
		boxed: Object.assign(Object(5), { valueOf: () => (log.push("valueOf"), 6) }),
		inner,
	}),
	"boxed number that looks plain": (inner) => ({
		boxed: Object.setPrototypeOf(Object.assign(Object(7), { text: "m".repeat(300) }), Object.prototype),
		inner,
	}),
	"boxed boolean": (inner) => ({ boxed: Object(false), inner }),
	bigint: (inner) => ({ inner, of: 10n }),
	"boxed bigint": (inner) => ({ inner, of: Object(10n) }),
	cycle: (inner) => {
		const first: Record<string, unknown> = { inner };
		first.second = { list: [first] };
		return first;
	},
	"twice the same": (inner) => ({ one: inner, other: inner }),
	arguments: (inner) =>
		(function () {
			return arguments;
		})(
			// @ts-expect-error it has no parameters
			inner,
			"l".repeat(300),
		),
	date: (inner) => ({ at: new Date(1735689600123), never: new Date(Number.NaN), inner }),
	built: (inner) => ({ map: new Map([[1, inner]]), bytes: new Uint8Array(3), error: new Error("e"), of: /r/, inner }),
	"raw JSON": (inner) => ({ raw: (JSON as any).rawJSON?.("1e1000") ?? 1, inner }),
	deep: (inner) => {
		let value: unknown = inner;
		for (let depth = 0; depth < 40; depth++) value = depth % 2 ? [value] : { value };
		return value;
	},
	many: (inner) => ({ list: Array.from({ length: 200 }, (_, at) => ({ at })), inner }),
} satisfies Record<string, (inner: unknown, log: string[]) => unknown>;
type Odd = keyof typeof ODD;

const UNITS = [
	...["a", 'line of output, "quoted"\n', "\\", "\u0000", "\u001f\b\f\r\t", "\u007f", '"\u007f', "\u0080é", "ß", "ÿĀ"],
	...[
		"日本語の文章\n",
		"߿ࠀ",
		"\u2028\u2029",
		"\ufeff",
		"\uffff",
		"🙂",
		"\ud83d",
		"\ude00",
		"\ude00\ud83d",
		"QUJDREVG+/==",
	],
];

const KEYS = [
	"a",
	"content",
	"text",
	"data",
	"10",
	"2",
	"-1",
	"4294967295",
	"__proto__",
	"constructor",
	"é",
	"\u007f",
	"",
	"\ud83d",
	"length",
];

const plain = fc.oneof(
	fc.constantFrom(
		null,
		undefined,
		true,
		false,
		Number.NaN,
		Number.POSITIVE_INFINITY,
		-0,
		1e21,
		2 ** 53,
		Symbol.iterator,
	),
	fc.double(),
	fc.integer(),
	fc.string({ unit: "binary", maxLength: 8 }),
	fc.constantFrom("\u007f", '"\u007f', '\u007f"', "\\\u007f"),
);

const text = fc.record({
	kind: fc.constant("text" as const),
	unit: fc.constantFrom(...UNITS),
	times: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 30, max: 400 })),
	last: fc.constantFrom("", "\ud83d", '"', "\\", "日", "z"),
});

/** Values that consist of plain data, and values of all kinds. */
export const { value, json } = fc.letrec<{ value: Recipe; json: Recipe }>((tie) => {
	const containers = (of: fc.Arbitrary<Recipe>): fc.Arbitrary<Recipe>[] => [
		fc.record({ kind: fc.constant("list" as const), items: fc.array(of, { maxLength: 4 }) }),
		fc.record({
			kind: fc.constant("object" as const),
			fields: fc.array(fc.tuple(fc.constantFrom(...KEYS), of), { maxLength: 5 }),
		}),
	];
	const leaves: fc.Arbitrary<Recipe>[] = [text, plain.map((value) => ({ kind: "plain" as const, value }))];
	const odd = fc.record({ kind: fc.constantFrom(...(Object.keys(ODD) as Odd[])), inner: tie("value") });
	return {
		value: fc.oneof(
			{ maxDepth: 5, depthSize: "small" },
			...leaves,
			...containers(tie("value")),
			odd as fc.Arbitrary<Recipe>,
		),
		json: fc.oneof({ maxDepth: 5, depthSize: "small" }, ...leaves, ...containers(tie("json"))),
	};
});

export function build(recipe: Recipe, log: string[]): unknown {
	switch (recipe.kind) {
		case "plain":
			return recipe.value;
		case "text":
			return recipe.unit.repeat(recipe.times) + recipe.last;
		case "list":
			return recipe.items.map((item) => build(item, log));
		case "object":
			return recipe.fields.reduce(
				(object, [key, field]) =>
					Object.defineProperty(object, key, {
						value: build(field, log),
						writable: true,
						enumerable: true,
						configurable: true,
					}),
				{},
			);
		default:
			return ODD[recipe.kind](build(recipe.inner, log), log);
	}
}
