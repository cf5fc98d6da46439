// Runs one SDK scenario on one module, in the Node that pi needs: sdk-child.mjs <module> <scenario> <home> <cwd> <out>
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Notebook } from "./sdk-agent.mjs";
import * as scenarios from "./sdk-scenarios.mjs";

const [modulePath, name, home, cwd, out] = process.argv.slice(2);
const { SessionManager } = await import(pathToFileURL(modulePath).href);
const book = new Notebook();
await scenarios[name]({ SessionManager, home, cwd, book });
writeFileSync(out, JSON.stringify(book.notes));
