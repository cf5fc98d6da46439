// The exports of the package: stores, and the synchronisation of this machine's session files with a store.
//
// The session files are the truth of each machine. A store contains the same lines of entries, byte for byte, and the
// header of the host that appended first. An entry is appended to the file first and to the store later; pi never waits
// for a store. `docs/store-adapters.md` describes the interface, the protocol and every file.
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
