// Before each test file: what runs without a home of its own leaves nothing in the user's agent directory.
import { mkdtempSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { remove } from "./remove.js";

// cargo and rustup are found by the home, too, and are the user's.
process.env.CARGO_HOME ??= join(homedir(), ".cargo");
process.env.RUSTUP_HOME ??= join(homedir(), ".rustup");

const home = mkdtempSync(join(tmpdir(), "psn-home-"));
// Windows has another name for it.
process.env.HOME = process.env.USERPROFILE = home;
delete process.env.PI_CODING_AGENT_DIR;
afterAll(() => remove(home));
