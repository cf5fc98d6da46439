// Assertions about types. If one is false, tsc reports the line that uses it.

/** True only for `any`, which is assignable in both directions to everything, and would pass any comparison. */
export type IsAny<T> = 0 extends 1 & T ? true : false;

export type Assignable<From, To> = [From] extends [To] ? true : false;

/** True if the types are assignable in both directions, and neither of them is `any`. */
export type Mutual<A, B> =
	IsAny<A> extends true
		? "the first is any"
		: IsAny<B> extends true
			? "the second is any"
			: Assignable<A, B> extends false
				? "the first is not assignable to the second"
				: Assignable<B, A> extends false
					? "the second is not assignable to the first"
					: true;

/** Methods compare their arguments loosely, in either direction; this compares each argument and the result exactly. */
export type SameCall<A, B> = A extends (...args: infer ArgsA) => infer ResultA
	? B extends (...args: infer ArgsB) => infer ResultB
		? [Mutual<ArgsA, ArgsB>, Mutual<ResultA, ResultB>]
		: "the second is no function"
	: "the first is no function";

export type Alike = [true, true];

/** Compiles only if every member of `T` is `Verdict`; the error names the first member that is not. */
export declare function holds<Verdict, T extends { [K in keyof T]: Verdict }>(): void;
