// The entry `pi-session-native/pi`: the same module, its class typed as pi's own. Private members make pi's class
// nominal, so that what pi exports for `createAgentSession({ sessionManager })` accepts no other class by its shape.
// pi is an ES module and this package is CommonJS, hence the resolution mode.
import type { SessionManager as PiSessionManager } from "@earendil-works/pi-coding-agent" with {
	"resolution-mode": "import",
};

export * from "./index";

/**
 * The native class, to pi's types its own.
 *
 * @example
 * ```ts
 * import { createAgentSession } from "@earendil-works/pi-coding-agent";
 * import { SessionManager } from "pi-session-native/pi";
 *
 * const { session } = await createAgentSession({ sessionManager: SessionManager.create(process.cwd()) });
 * ```
 */
export declare const SessionManager: typeof PiSessionManager;
export type SessionManager = PiSessionManager;
