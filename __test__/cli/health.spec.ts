// `pi-sessions verify` and `repair`, which show what the library says of damaged files.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { anyManager, message, user } from "../support/store.js";
import { branched, put, run, world } from "./run.js";

/** A file with a damaged line, an orphan, an id that stands twice, and a last line without an end. */
function damaged(at: ReturnType<typeof world>): string {
	const path = put(at, "s-bad", [message("a", null), message("b", "gone"), '{"type":"mess', message("a", "b", user("again"))]);
	writeFileSync(path, readFileSync(path, "utf8").slice(0, -1));
	return path;
}

describe("verify", () => {
	test("tells what is wrong, line by line, and exits with 1", async () => {
		const at = world();
		const good = put(at, "s-good", branched);
		const bad = damaged(at);
		const before = readFileSync(bad, "utf8");
		const { code, out, err } = await run(at, ["verify", "s-good", bad]);
		expect({ code, err }).toEqual({ code: 1, err: "" });
		expect(out).toContain(`good  ${good}  11 entries, `);
		expect(out).toContain(`faulty  ${bad}  3 entries, `);
		expect(out).toMatch(/^ {2}line 4 is damaged \(bytes \d+ to \d+\): /m);
		expect(out).toContain("  line 3: entry b names a parent that is not there, gone\n");
		expect(out).toContain("  id a stands on lines 2, 5\n");
		expect(out).toContain("  the last line has no end\n");
		expect(readFileSync(bad, "utf8")).toBe(before);
		expect((await run(at, ["verify", "s-good"])).code).toBe(0);
	});

	test("--json gives the library's reports, --all those of every session", async () => {
		const at = world();
		const path = damaged(at);
		put(at, "s-good", branched, { cwd: "/other" });
		const { code, out } = await run(at, ["verify", path, "--json"]);
		expect(code).toBe(1);
		expect(JSON.parse(out)).toEqual([JSON.parse(JSON.stringify(anyManager.verify(path)))]);
		const all = await run(at, ["verify", "--all", "--json"]);
		expect(JSON.parse(all.out).map(({ sessionId, ok }: any) => `${sessionId} ${ok}`).sort()).toEqual(["s-bad false", "s-good true"]);
	});
});

describe("repair", () => {
	test("mends a file and keeps it as it was", async () => {
		const at = world();
		const path = damaged(at);
		const before = readFileSync(path, "utf8");
		const { code, out } = await run(at, ["repair", path]);
		expect(code).toBe(0);
		expect(out).toMatch(/^ {2}line 4: /m);
		expect(out).toContain(`good  ${path}`);
		const [, backup] = /^The file as it was: (.*)$/m.exec(out) ?? [];
		expect(readFileSync(backup as string, "utf8")).toBe(before);
		expect(await run(at, ["verify", path])).toMatchObject({ code: 0 });
		expect((await run(at, ["repair", path])).out).toContain("Nothing to repair");
	});

	test("--dry-run changes nothing", async () => {
		const at = world();
		const path = damaged(at);
		const before = readFileSync(path, "utf8");
		expect(await run(at, ["repair", path, "--dry-run"])).toMatchObject({ code: 1, out: expect.stringContaining("line 4 is damaged") });
		expect(readFileSync(path, "utf8")).toBe(before);
		expect(existsSync(join(`${path}.bak`))).toBe(false);
	});

	test("--json gives the library's report", async () => {
		const at = world();
		const path = damaged(at);
		const { code, out } = await run(at, ["repair", path, "--json"]);
		expect(code).toBe(0);
		expect(JSON.parse(out)).toMatchObject({ path, before: { ok: false }, after: { ok: true }, backup: expect.stringContaining(path) });
	});
});

// An addon of another build than the command.
describe.each(["verify", "repair", "search"].filter((name) => !(name in anyManager)))("%s on an addon that lacks it", (name) => {
	test("says so", async () => {
		const at = world();
		const path = put(at, "s-1", branched);
		expect(await run(at, [name, path])).toMatchObject({ code: 1, out: "", err: expect.stringContaining(`has no SessionManager.${name}: update the package`) });
	});
});
