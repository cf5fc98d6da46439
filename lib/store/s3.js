// Segments as objects in a bucket of an S3-compatible store.
//
// The package `aws4fetch` signs; what is sent, and what an answer means, is here. An object is created with
// `If-None-Match: *`, which S3, R2, MinIO, Ceph and others honour; a server that does not is detected before it is used.
const { createHash } = require("node:crypto");
const { StoreError, parseUrl, withoutSecrets } = require("./errors.js");
const { isObject } = require("./lines.js");
const { SegmentStore } = require("./segment-store.js");

/** @typedef {import("./index").StoreErrorCode} StoreErrorCode */
/** @typedef {import("./segment-names").Listed} Listed */
/** @typedef {{ status: number, headers: Headers, body: Buffer }} Answer */

const TIMEOUT_MS = 30_000;
/** How many objects are removed at the same time. */
const PARALLEL = 16;
const FULL = new Set(["QuotaExceeded", "XMinioStorageFull", "InsufficientStorage"]);

class S3Objects {
	#options;
	#base;
	#prefix;
	/** How far the server's clock is ahead of this machine's, by its last answer. */
	#ahead = 0;
	/** The same for signatures: a server refuses those of another time. */
	#skew = 0;

	/** @param {Required<Omit<import("./index").S3StoreOptions, "host">>} options */
	constructor(options) {
		this.#options = options;
		const endpoint = parseUrl(options.endpoint);
		this.#base = `${endpoint.origin}${endpoint.pathname.replace(/\/$/, "")}/${encodeURIComponent(options.bucket)}`;
		this.#prefix = options.prefix.replace(/^\/+|\/+$/g, "");
		if (this.#prefix !== "") this.#prefix += "/";
	}

	name() {
		return `s3://${this.#options.bucket}/${this.#prefix}`;
	}

	/** @param {string} prefix */
	async list(prefix) {
		/** @type {Listed[]} */
		const all = [];
		for (let token; ; ) {
			const query = new URLSearchParams({ "list-type": "2", prefix: `${this.#prefix}${prefix}` });
			if (token !== undefined) query.set("continuation-token", token);
			const answer = await this.#ask("GET", `?${query}`);
			if (answer.status !== 200) throw this.#refusal(answer);
			const xml = answer.body.toString("utf8");
			for (const [, one] of xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
				const key = textIn(one ?? "", "Key") ?? "";
				const [size, modified] = [Number(textIn(one ?? "", "Size")), new Date(textIn(one ?? "", "LastModified") ?? 0)];
				if (key.startsWith(this.#prefix)) all.push({ path: key.slice(this.#prefix.length), size, modified });
			}
			token = textIn(xml, "IsTruncated") === "true" ? textIn(xml, "NextContinuationToken") : undefined;
			if (token === undefined) return all;
		}
	}

	/** @param {string} path @param {number} [length] */
	async get(path, length) {
		/** @type {Record<string, string>} */
		const headers = length === undefined ? {} : { range: `bytes=0-${length - 1}` };
		const answer = await this.#ask("GET", this.#url(path), { headers });
		if (answer.status === 404 && codeOf(answer) !== "NoSuchBucket") return undefined;
		// There is no first byte of an empty object.
		if (answer.status === 416) return Buffer.alloc(0);
		if (answer.status !== 200 && answer.status !== 206) throw this.#refusal(answer);
		return answer.body;
	}

	/** @param {string} path @param {Buffer} body */
	async create(path, body) {
		const answer = await this.#ask("PUT", this.#url(path), { body, headers: { "if-none-match": "*" } });
		// 409: another process is creating it, and may still fail; the caller checks what is there.
		if (answer.status === 412 || answer.status === 409) return false;
		if (answer.status !== 200) throw this.#refusal(answer);
		return true;
	}

	/** By the server's clock, as its last answer told it. */
	async now() {
		return Date.now() + this.#ahead;
	}

	/** @param {string[]} paths */
	async remove(paths) {
		for (let at = 0; at < paths.length; at += PARALLEL)
			await Promise.all(
				paths.slice(at, at + PARALLEL).map(async (path) => {
					const answer = await this.#ask("DELETE", this.#url(path));
					if (answer.status >= 300 && answer.status !== 404) throw this.#refusal(answer);
				}),
			);
	}

	/** @param {string} path */
	#url(path) {
		return `/${`${this.#prefix}${path}`.split("/").map(encodeURIComponent).join("/")}`;
	}

	/**
	 * @param {string} method
	 * @param {string} url
	 * @param {{ body?: Buffer, headers?: Record<string, string> }} [request]
	 * @returns {Promise<Answer>}
	 */
	async #ask(method, url, request = {}) {
		const answer = await this.#send(method, url, request);
		const there = Date.parse(answer.headers.get("date") ?? "");
		if (Number.isNaN(there)) return answer;
		this.#ahead = there - Date.now();
		if (answer.status !== 403 || codeOf(answer) !== "RequestTimeTooSkewed") return answer;
		this.#skew = this.#ahead;
		return this.#send(method, url, request);
	}

	/**
	 * @param {string} method
	 * @param {string} url
	 * @param {{ body?: Buffer, headers?: Record<string, string> }} request
	 * @returns {Promise<Answer>}
	 */
	async #send(method, url, { body, headers = {} }) {
		const { region, credentials, timeout } = this.#options;
		const keys = typeof credentials === "function" ? await credentials() : credentials;
		const client = new (requireSigner().AwsClient)({ ...keys, service: "s3", region });
		const hash = createHash("sha256").update(body ?? "").digest("hex");
		const datetime = new Date(Date.now() + this.#skew).toISOString().replace(/[:-]|\.\d{3}/g, "");
		const signed = await client.sign(`${this.#base}${url}`, { method, body, headers: { ...headers, "x-amz-content-sha256": hash }, aws: { datetime } });
		try {
			const response = await fetch(signed, { signal: AbortSignal.timeout(timeout) });
			return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
		} catch (error) {
			const cause = isObject(error) && error.cause instanceof Error ? error.cause : error;
			const said = cause instanceof Error ? cause.message || cause.name : String(cause);
			throw new StoreError("unreachable", `${this.name()}: ${withoutSecrets(new URL(this.#base))}: ${said}`, { cause });
		}
	}

	/** @param {Answer} answer */
	#refusal(answer) {
		const code = codeOf(answer);
		const said = [answer.status, code, textIn(answer.body.toString("utf8"), "Message")].filter(Boolean).join(", ");
		return new StoreError(kindOf(answer.status, code), `${this.name()}: the server answered ${said}`);
	}
}

/**
 * @param {number} status
 * @param {string | undefined} code
 * @returns {StoreErrorCode}
 */
function kindOf(status, code = "") {
	if (FULL.has(code) || status === 507) return "full";
	if (status === 401 || status === 403) return "denied";
	if (status === 408 || status === 429 || status >= 500) return "unreachable";
	return "failed";
}

/** @param {Answer} answer */
const codeOf = (answer) => textIn(answer.body.toString("utf8"), "Code");

const ENTITIES = /** @type {Record<string, string>} */ ({ lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" });

/**
 * The text of the first element with a name. Answers of S3 are simple enough for that.
 * @param {string} xml
 * @param {string} name
 */
function textIn(xml, name) {
	const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
	return text?.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (all, decimal, hex, entity) => {
		if (entity !== undefined) return ENTITIES[entity] ?? all;
		return String.fromCodePoint(decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal));
	});
}

/** @returns {typeof import("aws4fetch")} */
function requireSigner() {
	try {
		return require("aws4fetch");
	} catch (error) {
		if (!isObject(error) || error.code !== "MODULE_NOT_FOUND") throw error;
		throw new StoreError("unsupported", "Stores in S3 need the package aws4fetch: npm install aws4fetch");
	}
}

/** The settings in the environment, by AWS's names. */
function fromEnvironment() {
	const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN: sessionToken } = process.env;
	if (!accessKeyId || !secretAccessKey)
		throw new StoreError("denied", "Stores in S3 need credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the option");
	return { accessKeyId, secretAccessKey, sessionToken: sessionToken || undefined };
}

