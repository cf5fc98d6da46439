// Logs as objects in a bucket of an S3-compatible store.
//
// The package `aws4fetch` signs; what is sent, and what an answer means, is here. An object is created with `If-None-Match: *` and replaced
// with `If-Match`, which S3, R2, MinIO and others honour; a server that does not is detected before it is used.
const { createHash, randomUUID } = require("node:crypto");
const http = require("node:http");
const https = require("node:https");
const { setTimeout: sleep } = require("node:timers/promises");
const { checkTimeout, endpointOfEnvironment, parseUrl, timeoutIn, withoutSecrets } = require("../base/address.js");
const { optional } = require("../base/calls.js");
const { StoreError, messageOf } = require("../base/errors.js");
const { PARALLEL, inParallel } = require("../base/in-parallel.js");
const { hostLock } = require("../machine/host-lock.js");
const { untilWritten } = require("./log-objects.js");
const { LogStore } = require("./log-store.js");

/** @typedef {import("../index").StoreErrorCode} StoreErrorCode */
/** @typedef {import("../index").S3Credentials} S3Credentials */
/** @typedef {import("./log-objects").Objects} Objects */
/** @typedef {import("./log-objects").ObjectInfo} ObjectInfo */
/** @typedef {{ status: number, headers: import("node:http").IncomingHttpHeaders, body: Buffer }} Answer */
/** @typedef {{ bytes: Buffer, tag?: string }} Content of an object; the tag changes with it */
/** @typedef {{ method: string, url: string, body?: Buffer, headers?: Record<string, string> }} Request `url`: below that of the bucket */

const PROVIDERS = "@aws-sdk/credential-providers";
const TIMEOUT_MS = 30_000;
/** How long a connection is kept for another request: servers end idle ones without a word, some after 5 seconds. */
const IDLE_MS = 4000;
/**
 * Least delays before a refused request is repeated, in milliseconds: servers refuse requests when many come at once. A put has a condition, so
 * that one that was carried out all the same is refused the second time, and found by who looks.
 */
const PAUSES_MS = [100, 400];
const FULL = new Set(["QuotaExceeded", "XMinioStorageFull", "InsufficientStorage"]);

/** A part of a log that is this large is full: each append sends the last part as a whole. */
const PART_BYTES = 256 * 1024;

class S3Objects {
	partSize = PART_BYTES;
	#options;
	#base;
	#prefix;
	#agent;
	/** How far the server's time is ahead of this machine's, by its last answer. */
	#ahead = 0;

