// What index.js says where no addon loads: what is there, what is needed, and what to install.
const { readdirSync, readFileSync } = require("node:fs");
const { dirname, join } = require("node:path");

const main = dirname(__dirname);
const PUBLISHED = /^(?:linux-(?:x64|arm64)-(?:gnu|musl)|darwin-(?:x64|arm64)|win32-(?:x64|arm64)-msvc)$/;
const ELF_MACHINES = new Map([[0x3e, "x64"], [0xb7, "arm64"], [0x03, "ia32"], [0x28, "arm"]]);
const MACH_MACHINES = new Map([[0x01000007, "x64"], [0x0100000c, "arm64"]]);
const PE_MACHINES = new Map([[0x8664, "x64"], [0xaa64, "arm64"], [0x014c, "ia32"]]);

/**
 * The platform that a file was built for, by its contents; undefined if it is not a program's.
 * @param {Buffer} bytes
 */
function builtFor(bytes) {
	if (bytes.length < 64) return undefined;
	if (bytes.readUInt32BE(0) === 0x7f454c46) {
		// The name of the C library that it needs, as the dynamic linker reads it.
		const libc = bytes.includes("\0libc.so.6\0") ? "-gnu" : bytes.includes("\0libc.so\0") || bytes.includes("\0libc.musl-") ? "-musl" : "";
		return `linux-${ELF_MACHINES.get(bytes.readUInt16LE(18)) ?? "other"}${libc}`;
	}
	if (bytes.readUInt32LE(0) === 0xfeedfacf) return `darwin-${MACH_MACHINES.get(bytes.readUInt32LE(4)) ?? "other"}`;
	if (bytes.toString("latin1", 0, 2) !== "MZ") return undefined;
	const at = bytes.readUInt32LE(0x3c);
	return at + 6 > bytes.length ? undefined : `win32-${PE_MACHINES.get(bytes.readUInt16LE(at + 4)) ?? "other"}-msvc`;
}

/**
 * The addon that was tried: the variable's, the clone's, or the package's.
 * @param {string} target
 */
function triedAddon(target) {
	for (const name of [process.env.NAPI_RS_NATIVE_LIBRARY_PATH, join(main, `pi-session-native.${target}.node`), `pi-session-native-${target}`]) {
		try {
			if (name) return require.resolve(name);
		} catch {
			// Not there: the next one was tried.
		}
	}
	return undefined;
}

/** The platforms whose addons or packages are beside this package. */
function platformsBeside() {
	/** @param {string} dir */
	const namesIn = (dir) => {
		try {
			return readdirSync(dir);
		} catch {
			// It only helps to say more.
			return [];
		}
	};
	const addons = namesIn(main).map((name) => /^pi-session-native\.(.+)\.node$/.exec(name)?.[1]);
	const packages = namesIn(dirname(main)).map((name) => /^pi-session-native-(.+)$/.exec(name)?.[1]);
	return [...addons, ...packages].filter((name) => name !== undefined && PUBLISHED.test(name));
}

/** The glibc that this process has. */
function glibcHere() {
	// @ts-expect-error `header` is not declared.
	return process.report?.getReport?.().header?.glibcVersionRuntime;
}

/**
 * @param {unknown[]} errors what the loader's tries failed with
 * @param {boolean} isMusl whether this Node is built for musl
 */
exports.loadErrorMessage = (errors, isMusl) => {
	const { platform, arch } = process;
	const target = `${platform}-${arch}${platform === "linux" ? (isMusl ? "-musl" : "-gnu") : platform === "win32" ? "-msvc" : ""}`;
	const say = (/** @type {string} */ text) => `pi-session-native: ${text}`;
	const remedy = `In a clone run \`npm install && npm run build\`; elsewhere install pi-session-native-${target} in the same version.`;
	const failed = /** @type {any} */ (errors.find((error) => /** @type {any} */ (error)?.code !== "MODULE_NOT_FOUND"));
	if (!PUBLISHED.test(target) && failed?.code === undefined) {
		return say(`there is no package for ${target}. A clone can be tried: \`npm install && npm run build\`.`);
	}
	if (failed) {
		const reason = String(failed.message ?? failed);
		const file = triedAddon(target);
		const needed = /version [`']GLIBC_([\d.]+)' not found/.exec(reason)?.[1];
		if (needed) return say(`${file ?? "the addon"} needs glibc ${needed}, and this system has ${glibcHere() ?? "another"}. The published package needs 2.17. ${remedy}`);
		if (file?.endsWith(".node")) {
			const found = builtFor(readFileSync(file));
			if (found === undefined) return say(`the addon for ${target} does not load: ${file} is not an addon (${reason}). ${remedy}`);
			if (found !== target) return say(`${file} is an addon for ${found}, and this is Node for ${target}. ${remedy}`);
		}
		return say(`the addon for ${target} does not load: ${reason}`);
	}
	const { NAPI_RS_NATIVE_LIBRARY_PATH: path } = process.env;
	if (path) return say(`NAPI_RS_NATIVE_LIBRARY_PATH is ${path}, and there is no addon for ${target}`);
	const others = [...new Set(platformsBeside())].sort();
	const found = others.length > 0 ? ` (there is one for ${others.join(" and one for ")}: was it installed on another system?)` : "";
	return say(`no addon for ${target} was found${found}. ${remedy}`);
};
