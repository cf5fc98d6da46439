// vitest rewrites every `import()` that it transforms, and would transform the reference, too. It does not transform a
// CommonJS file that is loaded by `require`. So this import is Node's own, and the reference runs as it was published.
module.exports = (url) => import(url);
