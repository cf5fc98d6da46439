// What index.mjs imports. In one statement Node would follow it to index.js, and read that for names.
const addon = require("../index.js");
module.exports = addon;
