// Memory of 20,000 managers that are opened, read and dropped, and growth per entry of a million appends:
//   npm run leaks -- --managers 20000 --entries 1000000
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { managers: { type: "string" }, entries: { type: "string" } } });
const script = fileURLToPath(new URL("../__test__/faults/leaks.mjs", import.meta.url));
const args = ["--expose-gc", script, values.managers ?? "20000", values.entries ?? "1000000"];
process.exit(spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1);
