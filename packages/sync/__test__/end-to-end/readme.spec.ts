// The README's commands, in their order, as a reader types them. Functions replace commands that need a network or
// minutes.
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { put, runProgram } from "../../../../__test__/support/cli.js";
import { message, root, scratch, user } from "../../../../__test__/support/scratch.js";
import { nodeBin, piPackage } from "../../../../scripts/demo/pi.mjs";
import { piSync } from "../support/cli.js";

const ID = "0194aaaa-1111-7000-8000-000000000001";
const README = readFileSync(join(root, "packages/sync/README.md"), "utf8");
const blocks = (language: string) =>
	[...README.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "gs"))].map(([, code]) => code as string);
/** A clone is a link to this clone, and npm's global folder is a folder of the reader. */
const FUNCTIONS = `
git() { if [ "$1" = clone ]; then ln -s '${root}' "$3"; else command git "$@"; fi; }
npm() { case "$*" in
	"install --global ./packages/sync") test -f packages/sync/package.json && ln -s '${piSync}' ~/bin/pi-sync;;
	"uninstall --global pi-session-sync") rm ~/bin/pi-sync;;
	install | "run build") test -f package-lock.json;;
	*) false;;
esac; }
`;

// Regression: the last line pushed the sessions of the clone. So nothing was stored, but it printed "Everything is
// stored".
test("the set-up stores the project's sessions, and can be undone", async () => {
	const home = scratch();
	const agent = join(home, ".pi/agent");
	const project = join(home, "my-project");
	mkdirSync(join(home, "bin"));
	mkdirSync(project);
	symlinkSync(join(piPackage, "dist/bundle/cli.js"), join(home, "bin/pi"));
	const env = {
		HOME: home,
		PATH: `${join(home, "bin")}:${dirname(nodeBin)}:${process.env.PATH}`,
		PI_OFFLINE: "1",
		PI_SYNC_PROJECT: "shop",
	};
	const at = { agent, cwd: project, env };
	put(at, ID, [message("a", null, user("hello"))]);
	const [setUp, undo] = blocks("sh").filter((code) => code.includes("pi-session-native")) as [string, string];
	const run = (code: string) => runProgram("bash", ["-ec", FUNCTIONS + code], { cwd: home, env });

	expect(await run(setUp)).toMatchObject({ code: 0, out: expect.stringMatching(/ stored {2}0194aaaa/) });
	writeFileSync(join(agent, "session-store.json"), blocks("json")[0] as string, { mode: 0o600 });
	const again = await run("cd ~/my-project && pi-sync push");
	expect(again).toMatchObject({ code: 0, out: "Everything is stored\n", err: "" });
	expect(readFileSync(join(agent, "settings.json"), "utf8")).toContain("packages/sync");

	expect(await run(undo)).toMatchObject({ code: 0 });
	expect(readFileSync(join(agent, "settings.json"), "utf8")).not.toContain("packages/sync");
	expect(readdirSync(agent).filter((name) => name.includes("session-store"))).toEqual([]);
	expect(existsSync(join(home, "bin/pi-sync"))).toBe(false);
});
