// Logs as files in a directory.
//
// A log is written at its end. Every other file is written under another name, synchronised, and linked to its own
// name, which fails if that exists. So a file with its own name is complete. On file systems without links it is
// renamed after a check. Then two processes of this host may find a name free at the same time, which does no harm:
// projects and headers are created under the session's lock (log-store.js), the name of a redaction contains checksums
// of its content, the path of a mark determines its content, and `store.json` is read again after it was created.
const { randomUUID } = require("node:crypto");
const { constants, promises: fs } = require("node:fs");
const { dirname, isAbsolute, join, resolve } = require("node:path");
const { replaceFile, syncFolder } = require("../base/replace-file.js");
const { checkPath } = require("../base/address.js");
const { unlessAbsent, unlessThere, withFile } = require("../base/calls.js");
const { StoreError, messageOf } = require("../base/errors.js");
const { hostLock } = require("../machine/host-lock.js");
const { inParallel } = require("../base/in-parallel.js");
const { isObject } = require("../base/lines.js");
const { LONGEST_READ, tooLargeError } = require("./log-objects.js");
const { LogStore } = require("./log-store.js");
const { readAt } = require("../machine/session-file.js");
const { sweep } = require("../machine/small-file.js");

/** @typedef {import("./log-objects").Objects} Objects */
/** @typedef {import("./log-objects").ObjectInfo} ObjectInfo */

