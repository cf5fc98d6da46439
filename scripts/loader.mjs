// After napi's build: puts our own message into index.js, the loader that napi generated. Its own one blames npm, and tells people to
// delete their lock file, though in a clone the addon was only not built yet.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const file = join(dirname(fileURLToPath(import.meta.url)), "../index.js");

const GENERATED = /new Error\(\s*`Cannot find native binding\. `[\s\S]*?directory\.',\s*\)/;
const OURS = "new Error(createLoadErrorMessage(loadErrors))";
const BEFORE = "function createLoadErrorChain(errors) {";
const FUNCTION = `// Added by scripts/loader.mjs.
function createLoadErrorMessage(errors) {
  const { platform, arch } = process
  const abi = platform === 'linux' ? (isMusl() ? '-musl' : '-gnu') : platform === 'win32' ? '-msvc' : ''
  const target = \`\${platform}-\${arch}\${abi}\`
  const failed = errors.find((error) => error?.code !== 'MODULE_NOT_FOUND')
  if (failed) {
    return \`pi-session-native: the addon for \${target} does not load: \${failed.message ?? failed}\`
  }
  const { NAPI_RS_NATIVE_LIBRARY_PATH: path } = process.env
  if (path) {
    return \`pi-session-native: NAPI_RS_NATIVE_LIBRARY_PATH is \${path}, and there is no addon for \${target}\`
  }
  return (
    \`pi-session-native: no addon for \${target} was found. In a clone run \\\`npm install && npm run build\\\`; \` +
    \`elsewhere install pi-session-native-\${target} in the same version.\`
  )
}

`;

const loader = readFileSync(file, "utf8");
if (!loader.includes(OURS)) {
	const parts = [loader.split(GENERATED).length, loader.split(BEFORE).length];
	if (parts.some((count) => count !== 2)) throw new Error("napi generated another index.js than scripts/loader.mjs expects: adapt its patterns");
	writeFileSync(file, loader.replace(GENERATED, () => OURS).replace(BEFORE, () => FUNCTION + BEFORE));
}
