#!/usr/bin/env node
// Starts the installed pi on this package's session manager, and passes it all arguments.
import { startPi } from "../lib/register/main.mjs";

await startPi();
