// Finds secrets in lines before they leave this machine. The rules are patterns of keys that have a form of their own;
// a file of the user's adds to them: a JSON object of names and regular expressions, in which `false` takes a rule of
// this package away.
//
// A pattern is matched with the line as JSON writes it, and with blanks in place of JSON's escapes and a terminal's
// colours: these end in a letter, and with it what follows them would not be the beginning of a word.
const fs = require("node:fs");
const { StoreError, messageOf } = require("../base/errors.js");
const { buffer, isObject, parse } = require("../base/lines.js");

/** Keys that their providers gave a form by which they are known. @type {Record<string, string | false>} */
const PROVIDERS = {
	"an AWS access key": "\\b(?:AKIA|ASIA)[A-Z2-7]{16}\\b",
	"an Anthropic key": "\\bsk-ant-[A-Za-z0-9_-]{32,}",
	"an OpenAI key": "\\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,}",
	"a GitHub token": "\\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})",
	"a GitLab token": "\\bglpat-[A-Za-z0-9_-]{20,}",
	"a Google API key": "\\bAIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])",
	"a Groq key": "\\bgsk_[A-Za-z0-9]{48,}",
	"an OpenRouter key": "\\bsk-or-v1-[0-9a-f]{64}",
	"an xAI key": "\\bxai-[A-Za-z0-9]{70,}",
	"a SendGrid key": "\\bSG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}",
	"a Slack token": "\\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
	"a Stripe key": "\\b[sr]k_live_[A-Za-z0-9]{20,}",
	"an npm token": "\\bnpm_[A-Za-z0-9]{36}\\b",
	"a Hugging Face token": "\\bhf_[A-Za-z]{34}\\b",
	"a private key": "-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----",
};

/** Escapes, also in JSON that is text in JSON, each with what a terminal takes as one with it. */
const ESCAPES = /\\+(?:u[\da-f]{4}|x[\da-f]{2}|[bfnrt])?(?:\[[\d;]*[a-z])?/gi;

/**
 * A function that names the secret in a line; undefined if no line is to be looked at.
 * @param {boolean | string} secrets the setting: `true` for the rules of this package, or a file
 * @param {(path: string) => string} absolute
 * @returns {((line: Uint8Array) => string | undefined) | undefined}
 */
function secretsOf(secrets, absolute) {
	if (secrets === false) return undefined;
	const rules = Object.entries(secrets === true ? PROVIDERS : { ...PROVIDERS, ...readRules(absolute(secrets)) });
	const patterns = rules.flatMap(([name, pattern]) =>
		pattern === false ? [] : { name, pattern: new RegExp(pattern) },
	);
	return (line) => {
		const text = buffer(line).toString();
		const plain = text.replace(ESCAPES, " ");
		return patterns.find(({ pattern }) => pattern.test(text) || pattern.test(plain))?.name;
	};
}

/** @param {string} path @returns {Record<string, string | false>} */
function readRules(path) {
	let value;
	try {
		value = parse(fs.readFileSync(path));
	} catch (error) {
		throw new StoreError("invalid", `The rules for secrets cannot be read: ${messageOf(error)}`, { cause: error });
	}
	if (!isObject(value))
		throw new StoreError("invalid", `${path} must be a JSON object of names and regular expressions`);
	for (const [name, pattern] of Object.entries(value)) {
		try {
			if (pattern === false) continue;
			if (typeof pattern !== "string" || pattern === "") throw new Error("it must be text");
			void new RegExp(pattern);
		} catch (error) {
			throw new StoreError("invalid", `${path}: the rule ${JSON.stringify(name)} cannot be used: ${messageOf(error)}`);
		}
	}
	return /** @type {Record<string, string | false>} */ (value);
}

exports.secretsOf = secretsOf;
