// The library of the pi that this extension runs in.
export { library } from "../takeover/library.mjs";
