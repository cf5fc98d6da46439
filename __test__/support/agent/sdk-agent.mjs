// The common part of all SDK scenarios: an agent session of the real pi on a session manager, pi-ai's faux provider as
// its model, and a notebook of all observations.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { agentDirOf, piPackage } from "../../../scripts/demo/pi.mjs";

const load = (path) => import(pathToFileURL(path).href);
export const pi = await load(join(piPackage, "dist/index.js"));
export const ai = await load(join(piPackage, "../pi-ai/dist/index.js"));

/**
 * Observations in order. Values are written at once, so that a later change of an object does not change an earlier
 * note.
 */
export class Notebook {
	notes = [];
	/** The manager to which the running agent writes. */
	current = undefined;
	note(name, value) {
		this.notes.push({ name, text: typeof value === "string" ? value : (JSON.stringify(value) ?? "undefined") });
	}
	/** The content of the files, which would remain if the process died now. */
	disk() {
		const file = this.current?.getSessionFile();
		if (file) this.note("on disk", existsSync(file) ? readFileSync(file, "utf8") : "no file yet");
	}
	/** All that a session manager returns about itself. */
	manager(name, manager) {
		const state = {
			id: manager.getSessionId(),
			file: manager.getSessionFile() ?? null,
			dir: manager.getSessionDir(),
			cwd: manager.getCwd(),
			persisted: manager.isPersisted(),
			sessionName: manager.getSessionName() ?? null,
			leaf: manager.getLeafId(),
			header: manager.getHeader(),
		};
		this.note(`${name}: state`, state);
		this.note(`${name}: entries`, manager.getEntries());
		this.note(`${name}: branch`, manager.getBranch());
		this.note(`${name}: tree`, manager.getTree());
		this.note(`${name}: projection`, manager.buildSessionProjection());
	}
}

const weather = {
	name: "weather",
	label: "Weather",
	description: "Tells the weather of a place",
	parameters: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
	execute: async (_id, { place }) => ({
		content: [{ type: "text", text: `It rains in ${place} \u{1f327}` }],
		details: { place, celsius: 11.5, wind: -0 },
	}),
};

function seeing(book, steps) {
	return steps.map((step) => (context) => {
		book.note("model sees", context.messages);
		book.disk();
		return step;
	});
}

/** One model runtime whose only provider is scripted; `steps` are assistant messages, in order. */
export async function scriptedRuntime(home, book, steps) {
	const models = [{ id: "faux-1", reasoning: true, contextWindow: 100_000, maxTokens: 8192 }];
	// A fixed chunk size, because the default is random.
	const faux = ai.fauxProvider({ api: "faux", provider: "faux", models, tokenSize: { min: 6, max: 6 } });
	faux.setResponses(seeing(book, steps));
	const modelRuntime = await pi.ModelRuntime.create({
		authPath: join(agentDirOf(home), "auth.json"),
		modelsStorePath: join(agentDirOf(home), "models-store.json"),
		modelsPath: null,
	});
	modelRuntime.registerNativeProvider(faux.provider);
	return { faux, modelRuntime, model: faux.getModel() };
}

export const quietSettings = {
	retry: { enabled: true, maxRetries: 2, baseDelayMs: 1 },
	compaction: { enabled: false, keepRecentTokens: 20, reserveTokens: 1000 },
};

/** Creates the agent session with `manager` as the documented option, and notes its events. */
export async function openAgent({ manager, home, cwd, book, runtime, extensions = [] }) {
	const agentDir = agentDirOf(home);
	const settingsManager = pi.SettingsManager.inMemory(quietSettings);
	const resourceLoader = new pi.DefaultResourceLoader({
		cwd,
		agentDir,
		settingsManager,
		extensionFactories: extensions,
		noContextFiles: true,
	});
	await resourceLoader.reload();
	const { session, modelFallbackMessage } = await pi.createAgentSession({
		cwd,
		agentDir,
		settingsManager,
		resourceLoader,
		sessionManager: manager,
		modelRuntime: runtime.modelRuntime,
		model: runtime.model,
		thinkingLevel: "low",
		customTools: [weather],
		tools: ["read", "bash", "weather"],
	});
	if (session.sessionManager !== manager) throw new Error("the session runs on another manager than the one given");
	book.current = manager;
	book.note("fallback", modelFallbackMessage ?? null);
	session.subscribe((event) => book.note(`event ${event.type}`, event));
	await session.bindExtensions({
		onError: ({ event, error }) => book.note("extension error", { event, error }),
	});
	return session;
}
