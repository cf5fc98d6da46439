// The one error of stores.
//
// It has no text of the caller's URL. A driver's message is included, its arguments are not.

/** @typedef {import("./index").StoreErrorCode} StoreErrorCode */

/** Errors that may pass: the same call may succeed later. */
const RETRYABLE = new Set(["unreachable", "full"]);

class StoreError extends Error {
	/**
	 * @param {StoreErrorCode} code
	 * @param {string} message
	 * @param {{ cause?: unknown }} [options]
	 */
	constructor(code, message, options) {
		super(message, options);
		this.name = "StoreError";
		this.code = code;
		this.retryable = RETRYABLE.has(code);
	}
}

/**
 * A URL that can be shown: without its password, and without parameters, which may be keys.
 * @param {URL} url
 */
function withoutSecrets(url) {
	const user = url.username ? `${url.username}@` : "";
	return `${url.protocol}//${user}${url.host}${url.pathname}`;
}

/**
 * Whether the address of a store is a URL: else it is a path. What is neither, but may hold a password, is refused without its text.
 * @param {string} address
 */
function isUrl(address) {
	// A path, on Windows too, where a drive looks like a scheme of one letter.
	if (/^[a-z][a-z0-9+.-]+:/i.test(address)) return true;
	if (/password\s*=/i.test(address) || /^[a-z][a-z0-9+.-]*\/\/[^@]*@/i.test(address))
		throw new StoreError("invalid", "The address of the store is neither a path nor a URL such as postgres://user@host/database");
	return false;
}

/**
 * Parses a URL. The error of `URL` itself contains the whole text, with the password, so it is not passed on.
 * @param {string} text
 */
function parseUrl(text) {
	try {
		return new URL(text);
	} catch {
		const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(text)?.[0] ?? "no scheme";
		throw new StoreError("invalid", `The address of the store is no URL (it begins with ${scheme})`);
	}
}

exports.StoreError = StoreError;
exports.isUrl = isUrl;
exports.parseUrl = parseUrl;
exports.withoutSecrets = withoutSecrets;
