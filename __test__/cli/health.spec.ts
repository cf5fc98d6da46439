// What the command says on an addon of another build than its own.
import { describe, expect, test } from "vitest";
import { anyManager } from "../support/store.js";
import { branched, put, run, world } from "./run.js";

describe.each(["verify", "repair", "search"].filter((name) => !(name in anyManager)))("%s on an addon that lacks it", (name) => {
	test("says so", async () => {
		const at = world();
		const path = put(at, "s-1", branched);
		expect(await run(at, [name, path])).toMatchObject({ code: 1, out: "", err: expect.stringContaining(`has no SessionManager.${name}: update the package`) });
	});
});
