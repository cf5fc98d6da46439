// `npm run runtimes` says on which runtime it runs the suite; this says whether that is so.
import { expect, test } from "vitest";
import { runtime } from "../support/runtime.js";

const said = process.env.PSN_RUNTIME ?? "";

test("the tests run in the runtime that is said, workers and all", () => {
	const versions: Record<string, string | undefined> = process.versions;
	if (said === "") expect(versions[runtime]).toBeDefined();
	else if (said.startsWith("node")) {
		expect(runtime).toBe("node");
		expect(versions.node?.split(".")[0]).toBe(said.slice("node".length));
	} else {
		expect(runtime).toBe(said);
	}
});
