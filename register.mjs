// `node --import pi-session-native/register <pi or a script that uses its SDK>` runs pi on this package's session
// manager.
import { registerMain } from "./lib/register/main.mjs";

registerMain();
