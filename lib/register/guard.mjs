// Imported by pi's entry modules before all else (see hooks.mjs).
import { guards } from "./guards.mjs";

guards.started(new URL(import.meta.url).searchParams.get("pi"));
