// Logs as objects in a bucket of an S3-compatible store, by AWS's own library. The library signs, repeats requests that
// a busy server refuses, corrects the time of its signatures and finds credentials. An object is created with
// `If-None-Match: *` and replaced with `If-Match`, which S3, R2, MinIO and others obey; a server that does not is
// detected before it is used.
const { randomUUID } = require("node:crypto");
const { setTimeout: pause } = require("node:timers/promises");
const { checkTimeout, endpointOfEnvironment, parseUrl, timeoutIn } = require("../base/address.js");
const { StoreError, messageOf } = require("../base/errors.js");
const { PARALLEL, inParallel } = require("../base/in-parallel.js");
const { hostLock } = require("../machine/host-lock.js");
const { LONGEST_READ, tooLargeError, untilWritten } = require("./log-objects.js");
const { LogStore } = require("./log-store.js");

/** @typedef {import("../index").StoreErrorCode} StoreErrorCode */
/** @typedef {import("./log-objects").Objects} Objects */
/** @typedef {import("./log-objects").ObjectInfo} ObjectInfo */
/** @typedef {import("@aws-sdk/client-s3").S3Client} S3Client */
/** @typedef {{ bytes: Buffer, tag?: string }} Content of an object; the tag changes with it */

const TIMEOUT_MS = 30_000;
/**
 * A request is sent at most so often. If the answer to a put was lost, the condition makes its repetition fail.
 */
const ATTEMPTS = 3;
const BUSY_MS = 100;
const FULL = new Set(["QuotaExceeded", "XMinioStorageFull", "InsufficientStorage"]);
/** Errors of the library before a server has answered, for which a repetition is useless. */
const WITHOUT_CREDENTIALS = /CredentialsProviderError|TokenProviderError|credential object is not valid/;

/** The size from which a part of a log is full, because each append sends the whole last part. */
const PART_BYTES = 256 * 1024;

class S3Objects {
	partSize = PART_BYTES;
	#options;
	#prefix;
	/**
	 * Created by the first request, because loading the library takes some tenths of a second.
	 * @type {S3Client | undefined}
	 */
	#client;

