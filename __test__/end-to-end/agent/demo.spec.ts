// `npm start` as a user runs it: the agent's conversation and its session, a file of one's own, and bad files.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { moduleUnderTest, root } from "../../../scripts/demo/pi.mjs";

const folder = mkdtempSync(join(tmpdir(), "psn-demo-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function node(args: string[]) {
	// The module is there already, so nothing is built; a home of its own shows what the demo leaves behind.
	const env = { ...process.env, PSN_MODULE: moduleUnderTest, HOME: folder, NO_COLOR: "1" };
	const { status, stdout, stderr } = spawnSync(process.execPath, args, {
		cwd: folder,
		env,
		encoding: "utf8",
		timeout: 500_000,
	});
	return { status, stdout, stderr };
}
const start = (...args: string[]) => node([join(root, "scripts/start.mjs"), ...args]);
const digest = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex");

function write(name: string, lines: unknown[]): string {
	const file = join(folder, name);
	writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
	return file;
}

describe("npm start", () => {
	it("runs the agent and shows the session it left", () => {
		const { status, stdout, stderr } = start();
		expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
		expect(stdout).toContain("you       What is left to do here?");
		expect(stdout).toContain("8 imports of pi's own session manager led to ours");
		expect(stdout).toMatch(/├─○ \w+ user Count the open items .*\[before counting\]/);
		expect(stdout).toMatch(/● \w+ assistant The plants are watered\..* ◀ leaf/);
		expect(stdout).toContain("SessionManager.listAll: 1 session");
		expect(readdirSync(folder).filter((name) => name.startsWith(".pi"))).toEqual([]);
	});

	it("shows a file of the first version and leaves it as it is", () => {
		const file = write("old.txt", [
			{ type: "session", id: "old", timestamp: "2025-11-20T10:00:00.000Z", cwd: folder, provider: "p", modelId: "m" },
			{
				type: "message",
				timestamp: "2025-11-20T10:00:01.000Z",
				message: { role: "user", content: "red \u001b[31malert" },
			},
			{ type: "message", timestamp: "2025-11-20T10:00:02.000Z", message: { role: "hookMessage", content: "hooked" } },
		]);
		const before = digest(file);
		const { status, stdout, stderr } = start("old.txt");
		expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
		expect(stdout).toContain("2 entries, 2 on the active branch");
		expect(stdout).toMatch(/● \w+ user red alert\n/);
		expect(stdout).toMatch(/● \w+ custom hooked ◀ leaf/);
		expect(digest(file)).toBe(before);
		expect(readdirSync(folder)).toEqual(["old.txt"]);
	});

	it("draws a long chain and many branches without recursion", () => {
		const at = "2025-11-20T10:00:00.000Z";
		const user = (id: string, parentId: string | null) => ({
			type: "message",
			id,
			parentId,
			timestamp: at,
			message: { role: "user", content: id },
		});
		const chain = Array.from({ length: 20_000 }, (_, index) => user(`a${index}`, index === 0 ? null : `a${index - 1}`));
		const file = write("long.jsonl", [
			{ type: "session", version: 3, id: "long", timestamp: at, cwd: folder },
			...chain,
			user("b", "a5"),
			user("c", "a5"),
		]);
		const { status, stdout } = start(file);
		rmSync(file);
		expect(status).toBe(0);
		expect(stdout).toContain("20002 entries, 7 on the active branch");
		expect(stdout).toMatch(/├─○ a6 user a6\n/);
		expect(stdout).toMatch(/│ ○ a19999 user a19999\n├─○ b user b\n● c user c ◀ leaf\n/);
	});

	it("names a file it cannot show, and ends with exit code 1", () => {
		const noSession = write("no-session.json", [{ type: "message" }]);
		const cases: [string, RegExp][] = [
			["missing.jsonl", /The file does not exist: /],
			[".", /Not a file: /],
			["no-session.json", /not a valid pi session/],
		];
		for (const [name, reason] of cases) {
			const { status, stderr } = start(name);
			expect(status, name).toBe(1);
			expect(stderr).toMatch(reason);
			expect(stderr).toContain(join(folder, name === "." ? "" : name).replace(/\/$/, ""));
		}
		expect(readFileSync(noSession, "utf8")).toBe('{"type":"message"}\n');
		rmSync(noSession);
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