	/** @param {Required<Omit<import("../index").S3StoreOptions, "host" | "locks">>} options */
	constructor(options) {
		this.#options = options;
		const endpoint = parseEndpoint(options.endpoint);
		const { Agent } = endpoint.protocol === "https:" ? https : http;
		this.#agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
		this.#base = `${endpoint.origin}${endpoint.pathname.replace(/\/$/, "")}/${encodeURIComponent(options.bucket)}`;
		this.#prefix = options.prefix.replace(/^\/+|\/+$/g, "");
		if (this.#prefix !== "") this.#prefix += "/";
		this.name = `s3://${options.bucket}/${this.#prefix}`;
	}

	/** @type {Objects["list"]} */
	async list(prefix) {
		/** @type {ObjectInfo[]} */
		const all = [];
		for (let token; ; ) {
			const query = new URLSearchParams({ "list-type": "2", prefix: `${this.#prefix}${prefix}` });
			if (token !== undefined) query.set("continuation-token", token);
			const answer = await this.#ask({ method: "GET", url: `?${query}` });
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

	/**
	 * What is there, or a part of it, with its tag, which changes with its content; undefined if it is not there.
	 * @param {string} path
	 * @returns {Promise<Content | undefined>}
	 */
	async get(path, from = 0, to = Infinity) {
		/** @type {Record<string, string>} */
		const headers = from === 0 && to === Infinity ? {} : { range: `bytes=${from}-${to === Infinity ? "" : to - 1}` };
		const answer = await this.#ask({ method: "GET", url: this.#url(path), headers });
		if (answer.status === 404 && codeOf(answer) !== "NoSuchBucket") return undefined;
		// There is no byte so far behind.
		if (answer.status === 416) return { bytes: Buffer.alloc(0) };
		if (answer.status !== 200 && answer.status !== 206) throw this.#refusal(answer);
		// A server that knows no ranges gives all.
		const bytes = answer.status === 206 ? answer.body : answer.body.subarray(from, to);
		return { bytes, tag: answer.headers.etag };
	}

	/** @type {Objects["create"]} */
	async create(path, body) {
		return (await this.#put(path, body, { "if-none-match": "*" })) !== undefined;
	}

	/** @param {string} path */
	async touch(path) {
		await this.#put(path, Buffer.alloc(0), {});
	}

	/**
	 * Gives what was written; undefined if the object is not what the headers say.
	 * @param {string} path
	 * @param {Buffer} body
	 * @param {Record<string, string>} headers
	 * @returns {Promise<Content | undefined>}
	 */
	async #put(path, body, headers) {
		const answer = await this.#ask({ method: "PUT", url: this.#url(path), body, headers });
		if (answer.status === 412) return undefined;
		if (answer.status === 404 && codeOf(answer) === "NoSuchKey") return undefined;
		if (answer.status !== 200) throw this.#refusal(answer);
		return { bytes: body, tag: answer.headers.etag };
	}

	/** The part is written as a whole: what was written last need not be read again. @type {Objects["append"]} */
	async append(path, { size, endOffset, cachedPart }, bytes) {
		const known = /** @type {Content | undefined} */ (cachedPart);
		const isKnown = known?.tag !== undefined && known.bytes.length === size;
		const before = size === 0 ? undefined : isKnown ? known : await this.get(path);
		if (size > 0 && before?.bytes.length !== size) return undefined;
		const body = before ? Buffer.concat([before.bytes.subarray(0, endOffset), bytes]) : bytes;
		const written = await this.#put(path, body, before ? this.#ifStill(before) : { "if-none-match": "*" });
		return written && { cachedPart: body.length < PART_BYTES ? written : undefined };
	}

	/** @type {Objects["blank"]} */
	async blank(path, ranges) {
		// Its host may append to it meanwhile.
		await untilWritten(this, path, async () => {
			const object = await this.get(path);
			if (!object) return true;
			for (const { at, length } of ranges) object.bytes.fill(" ", at, at + length);
			return (await this.#put(path, object.bytes, this.#ifStill(object))) && true;
		});
	}

	/** The condition that an object is still what was read. @param {Content} content */
	#ifStill({ tag }) {
		if (!tag) throw new StoreError("unsupported", `${this.name} gives objects without ETag, so that nobody can tell whether one was changed`);
		return { "if-match": tag };
	}

	async check() {
		const path = `check-${randomUUID()}`;
		const body = Buffer.from("an object that is not to be replaced\n");
		await this.create(path, body);
		const replaced = [await this.create(path, body), await this.#put(path, body, { "if-match": '"00000000000000000000000000000000"' })];
		const object = await this.get(path);
		// Who may not remove anything may append.
		await this.remove([path]).catch(() => {});
		for (const [at, name] of ["If-None-Match", "If-Match"].entries())
			if (replaced[at]) throw new StoreError("unsupported", `${this.name} replaces objects that it is to keep (${name})`);
		if (object) this.#ifStill(object);
	}

	/** @type {Objects["remove"]} */
	async remove(paths) {
		// Those that come later are removed when those before are gone: what a kill leaves is an earlier state.
		for (let at = 0; at < paths.length; at += PARALLEL)
			await inParallel(paths.slice(at, at + PARALLEL), async (path) => {
				const answer = await this.#ask({ method: "DELETE", url: this.#url(path) });
				if (answer.status >= 300 && answer.status !== 404) throw this.#refusal(answer);
			});
	}

	/** @param {string} path */
	#url(path) {
		return `/${`${this.#prefix}${path}`.split("/").map(encodeURIComponent).join("/")}`;
	}

	/** @param {Request} request @returns {Promise<Answer>} */
	async #ask(request) {
		for (const pause of PAUSES_MS) {
			const answer = await this.#send(request);
			// A server refuses signatures of another time than its own, which it says.
			const isSkewed = answer.status === 403 && codeOf(answer) === "RequestTimeTooSkewed";
			if (!isSkewed && kindOf(answer) !== "unreachable") return answer;
			await sleep(pause * (1 + Math.random()));
		}
		return this.#send(request);
	}

	/** @param {Request} request @returns {Promise<Answer>} */
	async #send({ method, url, body, headers = {} }) {
		const { AwsV4Signer } = requireSigner();
		const hash = createHash("sha256").update(body ?? "").digest("hex");
		const datetime = new Date(Date.now() + this.#ahead).toISOString().replace(/[:-]|\.\d{3}/g, "");
		const signer = new AwsV4Signer({
			...(await this.#credentials()),
			...{ service: "s3", region: this.#options.region, datetime, method, url: `${this.#base}${url}` },
			headers: { ...headers, "x-amz-content-sha256": hash },
		});
		const signed = await signer.sign();
		try {
			const answer = await this.#exchange({ method, url: signed.url.href, headers: Object.fromEntries(signed.headers), body });
			const there = Date.parse(answer.headers.date ?? "");
			if (!Number.isNaN(there)) this.#ahead = there - Date.now();
			return answer;
		} catch (error) {
			throw new StoreError("unreachable", `${this.name}: ${withoutSecrets(new URL(this.#base))}: ${messageOf(error)}`, { cause: error });
		}
	}

	/** @param {Request} signed with its whole URL @returns {Promise<Answer>} */
	#exchange(signed) {
		const { method, url, headers, body } = signed;
		const { timeout } = this.#options;
		const { request } = url.startsWith("https:") ? https : http;
		return new Promise((resolve, reject) => {
			const length = body ? { "content-length": String(body.length) } : {};
			const sent = request(url, { method, headers: { ...headers, ...length }, agent: this.#agent, timeout }, (answer) => {
				/** @type {Buffer[]} */
				const pieces = [];
				answer.on("data", (piece) => pieces.push(piece));
				answer.on("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(pieces) }));
				answer.on("error", reject);
			});
			// The socket counts from the last byte, in either direction.
			sent.on("timeout", () => sent.destroy(new Error(`timeout: nothing was received or sent for ${timeout} ms`)));
			// A server may end a kept connection in the moment in which it is used again. An object that was created all the same is found.
			const isStale = (/** @type {NodeJS.ErrnoException} */ { code }) => sent.reusedSocket && (code === "ECONNRESET" || code === "EPIPE");
			sent.on("error", (error) => (isStale(error) ? resolve(this.#exchange(signed)) : reject(error)));
			sent.end(body);
		});
	}

	/** @returns {Promise<S3Credentials>} */
	async #credentials() {
		const { credentials } = this.#options;
		let keys;
		try {
			keys = typeof credentials === "function" ? await credentials() : credentials;
		} catch (error) {
			if (error instanceof StoreError) throw error;
			throw new StoreError("unreachable", `${this.name}: no credentials: ${messageOf(error)}`, { cause: error });
		}
		const { accessKeyId, secretAccessKey, sessionToken } = keys ?? {};
		if (!accessKeyId || !secretAccessKey || typeof accessKeyId !== "string" || typeof secretAccessKey !== "string")
			throw new StoreError("denied", `${this.name}: the credentials must have an accessKeyId and a secretAccessKey`);
		return { accessKeyId, secretAccessKey, sessionToken };
	}

	/** Ends connections that wait for another request. */
	close() {
		this.#agent.destroy();
	}

	/** @param {Answer} answer */
	#refusal(answer) {
		const code = codeOf(answer);
		const said = [answer.status, code, textIn(answer.body.toString("utf8"), "Message")].filter(Boolean).join(", ");
		const region = answer.headers["x-amz-bucket-region"];
		const isElsewhere = region !== undefined && region !== this.#options.region;
		const hint = isElsewhere ? ` (the bucket is in the region ${region}, not ${this.#options.region}: set region=${region} in the address, or AWS_REGION)` : "";
		return new StoreError(kindOf(answer), `${this.name}: the server answered ${said}${hint}`);
	}
}

/** @param {Answer} answer @returns {StoreErrorCode} */
function kindOf(answer) {
	const { status } = answer;
	const code = status < 400 ? "" : (codeOf(answer) ?? "");
	if (FULL.has(code) || status === 507) return "full";
	if (status === 401 || status === 403) return "denied";
	if (status === 501) return "unsupported";
	// 409: another process is writing the object, and may still fail.
	if (status === 408 || status === 409 || status === 429 || status >= 500) return "unreachable";
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
const requireSigner = () => optional(() => require("aws4fetch"), "unsupported", "Stores in S3 need the package aws4fetch: npm install aws4fetch");

/**
 * The credentials of a store that names none: AWS's variables, or AWS's usual chain (profiles, single sign-on, containers, web identity,
 * instances) through AWS's own library, which renews what expires.
 * @returns {() => S3Credentials | Promise<S3Credentials>} is to be called before each request
 */
function defaultCredentials() {
	/** @type {(() => Promise<S3Credentials>) | undefined} */
	let chain;
	return () => {
		const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN: sessionToken } = process.env;
		if (accessKeyId && secretAccessKey) return { accessKeyId, secretAccessKey, sessionToken: sessionToken || undefined };
		const lacking = `Stores in S3 need credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the option, or for profiles, containers and web identity the package ${PROVIDERS}`;
		chain ??= /** @type {() => Promise<S3Credentials>} */ (optional(() => require(PROVIDERS).fromNodeProviderChain(), "denied", lacking));
		return chain();
	};
}

/** @param {string} text */
function parseEndpoint(text) {
	const url = parseUrl(text);
	if (!/^https?:$/.test(url.protocol)) throw new StoreError("invalid", "The endpoint of S3 must be an http: or https: URL");
	if (url.username || url.password) throw new StoreError("invalid", "The endpoint of S3 must not contain a user or password");
	return url;
}

class S3Store extends LogStore {
	/** @param {import("../index").S3StoreOptions} options */
	constructor({ host, bucket, prefix = "", endpoint, region, credentials, timeout = TIMEOUT_MS, locks }) {
		if (typeof prefix !== "string") throw new StoreError("invalid", `The prefix must be text, not ${typeof prefix}`);
		if (typeof bucket !== "string" || !/^[a-z0-9][a-z0-9._-]{1,253}$/i.test(bucket))
			throw new StoreError("invalid", `Not a name of a bucket: ${JSON.stringify(bucket)}`);
		const { AWS_REGION, AWS_DEFAULT_REGION } = process.env;
		region ??= AWS_REGION || AWS_DEFAULT_REGION || "us-east-1";
		endpoint ??= endpointOfEnvironment() ?? `https://s3.${region}.amazonaws.com`;
		const objects = new S3Objects({ bucket, prefix, endpoint, region, timeout: checkTimeout(timeout), credentials: credentials ?? defaultCredentials() });
		super(objects, host, hostLock([`${endpoint} ${objects.name}`, host], locks));
	}
}

/** The options in an address. @param {URL} url */
function s3Options(url) {
	const of = (/** @type {string} */ name) => url.searchParams.get(name) ?? undefined;
	return { bucket: url.hostname, prefix: prefixIn(url), endpoint: of("endpoint"), region: of("region"), timeout: timeoutIn(url) };
}

/** @param {URL} url */
function prefixIn(url) {
	try {
		return decodeURIComponent(url.pathname);
	} catch {
		throw new StoreError("invalid", "A % in the prefix of an S3 address must be written %25");
	}
}

exports.S3Store = S3Store;
exports.s3Options = s3Options;
