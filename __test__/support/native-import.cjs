// vitest rewrites every `import()` it sees and would run the reference through its own transform. A CommonJS file
// reached through `require` is left alone, so this import is Node's own and the reference runs as it was published.
module.exports = (url) => import(url);
