// Runs before each test file, so that code without its own home writes nothing to the user's agent directory, and the
// output of programs does not depend on who runs the tests.
import { mkdtempSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { remove } from "./remove.js";

// cargo and rustup find their files by the home, so we name the user's.
process.env.CARGO_HOME ??= join(homedir(), ".cargo");
process.env.RUSTUP_HOME ??= join(homedir(), ".rustup");

const home = mkdtempSync(join(tmpdir(), "psn-home-"));
// Windows uses another variable.
process.env.HOME = process.env.USERPROFILE = home;
delete process.env.PI_CODING_AGENT_DIR;
// Programs would write colours into pipes.
delete process.env.CI;
delete process.env.FORCE_COLOR;
afterAll(() => remove(home));
