// The one rule for `~` in paths that no shell has expanded.
const { homedir } = require("node:os");

/**
 * A path, with the home directory for a `~` at its beginning.
 * @param {string} path
 */
const expandHome = (path) => path.replace(/^~(?=[\\/]|$)/, () => homedir());

exports.expandHome = expandHome;
