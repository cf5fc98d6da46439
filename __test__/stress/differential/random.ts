// The only source of random values: a small seeded generator (sfc32), so that a seed always means the same case.

export class Random {
	private a: number;
	private b: number;
	private c: number;
	private counter = 1;

	constructor(seed: number) {
		this.a = seed | 0;
		this.b = 0x9e3779b9;
		this.c = 0x243f6a88;
		for (let i = 0; i < 12; i++) this.uint32();
	}

	uint32(): number {
		const t = (this.a + this.b + this.counter++) | 0;
		this.a = this.b ^ (this.b >>> 9);
		this.b = (this.c + (this.c << 3)) | 0;
		this.c = (this.c << 21) | (this.c >>> 11);
		this.c = (this.c + t) | 0;
		return t >>> 0;
	}

	/** A whole number from 0 to n - 1. */
	int(n: number): number {
		return Math.floor((this.uint32() / 0x1_0000_0000) * n);
	}

	/** A whole number from `low` to `high`, inclusive. */
	between(low: number, high: number): number {
		return low + this.int(high - low + 1);
	}

	chance(probability: number): boolean {
		return this.uint32() < probability * 0x1_0000_0000;
	}

	pick<T>(items: readonly T[]): T {
		return items[this.int(items.length)] as T;
	}

	/** One of these values, with a probability in proportion to its weight. */
	weighted<T>(items: readonly (readonly [number, T])[]): T {
		let left = this.int(items.reduce((sum, [weight]) => sum + weight, 0));
		for (const [weight, value] of items) {
			left -= weight;
			if (left < 0) return value;
		}
		throw new Error("weighted() needs at least one positive weight");
	}

	shuffle<T>(items: readonly T[]): T[] {
		const result = [...items];
		for (let i = result.length - 1; i > 0; i--) {
			const j = this.int(i + 1);
			[result[i], result[j]] = [result[j] as T, result[i] as T];
		}
		return result;
	}

	hex(digits: number): string {
		return Array.from({ length: digits }, () => this.int(16).toString(16)).join("");
	}
}

/** The seed of case `index` under a base seed. Neighbours must not be similar. */
export function caseSeed(base: number, index: number): number {
	let h = Math.imul(base ^ 0x85ebca6b, 0xc2b2ae35) ^ Math.imul(index + 1, 0x27d4eb2f);
	h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
	h = Math.imul(h ^ (h >>> 12), 0x297a2d39);
	return (h ^ (h >>> 15)) >>> 0;
}
