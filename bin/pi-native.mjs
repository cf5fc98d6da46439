#!/usr/bin/env node
// Starts the installed pi on this package's session manager. Every argument is pi's.
import { startPi } from "../lib/register/main.mjs";

await startPi();
