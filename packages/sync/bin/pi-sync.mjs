#!/usr/bin/env node
import { main } from "../lib/cli/main.mjs";

await main(process.argv.slice(2));
