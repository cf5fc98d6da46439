// The message of index.js if no addon loads: why, and which package to install.

const PUBLISHED = /^(?:linux-(?:x64|arm64)-(?:gnu|musl)|darwin-(?:x64|arm64)|win32-(?:x64|arm64)-msvc)$/;

/** @param {string} text */
const say = (text) => `pi-session-native: ${text}`;

/**
 * The message of an error that stopped a program, on one line. If a package is missing, as in a fresh clone, it says
 * how to install it.
 * @param {unknown} error
 * @returns {string}
 */
exports.explained = (error) => {
	const { code, message = String(error) } = Object(error);
	const [, missing] = ["MODULE_NOT_FOUND", "ERR_MODULE_NOT_FOUND"].includes(code)
		? (/Cannot find (?:module|package) '([^'./\\][^']*)'/.exec(message) ?? [])
		: [];
	return missing
		? say(
				`the package ${missing} is missing. In a clone run \`npm install && npm run build\`; elsewhere install ` +
					"pi-session-native again.",
			)
		: message;
};

/**
 * @param {unknown[]} errors the errors of the loader's attempts
 * @param {boolean} isMusl whether this Node is built for musl
 */
exports.loadErrorMessage = (errors, isMusl) => {
	const { platform, arch } = process;
	const libc = platform === "linux" ? (isMusl ? "-musl" : "-gnu") : platform === "win32" ? "-msvc" : "";
	const target = `${platform}-${arch}${libc}`;
	const remedy =
		`In a clone run \`npm install && npm run build\`; elsewhere install pi-session-native-${target} in the same ` +
		"version.";
	const failed = /** @type {any} */ (errors.find((error) => /** @type {any} */ (error)?.code !== "MODULE_NOT_FOUND"));
	if (!PUBLISHED.test(target) && failed?.code === undefined) {
		return say(`there is no package for ${target}. You can build it in a clone: \`npm install && npm run build\`.`);
	}
	if (failed) return say(`the addon for ${target} does not load: ${failed.message ?? failed}. ${remedy}`);
	const { NAPI_RS_NATIVE_LIBRARY_PATH: path } = process.env;
	if (path)
		return say(
			`NAPI_RS_NATIVE_LIBRARY_PATH is ${path}, which is no addon for ${target}. Correct or unset the variable`,
		);
	return say(`no addon for ${target} was found. ${remedy}`);
};
