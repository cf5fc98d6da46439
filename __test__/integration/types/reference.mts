// The class against the reference's: methods both ways, statics, and the reading half that extensions get.
import type * as Pi from "pi/core/session-manager.js";
import * as Ours from "pi-session-native";
import { type Alike, holds, type Mutual, type SameCall } from "./compare.mjs";

type OurManager = Ours.SessionManager;
type PiManager = Pi.SessionManager;

// `keyof` leaves out private members; `_persist` is public by accident and no part of the contract.
type PublicMethodNames = Exclude<keyof PiManager, "_persist">;
type OurShape = Pick<OurManager, PublicMethodNames>;
type PiShape = Pick<PiManager, PublicMethodNames>;

holds<true, [Mutual<OurShape, PiShape>]>();
// `getBranch` takes a limit beyond what the reference takes; without it the call is the same.
type SameNames = Exclude<PublicMethodNames, "getBranch">;
type WithoutLimit = (fromId?: Parameters<OurManager["getBranch"]>[0]) => ReturnType<OurManager["getBranch"]>;
holds<Alike, { [K in SameNames]: SameCall<OurManager[K], PiManager[K]> }>();
holds<Alike, { getBranch: SameCall<WithoutLimit, PiManager["getBranch"]> }>();

// The older documents' name for the same call.
holds<Alike, { getPath: SameCall<OurManager["getPath"], PiManager["getBranch"]> }>();

// Statics. Those that give a manager are compared with each class reduced to its public methods.
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

// `listAll` is overloaded, which the comparison above takes loosely: its ways of being called, one by one.
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

// The static methods give exactly the class that they stand on.
const manager: OurManager = Ours.SessionManager.inMemory();
const readonlyOfPi: Pi.ReadonlySessionManager = manager;
const readonlyOfOurs: Ours.ReadonlySessionManager = readonlyOfPi;

export { lists, readonlyOfOurs };
