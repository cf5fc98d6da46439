// The types of index.mjs for this repository; the package has those of index.d.ts for both.
export * from "./index.js";
