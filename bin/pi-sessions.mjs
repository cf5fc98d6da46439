#!/usr/bin/env node
// The command `pi-sessions`: what it can do is in `lib/cli/program.mjs`.
import { main } from "../lib/cli/main.mjs";

await main(process.argv.slice(2));
