// `node --import pi-session-native/register <pi or a script that uses its SDK>`: pi's session manager is this
// package's.
import { registerMain } from "./lib/register/main.mjs";

registerMain();
