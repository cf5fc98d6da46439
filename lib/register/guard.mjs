// Imported by pi's entry modules (see hooks.mjs): by an unbundled one before all else, by one of the bundle last.
import { hooked } from "./hooked.mjs";

hooked.started(new URL(import.meta.url).searchParams.get("pi"));
