// pi's interactive mode in a terminal, twice: as it is published, and by `pi-native`. The same keys must lead to the
// same screens and the same sessions. The test goes step by step: it waits until the screens are equal, however often a
// slow program is at rest before.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startModelServer } from "../../../scripts/demo/model-server.mjs";
import * as pi from "../../../scripts/demo/pi.mjs";
import { Normaliser } from "../../support/agent/normalise.js";
import { remove } from "../../support/remove.js";
import { piNative } from "./fake-pi.js";
import { DEADLINE_MS, Terminal } from "./terminal.js";

const ANSWERS = [
	{ text: "Answer number one." },
	{ text: "Answer number two, Zoë \u{1f44b}." },
	{ text: "Answer on another branch." },
	{ text: "Answer in the fork." },
	// pi summarizes separately a turn that is cut in the middle.
	{ text: "## Goal\nA summary of the fork." },
	{ text: "What came before in this turn." },
	{ text: "Answer after the summary." },
	{ text: "Answer in the resumed session." },
];
/** Few tokens are kept, so that the first compaction has something to replace. */
const SETTINGS = { compaction: { enabled: false, keepRecentTokens: 1 } };

/** The age of a session, which the lists show. */
const AGES = /(\d+) (now|\d+[smh])$/gm;

/** A run of pi in its own terminal. */
class Visit {
	readonly root = realpathSync(mkdtempSync(join(tmpdir(), "psn-tui-")));
	readonly home = join(this.root, "home");

	private constructor(readonly server: Awaited<ReturnType<typeof startModelServer>>) {}

	terminal!: Terminal;

	static async start(command: string, args: string[], env: Record<string, string> = {}): Promise<Visit> {
		const visit = new Visit(await startModelServer(ANSWERS));
		const { root, home } = visit;
		const work = join(root, "work");
		mkdirSync(work);
		pi.writeAgentDir(home, visit.server.baseUrl, SETTINGS);
		const program = {
			command,
			args,
			cwd: work,
			env: { ...pi.isolatedEnv(home), ...env },
			stderr: join(root, "stderr"),
		};
		visit.terminal = Terminal.start(root, program);
		onTestFinished(async () => {
			visit.terminal.close();
			await visit.server.close();
			await remove(root);
		});
		return visit;
	}

	/** The screen when it shows all of these texts and is at rest, with names in place of ids and times. */
	async screen(wanted: (string | RegExp)[]): Promise<string> {
		return new Normaliser(this.root).text(await this.terminal.shows(...wanted)).replace(AGES, "$1 <age>");
	}

	/** The files after the program has ended. */
	left(): { sessions: string[]; stderr: string; requests: string[] } {
		const normal = new Normaliser(this.root);
		const sessions = join(pi.agentDirOf(this.home), "sessions");
		const files = readdirSync(sessions, { recursive: true, encoding: "utf8" }).filter((name) =>
			name.endsWith(".jsonl"),
		);
		const stderr = join(this.root, "stderr");
		return {
			// Sorted by time, with which their names begin.
			sessions: files.sort().map((name) => normal.text(readFileSync(join(sessions, name), "utf8"))),
			stderr: existsSync(stderr) ? readFileSync(stderr, "utf8") : "",
			requests: this.server.requests.map((request) => normal.text(JSON.stringify(request.body))),
		};
	}
}

/** Terminals that receive the same keys. */
class Both {
	constructor(readonly visits: readonly [own: Visit, ours: Visit]) {}

	press(key: string): void {
		for (const { terminal } of this.visits) terminal.press(key);
	}

	async enter(line: string): Promise<void> {
		await Promise.all(this.visits.map(({ terminal }) => terminal.enter(line)));
	}

	/** Both screens show all of these texts, and are equal. */
	async see(name: string, ...wanted: (string | RegExp)[]): Promise<void> {
		for (const deadline = Date.now() + DEADLINE_MS; ; ) {
			const [own, ours] = await Promise.all(this.visits.map((visit) => visit.screen(wanted)));
			if (own === ours) return;
			if (Date.now() > deadline) expect(ours, name).toBe(own);
		}
	}
}

async function talk(terminal: Both): Promise<void> {
	const see = terminal.see.bind(terminal);
	/** The line under the editor, with the tokens of this many answers. */
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
	// The question is in the editor again, and is asked in other words.
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

// pi.spec.ts runs the unbundled command line of 0.87.1 as well.
it.each([
	{ version: "0.87.1", dir: pi.piPackage },
	{ version: pi.earlierVersion, dir: pi.earlierPackage },
	{ version: pi.referenceVersion, dir: pi.referencePackage },
])("pi $version shows the same screens on both managers", async ({ version, dir }) => {
	const cli = join(dir, "dist/bundle/cli.js");
	const settings = { PI_SESSION_NATIVE_PACKAGE: dir, PI_SESSION_NATIVE_VERBOSE: "1" };
	const visits = [await Visit.start(pi.nodeBin, [cli]), await Visit.start(pi.nodeBin, [piNative], settings)] as const;
	await talk(new Both(visits));
	expect(await Promise.all(visits.map(({ terminal }) => terminal.exit()))).toEqual([0, 0]);
	const [own, ours] = visits.map((visit) => visit.left());
	expect(own?.stderr).toBe("");
	expect(ours?.stderr).toMatch(/^pi-session-native .*: the session manager of .* is replaced\n$/);
	expect(ours?.stderr).toContain(`${version} (${dir})`);
	expect(ours?.sessions).toEqual(own?.sessions);
	expect(ours?.requests).toEqual(own?.requests);
	expect(own?.sessions).toHaveLength(2);
});
