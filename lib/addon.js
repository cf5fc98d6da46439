// Imported by index.mjs. With `module.exports = require(…)` Node would parse index.js for the names of exports.
const addon = require("../index.js");
module.exports = addon;
