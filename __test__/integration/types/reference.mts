// Compares the class with the reference's: methods in both directions, statics, and the readonly part that extensions
// get.
import type * as Pi from "pi/core/session-manager.js";
import * as Ours from "pi-session-native";
import { type Alike, holds, type Mutual, type SameCall } from "./compare.mjs";

type OurManager = Ours.SessionManager;
type PiManager = Pi.SessionManager;

// `keyof` omits private members. `_persist` is public by accident, and not part of the contract.
type PublicMethodNames = Exclude<keyof PiManager, "_persist">;
type OurShape = Pick<OurManager, PublicMethodNames>;
type PiShape = Pick<PiManager, PublicMethodNames>;

holds<true, [Mutual<OurShape, PiShape>]>();
// `getBranch` accepts a limit, which the reference does not. Without it the call is the same.
type SameNames = Exclude<PublicMethodNames, "getBranch">;
type WithoutLimit = (fromId?: Parameters<OurManager["getBranch"]>[0]) => ReturnType<OurManager["getBranch"]>;
holds<Alike, { [K in SameNames]: SameCall<OurManager[K], PiManager[K]> }>();
holds<Alike, { getBranch: SameCall<WithoutLimit, PiManager["getBranch"]> }>();

// The name of the same call in older documents.
holds<Alike, { getPath: SameCall<OurManager["getPath"], PiManager["getBranch"]> }>();

// Statics. If a static returns a manager, each class is reduced to its public methods and then compared.
type StaticNames = Exclude<keyof typeof Pi.SessionManager, "prototype">;
type GivesManager = "create" | "open" | "continueRecent" | "inMemory" | "forkFrom";
type Plain<T> = T extends PiManager ? PiShape : T extends OurManager ? OurShape : T;
type Reduced<F> = F extends (...args: infer Args) => infer Result ? (...args: Args) => Plain<Result> : never;

holds<
	Alike,
	{ [K in GivesManager]: SameCall<Reduced<(typeof Ours.SessionManager)[K]>, Reduced<(typeof Pi.SessionManager)[K]>> }
>();
holds<
	true,
	{
		[K in Exclude<StaticNames, GivesManager>]: Mutual<
			Pick<typeof Ours.SessionManager, K>,
			Pick<typeof Pi.SessionManager, K>
		>;
	}
>();

// The comparison above is loose for overloads, so each signature of `listAll` is compared here.
declare const progress: Ours.SessionListProgress;
declare const signal: AbortSignal;
const lists: Promise<Ours.SessionInfo[]>[] = [
	Ours.SessionManager.listAll(),
	Ours.SessionManager.listAll(undefined),
	Ours.SessionManager.listAll(progress),
	Ours.SessionManager.listAll(progress, signal),
	Ours.SessionManager.listAll(undefined, signal),
	Ours.SessionManager.listAll("/sessions"),
	Ours.SessionManager.listAll("/sessions", progress),
	Ours.SessionManager.listAll("/sessions", progress, signal),
	Ours.SessionManager.listAll(undefined, progress, signal),
];

// A static method returns exactly its own class.
const manager: OurManager = Ours.SessionManager.inMemory();
const readonlyOfPi: Pi.ReadonlySessionManager = manager;
const readonlyOfOurs: Ours.ReadonlySessionManager = readonlyOfPi;

export { lists, readonlyOfOurs };
