// `node --import /path/to/pi-session-native/register.mjs <pi or a script that uses its SDK>` runs pi on this package's
// session manager. For a bare name Node would search below the working directory (docs/takeover.md).
import { registerMain } from "./lib/register/main.mjs";

registerMain();
