// The entry `pi-session-native/pi`: the same module, its class typed as pi's own and as what it is here. Private
// members make pi's class nominal, so that what pi exports for `createAgentSession({ sessionManager })` accepts no
// other class by its shape. pi is an ES module and this package is CommonJS, hence the resolution mode.
import type { SessionManager as PiSessionManager } from "@earendil-works/pi-coding-agent" with {
	"resolution-mode": "import",
};
import type {
	FileEntry,
	SessionManager as NativeSessionManager,
	NewSessionOptions,
	OpenOptions,
	SessionFileOptions,
} from "./index";

export * from "./index";

/**
 * The native class as an instance: pi's own type, and the methods that pi does not have.
 */
export type SessionManager = PiSessionManager & NativeSessionManager;

/** The statics that make a manager. */
interface SessionManagerMakers {
	create(cwd: string, sessionDir?: string, options?: NewSessionOptions & SessionFileOptions): SessionManager;
	open(path: string, options: OpenOptions): SessionManager;
	open(path: string, sessionDir?: string, cwdOverride?: string): SessionManager;
	continueRecent(cwd: string, sessionDir?: string, options?: SessionFileOptions): SessionManager;
	inMemory(cwd?: string, options?: NewSessionOptions & SessionFileOptions, entries?: FileEntry[]): SessionManager;
	forkFrom(
		sourcePath: string,
		targetCwd: string,
		sessionDir?: string,
		options?: NewSessionOptions & SessionFileOptions,
	): SessionManager;
}

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
export declare const SessionManager: SessionManagerMakers & typeof PiSessionManager & typeof NativeSessionManager;
