// A value as text, for the comparison of two sides. The text also contains differences that deepEqual and JSON ignore:
// undefined properties, -0, the order of keys, lone surrogates, prototypes, hidden properties and accessors, and which
// objects are the same object.
import { types } from "node:util";
import type { Names } from "./names.js";

export class Dumper {
	/** Labels of objects that must stay the same object during the whole case: entries and the objects in them. */
	private readonly kept = new WeakMap<object, string>();
	private keptCount = 0;
	/** Kept objects whose content was already printed in this step. */
	private printed = new Set<object>();
	/** Labels within one result, for two places of the same object. */
	private local = new Map<object, string>();

	/** Prints numbers as JSON.stringify writes them: without -0, and null for infinite numbers and NaN. */
	jsonNumbers = false;

	/**
	 * A compaction of version 1 may name a later entry. Then pi's migration sets `firstKeptEntryId` to undefined until
	 * the file is read again. Ours reads migrated entries from the file at once.
	 */
	migratesFiles = false;

	constructor(private readonly names: Names) {}

	startStep(): void {
		this.printed = new Set();
	}

	/** Remembers an object that the caller passes, so that it is noticed if another object is returned. */
	keep(value: unknown): void {
		if (typeof value === "object" && value !== null && !this.kept.has(value)) {
			this.kept.set(value, `&${++this.keptCount}`);
		}
	}

	/** With `keep`, all objects in the value are objects whose identity is kept. */
	dump(value: unknown, keep = false): string {
		this.local = new Map();
		return this.write(value, keep);
	}

	private write(value: unknown, keep: boolean): string {
		switch (typeof value) {
			case "string":
				return JSON.stringify(this.names.normalise(value));
			case "number":
				if (this.jsonNumbers) return JSON.stringify(value);
				return Object.is(value, -0) ? "-0" : String(value);
			case "bigint":
				return `${value}n`;
			case "function":
				return "function";
			case "object":
				return value === null ? "null" : this.writeObject(value, keep);
			default:
				return String(value);
		}
	}

	private writeObject(value: object, keep: boolean): string {
		let label = this.kept.get(value);
		if (label === undefined && keep) {
			label = `&${++this.keptCount}`;
			this.kept.set(value, label);
		}
		if (label !== undefined) {
			if (this.printed.has(value)) return label;
			this.printed.add(value);
		} else {
			label = this.local.get(value);
			if (label !== undefined) return label;
			label = `%${this.local.size + 1}`;
			this.local.set(value, label);
		}
		// We do not use instanceof, because with the fake clock the times of files are Dates of the real class.
		if (types.isDate(value)) return `${label}Date(${value.getTime()})`;
		return label + (Array.isArray(value) ? this.writeArray(value, keep) : this.writeProperties(value, keep));
	}

	private writeArray(value: unknown[], keep: boolean): string {
		let text = "[";
		for (let i = 0; i < value.length; i++) {
			if (i > 0) text += ",";
			text += i in value ? this.write(value[i], keep) : "<hole>";
		}
		const extra = Reflect.ownKeys(value).length - value.length - 1;
		return `${text}]${extra > 0 ? `+${extra}` : ""}`;
	}

	private writeProperties(value: object, keep: boolean): string {
		const prototype = Object.getPrototypeOf(value) as object | null;
		let text = prototype === Object.prototype ? "{" : `${prototype?.constructor?.name ?? "null"}{`;
		const { type, firstKeptEntryId } = value as Record<string, unknown>;
		// A large value is an accessor until it is read.
		Object.values(value);
		const leaves = this.migratesFiles && type === "compaction" && firstKeptEntryId === undefined;
		const keys = Reflect.ownKeys(value).filter((key) => !leaves || key !== "firstKeptEntryId");
		for (let i = 0; i < keys.length; i++) {
			const key = keys[i] as string;
			if (i > 0) text += ",";
			if (!Object.prototype.propertyIsEnumerable.call(value, key)) text += "hidden ";
			text += typeof key === "symbol" ? String(key) : JSON.stringify(this.names.normalise(key));
			text += `:${this.write((value as Record<string, unknown>)[key], keep)}`;
		}
		return `${text}}`;
	}
}
