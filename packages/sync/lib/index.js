// Sessions beyond one machine: where lines are kept.
//
// The truth on a machine is its JSONL file. A store holds the same lines of entries, byte for byte, and the header of
// the host that appended first. Entries are appended to the file first and to the store later; no prompt waits for a
// call to a store.
//
// - A line is bytes, never text: what is not UTF-8, escapes of lone surrogates and of NUL come back as they were. Only
//   lines of entries are stored. Blank and damaged lines, and the header, stay in the file of their machine.
// - Two equal lines of a session are one entry, so a line is the key of its own idempotency: `append` may be repeated
//   after any failure, in other portions, too.
// - A cursor is what a host has seen. `load` goes on after it; `append` comes after it. A host that lost its cursor
//   loses time, nothing else.
// - The order is the same on every host. A database numbers lines as they commit. Where nothing counts for everybody (a
//   directory, a bucket) each append carries a clock one higher than all that its cursor had passed, and equal clocks go
//   by the host's id: a host that loads before it appends comes after what it loaded. No order comes from the time of day.
// - An adapter leaves it to its caller to repeat a call: `StoreError.retryable` tells whether that may help. Only S3
//   asks a busy server
//   again, twice within about a second, because a load of it is many requests.
//
// `docs/store-adapters.md` has the layouts and what readers and writers may rely on.
const { readAddress } = require("./base/address.js");
const { DirectoryStore } = require("./logs/directory.js");
const { StoreError } = require("./base/errors.js");
const { compareLines } = require("./base/lines.js");
const { loadAll } = require("./base/load-all.js");
const { hostId } = require("./machine/host-id.js");
const { PostgresStore } = require("./postgres/postgres.js");
const { findProject } = require("./machine/project.js");
const { S3Store, s3Options } = require("./logs/s3.js");
const { SessionSync } = require("./sync/sync.js");

/** @type {typeof import("./index").openStore} */
async function openStore(address, options) {
	const { host, locks } = Object(options);
	const { kind, withSecrets } = readAddress(address);
	switch (kind) {
		case "directory":
			return new DirectoryStore({ path: withSecrets, host, locks });
		case "postgres":
			return new PostgresStore({ url: withSecrets, host });
		case "s3":
			return new S3Store({ ...s3Options(new URL(withSecrets)), host, locks });
	}
}

/** @type {typeof import("./index").projectOf} */
const projectOf = async (cwd, host) => (await findProject(cwd, host)).project;

exports.DirectoryStore = DirectoryStore;
exports.PostgresStore = PostgresStore;
exports.S3Store = S3Store;
exports.SessionSync = SessionSync;
exports.StoreError = StoreError;
exports.compareLines = compareLines;
exports.hostId = hostId;
exports.loadAll = loadAll;
exports.openStore = openStore;
exports.projectOf = projectOf;
