// `npm start` as a user runs it: the agent's conversation and its session, and a session on a machine where pi cannot
// run.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { moduleUnderTest, root } from "../../../scripts/demo/pi.mjs";

const folder = mkdtempSync(join(tmpdir(), "psn-demo-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function node(args: string[]) {
	// The module exists, so nothing is built. A new home shows the files that the demo leaves.
	const env = { ...process.env, PSN_MODULE: moduleUnderTest, HOME: folder, NO_COLOR: "1" };
	const { status, stdout, stderr } = spawnSync(process.execPath, args, {
		cwd: folder,
		env,
		encoding: "utf8",
		timeout: 500_000,
	});
	return { status, stdout, stderr };
}

describe("npm start", () => {
	it("runs the agent and shows the session it left", () => {
		const { status, stdout, stderr } = node([join(root, "scripts/start.mjs")]);
		expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
		expect(stdout).toContain("you       What is left to do here?");
		expect(stdout).toContain("8 imports of pi's own session manager led to ours");
		expect(stdout).toMatch(/├─○ \w+ user Count the open items .*\[before counting\]/);
		expect(stdout).toMatch(/● \w+ assistant The plants are watered\..* ◀ leaf/);
		expect(stdout).toContain("SessionManager.listAll: 1 session");
		expect(readdirSync(folder).filter((name) => name.startsWith(".pi"))).toEqual([]);
	});

	it("has a session to show where pi cannot run", () => {
		const url = (path: string) => JSON.stringify(pathToFileURL(path).href);
		const demo = join(root, "scripts/demo");
		const code = `
			const module = await import(${url(moduleUnderTest)});
			const { writeSampleSession } = await import(${url(join(demo, "sample-session.mjs"))});
			const { showSession } = await import(${url(join(demo, "show-session.mjs"))});
			await showSession(module, writeSampleSession(module, ${JSON.stringify(join(folder, "sample"))}));`;
		const { status, stdout, stderr } = node(["--input-type=module", "-e", code]);
		rmSync(join(folder, "sample"), { recursive: true, force: true });
		expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
		expect(stdout).toMatch(/├─○ \w+ user Count them/);
		expect(stdout).toMatch(/^● \w+ branch_summary .*They were counted: two\./m);
		expect(stdout).toContain("A session without an agent");
	});
});
