// The address of a store: the text of PI_SYNC_STORE, `--store` and `openStore`.
//
// The text may contain a password, and may be mistyped. So a text that is not understood is refused without being
// shown. A text that looks like a URL or like `user:password@` is never taken for a path. An `@` after the host of a
// URL is refused, because it is there only if a `/`, `?` or `#` of the password was not written as %2F, %3F or %23.
const { createHash } = require("node:crypto");
const { homedir } = require("node:os");
const { join, resolve } = require("node:path");
const { fileURLToPath } = require("node:url");
const { StoreError } = require("./errors.js");

/**
 * @typedef {object} Address
 * @property {"directory" | "postgres" | "s3"} kind
 * @property {string} withSecrets an absolute path, or a URL
 * @property {string} shown the same without secrets
 * @property {string} identity equal for all addresses of a store, whatever their spelling, user and parameters of the
 * connection are; without secrets
 */

/** The parser of each scheme. @type {Record<string, (address: string) => Address>} */
const READERS = { file: (address) => directory(pathOfUrl(address)), postgres, postgresql: postgres, s3 };
/** The schema of the tables in PostgreSQL, if neither the address nor an option names one. */
const DEFAULT_SCHEMA = "pi_session_native";
const URL_START = /^([a-z][a-z0-9+.-]+):\/\//i;
/** The beginning of a path on Windows, whose colon does not separate a password. */
const DRIVE = process.platform === "win32" ? /^[a-z]:(?=[\\/])/i : /^(?!)/;
const MAY_HOLD_A_PASSWORD = [/^[a-z][a-z0-9+.-]+:/i, /:\/\//, /:.*@/s, /^[a-z][a-z0-9+.-]*\/\/.*@/is, /password\s*=/i];

/** @param {string} message */
const invalid = (message) => new StoreError("invalid", message);

/**
 * Parses the address of a store. It ignores blanks and quotes around the text, which come from a shell or an
 * environment file.
 * @param {unknown} text
 * @returns {Address}
 */
function readAddress(text) {
	if (typeof text !== "string")
		throw invalid(`The address of a store must be text, not ${text === null ? "null" : typeof text}`);
	const address = text
		.trim()
		.replace(/^(["'])(.*)\1$/s, "$2")
		.trim();
	const scheme = URL_START.exec(address)?.[1]?.toLowerCase();
	if (scheme === undefined) return directory(pathOf(address));
	const read = Object.hasOwn(READERS, scheme) ? READERS[scheme] : undefined;
	if (!read)
		throw invalid(
			`No store has addresses that begin with ${scheme}:// (use postgres://, s3://, file:// or the path of a ` +
				"directory)",
		);
	return read(address);
}

/** @param {string} path @returns {Address} */
const directory = (path) => ({ kind: "directory", withSecrets: path, shown: path, identity: path });

/** @param {string} text */
function pathOf(text) {
	if (text === "") throw invalid("The address of the store is empty");
	checkPath(text);
	return resolve(expandHome(text));
}

/** Refuses a text that may be a mistyped URL. @param {string} text */
function checkPath(text) {
	const rest = text.replace(DRIVE, "");
	if (MAY_HOLD_A_PASSWORD.some((sign) => sign.test(rest)))
		throw invalid(
			"The address of the store is neither a path nor a URL such as postgres://user@host/database, " +
				"s3://bucket/prefix or file:///directory (a path with a colon must begin with / or ./, and one with an " +
				"@ after it must be a file: URL)",
		);
}

/** @param {string} address */
function pathOfUrl(address) {
	const path = address.slice("file://".length).replace(/^\//, "").replace(DRIVE, "");
	if (/:.*@/s.test(path)) throw invalid("An @ after a colon in a file: address must be written %40");
	const url = parseUrl(address);
	try {
		return resolve(fileURLToPath(url));
	} catch {
		throw invalid("A file: address must be of this machine: file:///directory");
	}
}

/** @param {string} address @returns {Address} */
function postgres(address) {
	const [, afterHost = ""] = /^[^:]*:\/\/[^/?#]*(.*)$/s.exec(address) ?? [];
	if (afterHost.includes("@"))
		throw invalid(
			"An @ after the host of a PostgreSQL address must be written %40, and in a password / ? # must be " +
				"written %2F %3F %23",
		);
	const url = parseUrl(address);
	// `pg` takes missing parts from the environment, and a missing database from the user's name.
	const { PGHOST, PGPORT, PGDATABASE, PGUSER } = process.env;
	const of = (/** @type {string} */ name) => url.searchParams.get(name);
	const host = url.searchParams.getAll("host").at(-1) || url.hostname || PGHOST;
	if (!host) throw invalid("The address of the store names no host: postgres://user@host/database");
	const database = url.pathname.slice(1) || of("database") || PGDATABASE || url.username || of("user") || PGUSER || "";
	const port = of("port") || url.port || PGPORT || 5432;
	const identity = `postgres://${host}:${port}/${database}?schema=${of("schema") ?? DEFAULT_SCHEMA}`;
	return { kind: "postgres", withSecrets: url.href, shown: withoutSecrets(url), identity };
}

/** @param {string} address @returns {Address} */
function s3(address) {
	const rest = address.slice("s3://".length);
	if (/^[^/?#]*@|:.*@/s.test(rest))
		throw invalid(
			"Credentials of S3 are not part of the address: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (an @ " +
				"after a colon: write %40)",
		);
	const url = parseUrl(address);
	if (!url.hostname) throw invalid("The address of the store names no bucket: s3://bucket/prefix");
	if (url.port) throw invalid("A bucket has no port: s3://bucket/prefix?endpoint=http://host:port");
	const endpoint = url.searchParams.get("endpoint") ?? endpointOfEnvironment() ?? "";
	const bucket = `s3://${url.hostname}${url.pathname.replace(/\/+$/, "")}`;
	return {
		kind: "s3",
		withSecrets: url.href,
		shown: withoutSecrets(url),
		identity: `${bucket}?endpoint=${endpoint.replace(/\/+$/, "")}`,
	};
}

const endpointOfEnvironment = () => process.env.AWS_ENDPOINT_URL_S3 || process.env.AWS_ENDPOINT_URL || undefined;

/** The parameter `timeout` of an address: milliseconds. @param {URL} url */
function timeoutIn(url) {
	const text = url.searchParams.get("timeout");
	return text === null ? undefined : checkTimeout(/^\d+$/.test(text) ? Number(text) : text);
}

/** The limit of timers: about 24 days. */
const LONGEST_TIMEOUT = 2 ** 31 - 1;

/** @param {unknown} timeout */
function checkTimeout(timeout) {
	if (typeof timeout === "number" && Number.isInteger(timeout) && timeout >= 1 && timeout <= LONGEST_TIMEOUT)
		return timeout;
	throw invalid(`The timeout of a store must be a whole number of milliseconds, 1 to ${LONGEST_TIMEOUT}`);
}

/**
 * A name without secrets for files of this machine about a store.
 * @param {string} address
 * @param {string} [more] text that distinguishes files about the same store
 */
const addressKey = (address, more = "") =>
	createHash("sha256")
		.update(`${readAddress(address).identity}${more}`)
		.digest("hex")
		.slice(0, 16);

/** @param {Address} address */
function hasPassword({ kind, withSecrets }) {
	if (kind !== "postgres") return false;
	const url = new URL(withSecrets);
	return url.password !== "" || url.searchParams.has("password");
}

/** A URL that can be shown: without its password, and without parameters, which may be keys. @param {URL} url */
function withoutSecrets(url) {
	const user = url.username ? `${url.username.split("%40", 1)[0]}@` : "";
	return `${url.protocol}//${user}${url.host}${url.pathname.slice(url.pathname.lastIndexOf("@") + 1)}`;
}

/**
 * Parses a URL. The error of `URL` itself contains the whole text with the password, so we throw another one.
 * @param {string} text
 */
function parseUrl(text) {
	try {
		return new URL(text);
	} catch {
		const scheme = URL_START.exec(text)?.[1]?.toLowerCase();
		throw invalid(
			`The address of the store is no URL (it begins with ${scheme === undefined ? "no scheme" : `${scheme}:`})`,
		);
	}
}

/** A path, with the home directory in place of a `~` at its beginning. @param {string} path */
const expandHome = (path) => (/^~(?:[\\/]|$)/.test(path) ? join(homedir(), path.slice(1)) : path);

exports.DEFAULT_SCHEMA = DEFAULT_SCHEMA;
exports.addressKey = addressKey;
exports.checkPath = checkPath;
exports.checkTimeout = checkTimeout;
exports.endpointOfEnvironment = endpointOfEnvironment;
exports.hasPassword = hasPassword;
exports.parseUrl = parseUrl;
exports.readAddress = readAddress;
exports.timeoutIn = timeoutIn;
exports.expandHome = expandHome;
