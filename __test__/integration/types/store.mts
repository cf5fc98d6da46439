// An adapter for another store has all the types that it needs, and the compiler names the members that are missing.
import {
	type Append,
	type Appended,
	type LineStore,
	openStore,
	StoreError,
	type StoreErrorCode,
} from "pi-session-sync";
import { holds, type IsAny } from "./compare.mjs";

const opened: LineStore = await openStore("/somewhere", { host: "laptop" });
const { stored, cursor }: Appended = await opened.append("id", {
	header: new Uint8Array(),
	lines: [Buffer.from("{}")],
	after: "",
});
const code: StoreErrorCode = new StoreError("full", "no room").code;
const { lines, problems } = await opened.load("id", cursor);
holds<false, [IsAny<typeof opened>, IsAny<typeof stored>, IsAny<typeof lines>, IsAny<typeof problems>]>();

// @ts-expect-error: text is no line
const text: Append = { header: new Uint8Array(), lines: ["{}"] };
// @ts-expect-error: a store has more methods
const half: LineStore = { host: "a", close: async () => {} };
// @ts-expect-error: every host has a name
await openStore("/somewhere", {});

export { code, half, text };
