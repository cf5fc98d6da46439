// pi's interactive mode in a terminal, twice: as it is published, and by `pi-native`. The same keys must lead to the
// same screens, and leave the same sessions.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startModelServer } from "../../scripts/demo/model-server.mjs";
import * as pi from "../../scripts/demo/pi.mjs";
import { Normaliser } from "../agent/normalise.js";
import { piNative } from "./fake-pi.js";
import { Terminal } from "./terminal.js";

const ANSWERS = [
	{ text: "Answer number one." },
	{ text: "Answer number two, Zoë \u{1f44b}." },
	{ text: "Answer on another branch." },
	{ text: "Answer in the fork." },
	// A turn that is cut in the middle is summed up by itself.
	{ text: "## Goal\nA summary of the fork." },
	{ text: "What came before in this turn." },
	{ text: "Answer after the summary." },
	{ text: "Answer in the resumed session." },
];
/** So little is kept that the first compaction has something to do. */
const SETTINGS = { compaction: { enabled: false, keepRecentTokens: 1 } };

/** How long ago a session was touched: the lists show it. */
const AGES = /(\d+) (now|\d+[smh])$/gm;

interface Visit {
	screens: Record<string, string>;
	sessions: string[];
	stderr: string;
	requests: string[];
}

async function visit(command: string, args: string[], env: Record<string, string> = {}): Promise<Visit> {
	const root = realpathSync(mkdtempSync(join(tmpdir(), "psn-tui-")));
	const server = await startModelServer(ANSWERS);
	const home = join(root, "home");
	const work = join(root, "work");
	const stderr = join(root, "stderr");
	mkdirSync(work);
	pi.writeAgentDir(home, server.baseUrl, SETTINGS);
	const program = { command, args, cwd: work, env: { ...pi.isolatedEnv(home), ...env }, stderr };
	const terminal = Terminal.start(root, program);
	onTestFinished(async () => {
		terminal.close();
		await server.close();
		rmSync(root, { recursive: true, force: true });
	});

	const normal = new Normaliser(root);
	const screens: Record<string, string> = {};
	const see = async (name: string, ...wanted: (string | RegExp)[]) => {
		const screen = await terminal.shows(...wanted);
		screens[name] = normal.text(screen).replace(AGES, "$1 <age>");
	};
	await talk(terminal, see);
	expect(await terminal.exit()).toBe(0);

	const sessions = join(pi.agentDirOf(home), "sessions");
	const files = readdirSync(sessions, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".jsonl"));
	// By time, which their names begin with.
	const texts = files.sort().map((name) => readFileSync(join(sessions, name), "utf8"));
	return {
		screens,
		sessions: texts.map((text) => normal.text(text)),
		stderr: existsSync(stderr) ? readFileSync(stderr, "utf8") : "",
		requests: server.requests.map((request) => normal.text(JSON.stringify(request.body))),
	};
}

async function talk(terminal: Terminal, see: (name: string, ...wanted: (string | RegExp)[]) => Promise<void>) {
	/** The line under the editor, with the tokens of so many answers. */
	const settled = (name: string, ...more: (string | RegExp)[]) => see(name, "scripted • medium", ...more);
	await settled("the start");
	await terminal.enter("First question");
	await settled("the first answer", "Answer number one.", "↓20");
	await terminal.enter("Second question");
	await settled("the second answer", "Answer number two", "↓40");

	await terminal.enter("/name My garden");
	await settled("/name", "Session name set: My garden");

	await terminal.enter("/tree");
	await see("/tree", "Session Tree", "› • assistant: Answer number two");
	terminal.press("Up");
	await see("/tree, one up", "› • user: Second question");
	terminal.press("Enter");
	await see("/tree, chosen", /No summary/);
	terminal.press("Enter");
	// The question stands in the editor again; it is asked in other words.
	await settled("back before the second question", "Navigated to selected point");
	terminal.press("C-c");
	await settled("an empty editor");
	await terminal.enter("Another question");
	await settled("the answer on another branch", "Answer on another branch.");
	await terminal.enter("/tree");
	await see("/tree with two branches", "Session Tree", "Answer number two", "Answer on another branch");
	terminal.press("Escape");
	await settled("/tree left");

	await terminal.enter("/fork");
	await see("/fork", "Fork from Message", "› Another question");
	terminal.press("Enter");
	await settled("the fork", /Forked/);
	terminal.press("C-c");
	await settled("the fork's empty editor");
	await terminal.enter("A question in the fork");
	await settled("the fork's answer", "Answer in the fork.");

	await terminal.enter("/compact");
	await settled("/compact", "[compaction]");
	terminal.press("C-o");
	await settled("the summary, opened", "A summary of the fork.");
	await terminal.enter("After it");
	await settled("the answer after the summary", "Answer after the summary.");

	await terminal.enter("/resume");
	await see("/resume", "Resume Session", /› .*My garden.*\d+ (now|\d+[smh])$/m);
	terminal.press("Down");
	await see("/resume, one down", "Resume Session", /› .*First question/);
	terminal.press("Up");
	await see("/resume, up again", "Resume Session", /› .*My garden/);
	terminal.press("Enter");
	await settled("the resumed session", "Answer on another branch.");
	await terminal.enter("And once more");
	await settled("the resumed session's answer", "Answer in the resumed session.");
	await terminal.enter("/quit");
}

it("shows the same screens and leaves the same sessions on our session manager as on its own", async () => {
	const cli = join(pi.piPackage, "dist/cli.js");
	const settings = { PI_SESSION_NATIVE_PACKAGE: pi.piPackage, PI_SESSION_NATIVE_VERBOSE: "1" };
	const visits = [visit(pi.nodeBin, [cli]), visit(pi.nodeBin, [piNative], settings)];
	const [own, ours] = await Promise.all(visits);
	expect(own.stderr).toBe("");
	expect(ours.stderr).toMatch(/^pi-session-native .*: the session manager of \S+ 0\.87\.1 \(.*\) is replaced\n$/);
	for (const name of Object.keys(own.screens)) expect(ours.screens[name], name).toBe(own.screens[name]);
	expect(Object.keys(ours.screens)).toEqual(Object.keys(own.screens));
	expect(ours.sessions).toEqual(own.sessions);
	expect(ours.requests).toEqual(own.requests);
	expect(own.sessions).toHaveLength(2);
});
