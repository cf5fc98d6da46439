// Node asks the environment for the home directory whenever it is asked for it; Bun does so once, at its start. Tests
// move the home directory while they run, so for them Bun does as Node does.
const os = require("node:os");

const atStart = os.homedir;
os.homedir = () => process.env.HOME || atStart();
