// The one error of stores.
//
// It carries no text of the caller's URL: what a driver says is taken over, what it was given is not.

/** @typedef {import("./index").StoreErrorCode} StoreErrorCode */

/** What may pass by itself: the same call is worth trying again. */
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
 * A URL as it may be shown: without password, and without parameters, which may hold keys.
 * @param {URL} url
 */
function withoutSecrets(url) {
	const user = url.username ? `${url.username}@` : "";
	return `${url.protocol}//${user}${url.host}${url.pathname}`;
}

/**
 * Reads a URL. The error of `URL` itself holds the text it was given, password and all, so it is not passed on.
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
exports.parseUrl = parseUrl;
exports.withoutSecrets = withoutSecrets;
