// pi's interactive mode in a terminal, twice: as it is published, and by `pi-native`. The same keys must lead to the
// same screens and the same sessions. The test goes step by step: it waits until the screens are equal, however often a
// slow program is at rest before.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import * as pi from "../../../scripts/demo/pi.mjs";
import { Normaliser } from "../../support/agent/normalise.js";
import { inTerminal, stderrOf, type World, world } from "../extension/pi.js";
import { Both } from "./terminal.js";

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

/** The files, and the requests to the model, after pi has ended. */
function left(at: World): { sessions: string[]; requests: string[] } {
	const normal = new Normaliser(at.root);
	const files = readdirSync(at.sessions, { recursive: true, encoding: "utf8" }).filter((name) =>
		name.endsWith(".jsonl"),
	);
	return {
		// Sorted by time, with which their names begin.
		sessions: files.sort().map((name) => normal.text(readFileSync(join(at.sessions, name), "utf8"))),
		requests: at.server.requests.map((request) => normal.text(JSON.stringify(request.body))),
	};
}

async function talk(terminal: Both, worlds: readonly [own: World, ours: World]): Promise<void> {
	const enter = (line: string) => terminal.do((one) => one.enter(line));
	/** Both screens show all of these texts, and are equal, with names in place of ids and times. */
	const see = (...wanted: (string | RegExp)[]) =>
		terminal.agree(wanted, (screen, isOurs) =>
			new Normaliser(worlds[isOurs ? 1 : 0].root).text(screen).replace(AGES, "$1 <age>"),
		);
	/** The line under the editor, with the tokens of this many answers. */
	const settled = (...more: (string | RegExp)[]) => see("scripted • medium", ...more);
	await settled();
	await enter("First question");
	await settled("Answer number one.", "↓20");
	await enter("Second question");
	await settled("Answer number two", "↓40");

	await enter("/name My garden");
	await settled("Session name set: My garden");

	await enter("/tree");
	await see("Session Tree", "› • assistant: Answer number two");
	terminal.press("Up");
	await see("› • user: Second question");
	terminal.press("Enter");
	await see(/No summary/);
	terminal.press("Enter");
	// The question is in the editor again, and is asked in other words.
	await settled("Navigated to selected point");
	terminal.press("C-c");
	await settled();
	await enter("Another question");
	await settled("Answer on another branch.");
	await enter("/tree");
	await see("Session Tree", "Answer number two", "Answer on another branch");
	terminal.press("Escape");
	await settled();

	await enter("/fork");
	await see("Fork from Message", "› Another question");
	terminal.press("Enter");
	await settled(/Forked/);
	terminal.press("C-c");
	await settled();
	await enter("A question in the fork");
	await settled("Answer in the fork.");

	await enter("/compact");
	await settled("[compaction]");
	terminal.press("C-o");
	await settled("A summary of the fork.");
	await enter("After it");
	await settled("Answer after the summary.");

	await enter("/resume");
	await see("Resume Session", /› .*My garden.*\d+ (now|\d+[smh])$/m);
	terminal.press("Down");
	await see("Resume Session", /› .*First question/);
	terminal.press("Up");
	await see("Resume Session", /› .*My garden/);
	terminal.press("Enter");
	await settled("Answer on another branch.");
	await enter("And once more");
	await settled("Answer in the resumed session.");
	await enter("/quit");
}

// pi.spec.ts runs the unbundled command line of 0.87.1 as well.
it.each([
	{ version: "0.87.1", dir: pi.piPackage },
	{ version: pi.earlierVersion, dir: pi.earlierPackage },
	{ version: pi.referenceVersion, dir: pi.referencePackage },
])("pi $version shows the same screens on both managers", async ({ version, dir }) => {
	const worlds = [await world(ANSWERS, SETTINGS), await world(ANSWERS, SETTINGS)] as const;
	const stderr = join(worlds[1].root, "stderr");
	const env = { PI_SESSION_NATIVE_VERBOSE: "1" };
	const own = await inTerminal(worlds[0], { release: dir, extension: false, stderr: join(worlds[0].root, "stderr") });
	const ours = await inTerminal(worlds[1], { release: dir, extension: false, hooked: "pi-native", stderr, env });
	await talk(new Both(own, ours), worlds);
	expect(await Promise.all([own.exit(), ours.exit()])).toEqual([0, 0]);
	expect(stderrOf(join(worlds[0].root, "stderr"))).toBe("");
	expect(stderrOf(stderr)).toMatch(/^pi-session-native .*: the session manager of .* is replaced\n$/);
	expect(stderrOf(stderr)).toContain(`${version} (${dir})`);
	const [before, after] = worlds.map(left);
	expect(after).toEqual(before);
	expect(after?.sessions).toHaveLength(2);
});