	/**
	 * @param {Required<Omit<import("../index").S3StoreOptions, "host" | "locks" | "credentials">> &
	 * Pick<import("../index").S3StoreOptions, "credentials">} options
	 */
	constructor(options) {
		this.#options = options;
		checkEndpoint(options.endpoint);
		this.#prefix = options.prefix.replace(/^\/+|\/+$/g, "");
		if (this.#prefix !== "") this.#prefix += "/";
		this.name = `s3://${options.bucket}/${this.#prefix}`;
	}

	/** @type {Objects["list"]} */
	async list(prefix) {
		/** @type {ObjectInfo[]} */
		const all = [];
		/** @type {string | undefined} */
		let token;
		do {
			/** @type {object} */
			const input = {
				Prefix: `${this.#prefix}${prefix}`,
				ContinuationToken: token,
				EncodingType: /** @type {const} */ ("url"),
			};
			const {
				Contents = [],
				IsTruncated,
				NextContinuationToken,
			} = await this.#send(({ ListObjectsV2Command }, Bucket) => new ListObjectsV2Command({ Bucket, ...input }));
			for (const { Key = "", Size = 0, LastModified = new Date(0) } of Contents) {
				const key = decodeURIComponent(Key.replaceAll("+", " "));
				if (key.startsWith(this.#prefix))
					all.push({ path: key.slice(this.#prefix.length), size: Size, modified: LastModified });
			}
			token = IsTruncated ? NextContinuationToken : undefined;
		} while (token !== undefined);
		return all;
	}

	/**
	 * An object, or a part of it, with its tag; undefined if there is none.
	 * @param {string} path
	 * @returns {Promise<Content | undefined>}
	 */
	async get(path, from = 0, to = Infinity) {
		const Range = from === 0 && to === Infinity ? undefined : `bytes=${from}-${to === Infinity ? "" : to - 1}`;
		try {
			return await this.#send(
				({ GetObjectCommand }, Bucket) => new GetObjectCommand({ Bucket, Key: this.#prefix + path, Range }),
				async ({ Body, ContentLength = 0, ContentRange, ETag }) => {
					if (ContentLength > LONGEST_READ) {
						Body?.destroy();
						throw tooLargeError(`${this.name}${path}`, ContentLength);
					}
					const bytes = Buffer.from((await Body?.transformToByteArray()) ?? []);
					// A server without ranges answers with the whole object.
					return {
						bytes: Range === undefined || ContentRange !== undefined ? bytes : bytes.subarray(from, to),
						tag: ETag,
					};
				},
			);
		} catch (error) {
			const { status, name } = answerOf(error);
			if (status === 404 && name !== "NoSuchBucket") return undefined;
			// The range begins after the end.
			if (status === 416) return { bytes: Buffer.alloc(0) };
			throw error;
		}
	}

	/** @type {Objects["create"]} */
	async create(path, body) {
		return (await this.#put(path, body, { IfNoneMatch: "*" })) !== undefined;
	}

	/**
	 * Writes an object and returns it; undefined if the condition is not met.
	 * @param {string} path
	 * @param {Buffer} body
	 * @param {{ IfNoneMatch?: string, IfMatch?: string }} condition
	 * @returns {Promise<Content | undefined>}
	 */
	async #put(path, body, condition) {
		try {
			const { ETag } = await this.#send(
				({ PutObjectCommand }, Bucket) =>
					new PutObjectCommand({ Bucket, Key: this.#prefix + path, Body: body, ...condition }),
			);
			return { bytes: body, tag: ETag };
		} catch (error) {
			const { status, name } = answerOf(error);
			if (status === 412 || (status === 404 && name === "NoSuchKey")) return undefined;
			throw error;
		}
	}

	/** Writes the whole part, so the bytes of the last append need not be read again. @type {Objects["append"]} */
	async append(path, { size, endOffset, cachedPart }, bytes) {
		const known = /** @type {Content | undefined} */ (cachedPart);
		const isKnown = known?.tag !== undefined && known.bytes.length === size;
		const before = size === 0 ? undefined : isKnown ? known : await this.get(path);
		if (size > 0 && before?.bytes.length !== size) return undefined;
		const body = before ? Buffer.concat([before.bytes.subarray(0, endOffset), bytes]) : bytes;
		const written = await this.#put(path, body, before ? this.#ifStill(before) : { IfNoneMatch: "*" });
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

	/** The condition that an object has not changed since it was read. @param {Content} content */
	#ifStill({ tag }) {
		if (!tag)
			throw new StoreError(
				"unsupported",
				`${this.name} returns objects without ETag, so nobody can tell whether an object has changed`,
			);
		return { IfMatch: tag };
	}

	async check() {
		const path = `check-${randomUUID()}`;
		const body = Buffer.from("an object that must not be replaced\n");
		await this.create(path, body);
		const replaced = [
			await this.create(path, body),
			await this.#put(path, body, { IfMatch: '"00000000000000000000000000000000"' }),
		];
		const object = await this.get(path);
		// A user who may not remove objects may append.
		await this.remove([path]).catch(() => {});
		for (const [at, name] of ["If-None-Match", "If-Match"].entries())
			if (replaced[at])
				throw new StoreError("unsupported", `${this.name} replaces objects although a condition forbids it (${name})`);
		if (object) this.#ifStill(object);
	}

	/** @type {Objects["remove"]} */
	async remove(paths) {
		// In groups, one after the other, so that a kill leaves an earlier state.
		for (let at = 0; at < paths.length; at += PARALLEL)
			await inParallel(paths.slice(at, at + PARALLEL), async (path) => {
				try {
					await this.#send(
						({ DeleteObjectCommand }, Bucket) => new DeleteObjectCommand({ Bucket, Key: this.#prefix + path }),
					);
				} catch (error) {
					if (answerOf(error).status !== 404) throw error;
				}
			});
	}

	/**
	 * Sends a command, and reads the answer.
	 * @template {object} Input
	 * @template {object} Output
	 * @template [Result=Output]
	 * @param {(library: typeof import("@aws-sdk/client-s3"), bucket: string) =>
	 * import("@aws-sdk/client-s3").$Command<any, any, any> & { readonly input: Input }} make
	 * @param {(answer: any) => Promise<Result>} [read]
	 * @returns {Promise<any>}
	 */
	async #send(make, read = async (answer) => answer) {
		const library = require("@aws-sdk/client-s3");
		this.#client ??= this.#connect(library);
		for (let tries = 1; ; tries++) {
			try {
				return await read(await this.#client.send(/** @type {any} */ (make(library, this.#options.bucket))));
			} catch (error) {
				const { status, name } = answerOf({ cause: error });
				// The library does not always repeat these requests: another process is writing the object (409), or the clock
				// of this machine was wrong, which the answer corrects.
				const isRepeated = status === 409 || name === "RequestTimeTooSkewed";
				if (!isRepeated || tries === ATTEMPTS) throw this.#storeError(error);
				await pause(BUSY_MS * tries * (1 + Math.random()));
			}
		}
	}

	/** @param {typeof import("@aws-sdk/client-s3")} library */
	#connect({ S3Client }) {
		const { endpoint, region, timeout, credentials } = this.#options;
		return new S3Client({
			endpoint,
			region,
			credentials: /** @type {any} */ (credentials),
			forcePathStyle: true,
			maxAttempts: ATTEMPTS,
			// Servers other than Amazon's do not know other checksums.
			requestChecksumCalculation: "WHEN_REQUIRED",
			responseChecksumValidation: "WHEN_REQUIRED",
			requestHandler: { connectionTimeout: timeout, socketTimeout: timeout },
			logger: { debug() {}, info() {}, warn() {}, error() {} },
		});
	}

	/** Ends idle connections. */
	close() {
		this.#client?.destroy();
	}

	/** @param {unknown} error */
	#storeError(error) {
		if (error instanceof StoreError) return error;
		const { status, name, headers } = answerOf({ cause: error });
		if (status === undefined) {
			const isDenied = WITHOUT_CREDENTIALS.test(`${name} ${messageOf(error)}`);
			const reason = isDenied ? "no credentials (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile): " : "";
			return new StoreError(isDenied ? "denied" : "unreachable", `${this.name}: ${reason}${messageOf(error)}`, {
				cause: error,
			});
		}
		const region = headers["x-amz-bucket-region"];
		const isElsewhere = region !== undefined && region !== this.#options.region;
		const hint = isElsewhere
			? ` (the bucket is in the region ${region}, not ${this.#options.region}: set region=${region} in the ` +
				"address, or AWS_REGION)"
			: "";
		const parts = new Set([status, name, messageOf(error)].filter((part) => part && part !== "UnknownError"));
		return new StoreError(kindOf(status, name), `${this.name}: the server answered ${[...parts].join(", ")}${hint}`, {
			cause: error,
		});
	}
}

/**
 * The answer of the server.
 * @param {unknown} error a `StoreError` whose cause is the library's error
 * @returns {{ status: number | undefined, name: string, headers: Record<string, string> }}
 */
function answerOf(error) {
	const { name = "", $metadata, $response } = Object(Object(error).cause);
	return { status: $metadata?.httpStatusCode, name, headers: $response?.headers ?? {} };
}

/** @param {number} status @param {string} name @returns {StoreErrorCode} */
function kindOf(status, name) {
	if (FULL.has(name) || status === 507) return "full";
	if (status === 401 || status === 403) return "denied";
	if (status === 501) return "unsupported";
	// 409: another process is writing the object, and may still fail.
	if (status === 408 || status === 409 || status === 429 || status >= 500) return "unreachable";
	return "failed";
}

/** @param {string} text */
function checkEndpoint(text) {
	const url = parseUrl(text);
	if (!/^https?:$/.test(url.protocol))
		throw new StoreError("invalid", "The endpoint of S3 must be an http: or https: URL");
	if (url.username || url.password)
		throw new StoreError("invalid", "The endpoint of S3 must not contain a user or password");
}

class S3Store extends LogStore {
	/** @readonly */
	copies = ["versions that the bucket keeps, and its backups"];

	/** @param {import("../index").S3StoreOptions} options */
	constructor({ host, bucket, prefix = "", endpoint, region, credentials, timeout = TIMEOUT_MS, locks }) {
		if (typeof prefix !== "string") throw new StoreError("invalid", `The prefix must be text, not ${typeof prefix}`);
		if (typeof bucket !== "string" || !/^[a-z0-9][a-z0-9._-]{1,253}$/i.test(bucket))
			throw new StoreError("invalid", `Not a name of a bucket: ${JSON.stringify(bucket)}`);
		const { AWS_REGION, AWS_DEFAULT_REGION } = process.env;
		region ??= AWS_REGION || AWS_DEFAULT_REGION || "us-east-1";
		endpoint ??= endpointOfEnvironment() ?? `https://s3.${region}.amazonaws.com`;
		const objects = new S3Objects({ bucket, prefix, endpoint, region, timeout: checkTimeout(timeout), credentials });
		super(objects, host, hostLock([`${endpoint} ${objects.name}`, host], locks));
	}
}

/** The options in an address. @param {URL} url */
function s3Options(url) {
	const of = (/** @type {string} */ name) => url.searchParams.get(name) ?? undefined;
	return {
		bucket: url.hostname,
		prefix: prefixIn(url),
		endpoint: of("endpoint"),
		region: of("region"),
		timeout: timeoutIn(url),
	};
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
