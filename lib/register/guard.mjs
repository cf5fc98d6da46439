// Imported by pi's entry modules (see hooks.mjs): first by an unbundled one, last by one of the bundle.
import { hooked } from "./hooked.mjs";

hooked.started(new URL(import.meta.url).searchParams.get("pi"));
