// Imported first by each of pi's unbundled entry modules (see hooks.mjs).
import { hooked } from "./hooked.mjs";

hooked.started(String(new URL(import.meta.url).searchParams.get("pi")));
