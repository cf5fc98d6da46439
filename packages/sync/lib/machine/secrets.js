// Finds secrets in lines before they leave this machine. The rules are patterns of keys that have a form of their own.
//
// A pattern is matched with the bytes of the line, and with the line in which blanks replace JSON's escapes and a
// terminal's colours: an escape ends in a letter, so a key after it would not begin a word.
const { buffer } = require("../base/lines.js");

/** Patterns of keys, by the name of the key. @type {Record<string, RegExp>} */
const PROVIDERS = {
	"an AWS access key": /\b(?:AKIA|ASIA)[A-Z2-7]{16}\b/,
	"an Anthropic key": /\bsk-ant-[A-Za-z0-9_-]{32,}/,
	"an OpenAI key": /\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,}/,
	"a GitHub token": /\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})/,
	"a GitLab token": /\bglpat-[A-Za-z0-9_-]{20,}/,
	"a Google API key": /\bAIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])/,
	"a Groq key": /\bgsk_[A-Za-z0-9]{48,}/,
	"an OpenRouter key": /\bsk-or-v1-[0-9a-f]{64}/,
	"an xAI key": /\bxai-[A-Za-z0-9]{70,}/,
	"a SendGrid key": /\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}/,
	"a Slack token": /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/,
	"a Stripe key": /\b[sr]k_live_[A-Za-z0-9]{20,}/,
	"an npm token": /\bnpm_[A-Za-z0-9]{36}\b/,
	"a Hugging Face token": /\bhf_[A-Za-z]{34}\b/,
	"a private key": /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----/,
};

/** JSON's escapes, also in JSON inside a string, each with the terminal's sequence that it begins. */
const ESCAPES = /\\+(?:u[\da-f]{4}|x[\da-f]{2}|[bfnrt])?(?:\[[\d;]*[a-z])?/gi;

/** The name of a secret in a line; undefined if there is none. @param {Uint8Array} line */
function secretIn(line) {
	const text = buffer(line).toString();
	const plain = text.replace(ESCAPES, " ");
	return Object.keys(PROVIDERS).find((name) => PROVIDERS[name]?.test(text) || PROVIDERS[name]?.test(plain));
}

exports.secretIn = secretIn;
