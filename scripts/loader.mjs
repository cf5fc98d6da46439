// After napi's build: changes index.js, the loader that napi generated, in two places.
//
// First, its error message blames npm and recommends deleting the lock file, although in a clone the addon was only not
// built yet; our message is in lib/load-error.js. Second, it derives Node's C library from the system's `ldd`, which
// may differ; we read the dynamic linker in the first bytes of Node's program, and use napi's other ways if it is not
// there.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const file = join(dirname(fileURLToPath(import.meta.url)), "../index.js");

const MESSAGE = /new Error\(\s*`Cannot find native binding\. `[\s\S]*?directory\.',\s*\)/;
const OUR_MESSAGE = "new Error(require('./lib/load-error.js').loadErrorMessage(loadErrors, isMusl()))";
const LDD = "return readFileSync('/usr/bin/ldd', 'utf-8').includes('musl')";
const OUR_LINKER = `// Changed by scripts/loader.mjs.
    const head = Buffer.alloc(4096)
    const program = openSync(process.execPath, 'r')
    readSync(program, head, 0, head.length, 0)
    closeSync(program)
    return head.includes('/ld-musl-') || (head.includes('/ld-linux-') ? false : null)`;
const IMPORT = "const { readFileSync } = require('fs')";
const OUR_IMPORT = "const { closeSync, openSync, readSync } = require('fs')";

let loader = readFileSync(file, "utf8");
if (!loader.includes(OUR_MESSAGE)) {
	for (const [pattern, ours] of [
		[MESSAGE, OUR_MESSAGE],
		[LDD, OUR_LINKER],
		[IMPORT, OUR_IMPORT],
	]) {
		if (loader.split(pattern).length !== 2)
			throw new Error("napi generated another index.js than scripts/loader.mjs expects: adapt its patterns");
		loader = loader.replace(pattern, () => ours);
	}
	writeFileSync(file, loader);
}