/** The prefix of drafts, by which readers ignore them. */
const DRAFT = ".draft-";
/** The mode bits that folders inherit from the directory: rights, the group, and that only owners may remove files. */
const FOLDER_MODE = 0o3777;
const FILE_MODE = 0o666;
/** A draft's name in a message of the system. It is removed, because it differs each time. */
const DRAFT_NAME = /[\\/]\.draft-[0-9a-f-]{36}/g;
/** The meanings of the system's errors. @type {Record<string, [import("../index").StoreErrorCode, string]>} */
const MEANINGS = {
	ENOSPC: ["full", "no space is left"],
	EDQUOT: ["full", "no space is left"],
	EROFS: ["read-only", "it cannot be written to"],
	EACCES: ["denied", "access is denied"],
	EPERM: ["denied", "access is denied"],
	ENOENT: ["unreachable", "there is no such directory: make it, or mount its drive"],
	ENOTDIR: ["failed", "it is a file, or a part of its path is: name a directory"],
};
/** Errors of drives and of a busy system, after which the same call may succeed. */
const PASSING = new Set([
	"EIO",
	"ESTALE",
	"ETIMEDOUT",
	"EHOSTDOWN",
	"EHOSTUNREACH",
	"ENOTCONN",
	"EMFILE",
	"ENFILE",
	"EBUSY",
]);
const WITHOUT_MODES = new Set(["EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP"]);
// EACCES: Android refuses links to every app. If the directory cannot be written to, the rename fails with it as well.
const WITHOUT_LINKS = new Set(["EPERM", "EACCES", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EMLINK", "UNKNOWN"]);

/** A link in the place of a log would lead out of the store. Windows does not have this flag. */
const NO_LINK = constants.O_NOFOLLOW ?? 0;
/** Without this flag, opening a pipe in the place of a file waits for its other end. */
const NO_WAIT = constants.O_NONBLOCK ?? 0;

class DirectoryObjects {
	#root;
	/** A log is one file. */
	partSize = Infinity;

	/** @param {string} root */
	constructor(root) {
		this.#root = root;
		this.name = root;
	}

	/** The path with links resolved. */
	async realPath() {
		return this.#guard(() => fs.realpath(this.#root));
	}

	/** @type {Objects["list"]} */
	async list(prefix) {
		return this.#guard(async () => {
			// If a drive is not mounted, this is an error, not an empty store.
			await fs.stat(this.#root);
			return this.#below(prefix);
		});
	}

	/**
	 * Lists files. We do not ask `readdir` for types: if the system does not know them, it looks at each file, and fails
	 * as a whole if one was removed.
	 * @param {string} prefix
	 * @returns {Promise<ObjectInfo[]>}
	 */
	async #below(prefix) {
		const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
		const beginning = prefix.slice(folder.length);
		const found = (await unlessAbsent(fs.readdir(join(this.#root, folder)))) ?? [];
		const names = found.filter((name) => name.startsWith(beginning) && !name.startsWith(DRAFT));
		const below = await inParallel(names, async (name) => {
			const path = `${folder}${name}`;
			const stat = await unlessAbsent(fs.lstat(join(this.#root, path)));
			if (stat?.isDirectory()) return this.#below(`${path}/`);
			if (!stat || stat.isSymbolicLink()) return [];
			// A pipe or a device is listed as if it had a byte, so that reading the session fails instead of missing lines.
			return [{ path, size: stat.isFile() ? stat.size : 1, modified: stat.mtime }];
		});
		return below.flat();
	}

	/** @type {Objects["get"]} */
	async get(path, from = 0, to = Infinity) {
		const opening = unlessAbsent(fs.open(join(this.#root, path), constants.O_RDONLY | NO_WAIT));
		return this.#guard(() =>
			withFile(opening, async (file) => {
				if (!file) {
					await fs.stat(this.#root);
					return undefined;
				}
				const stat = await file.stat();
				if (!stat.isFile())
					throw new StoreError(
						"failed",
						`${join(this.#root, path)} is not a file: remove it, and push the session again`,
					);
				const { size } = stat;
				const length = Math.max(0, Math.min(size, to) - from);
				if (length > LONGEST_READ) throw tooLargeError(join(this.#root, path), length);
				return { bytes: await readAt(file, from, length) };
			}),
		);
	}

	/** Writes a file under another name, which then gets its own name. @type {Objects["create"]} */
	async create(path, bytes) {
		return this.#guard(async () => {
			const full = join(this.#root, path);
			const draft = join(dirname(full), `${DRAFT}${randomUUID()}`);
			await sweep(dirname(full), DRAFT);
			try {
				const { file: made, mode } = await this.#make(draft, "wx");
				await withFile(made, async (file) => {
					await setMode(draft, mode);
					await file.writeFile(bytes);
					await file.sync();
				});
				if (!(await claimName(draft, full))) return false;
			} finally {
				await fs.rm(draft, { force: true });
			}
			await syncFolder(dirname(full));
			return true;
		});
	}

	/** Cuts off everything after `endOffset`, which is a torn batch. @type {Objects["append"]} */
	async append(path, { size, endOffset }, bytes) {
		return this.#guard(async () => {
			const full = join(this.#root, path);
			const known = await unlessAbsent(fs.open(full, constants.O_WRONLY | constants.O_APPEND | NO_LINK | NO_WAIT));
			if (!known && size > 0) return undefined;
			const file = known ?? (await unlessThere(this.#make(full, "ax")))?.file;
			if (!file) return undefined;
			let isAsKnown = false;
			try {
				const there = (await file.stat()).size;
				if (there !== size) return undefined;
				isAsKnown = true;
				// The process that created it may have been killed before it set the mode.
				if (there === 0) await setMode(full, (await fs.stat(this.#root)).mode & FILE_MODE);
				// Not by the handle, because on Windows a handle that appends cannot cut.
				if (there > endOffset) await fs.truncate(full, endOffset);
				for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at, bytes.length - at)).bytesWritten;
				await file.datasync();
			} catch (error) {
				// The bytes may only be in memory. A repeated append would find them there, and a second synchronisation may
				// succeed without them.
				if (isAsKnown) await fs.truncate(full, endOffset).catch(() => {});
				throw error;
			} finally {
				await file.close();
			}
			if (!known) await syncFolder(dirname(full));
			return {};
		});
	}

	/** @type {Objects["sync"] & {}} */
	async sync(path) {
		await this.#guard(async () => {
			const full = join(this.#root, path);
			// Windows only synchronises files that are open for writing.
			await withFile(fs.open(full, constants.O_WRONLY | NO_LINK | NO_WAIT), (file) => file.datasync());
			await syncFolder(dirname(full));
		});
	}

	/**
	 * Creates a file and its folders. Returns the mode that the file must get, too.
	 * @param {string} full
	 * @param {string} flags
	 */
	async #make(full, flags) {
		// If the root is missing, this fails, and the root is not created again.
		const { mode } = await fs.stat(this.#root);
		await this.#makeFolder(dirname(full), mode & FOLDER_MODE);
		return { file: await fs.open(full, flags, mode & FILE_MODE), mode: mode & FILE_MODE };
	}

	/** @type {Objects["blank"]} */
	async blank(path, ranges) {
		const opening = unlessAbsent(fs.open(join(this.#root, path), constants.O_RDWR | NO_LINK | NO_WAIT));
		return this.#guard(() =>
			withFile(opening, async (file) => {
				if (!file) return;
				for (const { at, length } of ranges) {
					const spaces = Buffer.alloc(length, " ");
					for (let done = 0; done < length; )
						done += (await file.write(spaces, done, length - done, at + done)).bytesWritten;
				}
				await file.datasync();
			}),
		);
	}

	/** @type {Objects["remove"]} */
	async remove(paths) {
		await this.#guard(() => inParallel(paths, (path) => fs.rm(join(this.#root, path), { force: true })));
	}

	/**
	 * Creates a folder below the root, one level at a time, so that a missing root, such as an unmounted drive, is an
	 * error. A link is refused, because anybody who may write to the directory could otherwise make us create files
	 * anywhere.
	 * @param {string} folder
	 * @param {number} mode
	 */
	async #makeFolder(folder, mode) {
		/** @type {string[]} */
		const levels = [];
		for (let dir = folder; dir.length > this.#root.length; dir = dirname(dir)) levels.unshift(dir);
		/** @type {string[]} */
		const made = [];
		for (const dir of levels) {
			const there = await unlessAbsent(fs.lstat(dir));
			if (!there && (await unlessThere(fs.mkdir(dir, { mode }).then(() => true)))) {
				await setMode(dir, mode);
				made.unshift(dir);
				continue;
			}
			const stat = there ?? (await fs.lstat(dir));
			if (!stat.isDirectory())
				throw new StoreError("failed", `${dir} is a link or a file instead of a folder: nothing is written there`);
			// The process that created it may have been killed before it set the mode.
			if (stat.uid === process.getuid?.() && (stat.mode & FOLDER_MODE) !== mode) await setMode(dir, mode);
		}
		for (const dir of made) await syncFolder(dir);
		if (made.length > 0) await syncFolder(dirname(/** @type {string} */ (made.at(-1))));
	}

	/** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
	async #guard(work) {
		try {
			return await work();
		} catch (error) {
			throw this.#storeError(error);
		}
	}

	/** @param {unknown} error */
	#storeError(error) {
		if (error instanceof StoreError) return error;
		const code = String(isObject(error) ? error.code : undefined);
		const [kind, meaning] = MEANINGS[code] ?? [PASSING.has(code) ? "unreachable" : "failed"];
		// The path of the store comes first anyway.
		const said = Object(error).path === this.#root ? code : messageOf(error).replace(DRAFT_NAME, "");
		return new StoreError(kind, `${this.#root}: ${meaning === undefined ? said : `${meaning} (${said})`}`, {
			cause: error,
		});
	}
}

/** Gives a draft its name, unless that exists. @param {string} draft @param {string} full */
async function claimName(draft, full) {
	try {
		await fs.link(draft, full);
		return true;
	} catch (error) {
		const code = isObject(error) ? String(error.code) : "";
		if (code === "EEXIST") return false;
		if (!WITHOUT_LINKS.has(code)) throw error;
	}
	return replaceFile(draft, full, async () => (await unlessAbsent(fs.lstat(full))) === undefined);
}

/**
 * Sets the rights of a new file or folder to those of the store's directory, so that all users of the directory can use
 * it. Otherwise this process's umask would restrict them.
 * @param {string} path
 * @param {number} mode
 */
async function setMode(path, mode) {
	if (((await fs.stat(path)).mode & FOLDER_MODE) === mode) return;
	try {
		await fs.chmod(path, mode);
	} catch (error) {
		// Drives that keep no rights, such as FAT and some network drives.
		if (!isObject(error) || !WITHOUT_MODES.has(String(error.code))) throw error;
	}
}

class DirectoryStore extends LogStore {
	/** @param {import("../index").DirectoryStoreOptions} options */
	constructor({ path, host, locks }) {
		if (typeof path !== "string" || path === "") throw new StoreError("invalid", "A directory store must have a path");
		// Errors show it.
		if (!isAbsolute(path)) checkPath(path);
		const root = resolve(path);
		const objects = new DirectoryObjects(root);
		// A directory may have several names.
		super(
			objects,
			host,
			hostLock(async () => [await objects.realPath(), host], locks),
		);
	}
}

exports.DirectoryStore = DirectoryStore;
