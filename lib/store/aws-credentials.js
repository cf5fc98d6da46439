// The credentials of an S3 store that names none: AWS's variables, or AWS's usual chain (profiles, single sign-on, containers, web identity,
// instances) through AWS's own library, which renews what expires.
const { StoreError } = require("./errors.js");
const { isObject } = require("./lines.js");

/** @typedef {import("./index").S3Credentials} S3Credentials */

const PACKAGE = "@aws-sdk/credential-providers";

/** @returns {() => S3Credentials | Promise<S3Credentials>} is to be called before each request */
function defaultCredentials() {
	/** @type {(() => Promise<S3Credentials>) | undefined} */
	let chain;
	return () => {
		const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN: sessionToken } = process.env;
		if (accessKeyId && secretAccessKey) return { accessKeyId, secretAccessKey, sessionToken: sessionToken || undefined };
		chain ??= requireChain();
		return chain();
	};
}

/** @returns {() => Promise<S3Credentials>} */
function requireChain() {
	try {
		return require(PACKAGE).fromNodeProviderChain();
	} catch (error) {
		if (!isObject(error) || error.code !== "MODULE_NOT_FOUND") throw error;
		throw new StoreError("denied", `Stores in S3 need credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the option, or for profiles, containers and web identity the package ${PACKAGE}`);
	}
}

exports.defaultCredentials = defaultCredentials;