class S3Store extends SegmentStore {
	/** @param {import("./index").S3StoreOptions} options */
	constructor({ host, bucket, prefix = "", endpoint, region, credentials, timeout = TIMEOUT_MS }) {
		if (typeof bucket !== "string" || !/^[a-z0-9][a-z0-9._-]{1,253}$/i.test(bucket))
			throw new StoreError("invalid", `Not a name of a bucket: ${JSON.stringify(bucket)}`);
		const { AWS_REGION, AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL } = process.env;
		region ??= AWS_REGION || AWS_DEFAULT_REGION || "us-east-1";
		endpoint ??= AWS_ENDPOINT_URL_S3 || AWS_ENDPOINT_URL || `https://s3.${region}.amazonaws.com`;
		super(new S3Objects({ bucket, prefix, endpoint, region, timeout, credentials: credentials ?? fromEnvironment }), host);
	}
}

/**
 * The options in an address.
 * @param {URL} url
 */
function s3Options(url) {
	if (url.username || url.password) throw new StoreError("invalid", "Credentials of S3 are not part of the address: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
	const of = (/** @type {string} */ name) => url.searchParams.get(name) ?? undefined;
	return { bucket: url.hostname, prefix: decodeURIComponent(url.pathname), endpoint: of("endpoint"), region: of("region") };
}

exports.S3Store = S3Store;
exports.s3Options = s3Options;
