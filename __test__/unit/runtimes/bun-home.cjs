// Node reads the home directory from the environment at each call, Bun only at its start. Tests change the home
// directory while they run, so this file makes Bun behave as Node.
const os = require("node:os");

const atStart = os.homedir;
os.homedir = () => process.env.HOME || atStart();
