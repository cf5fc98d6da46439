// Connections to PostgreSQL: encrypted unless the server is this machine, and given up where nothing comes back. What
// their errors mean.
const { StoreError, messageOf } = require("../base/errors.js");
const { isObject } = require("../base/lines.js");

/** @typedef {import("../index").StoreErrorCode} StoreErrorCode */

/** Parameters of an address that say how the connection is encrypted; without them the server's host decides. */
const TLS_PARAMETERS = ["ssl", "sslmode", "sslcert", "sslkey", "sslrootcert"];
/** What `pg` understands in PGSSLMODE. Anything else would be plain text. */
const TLS_MODES = new Set(["disable", "prefer", "require", "verify-ca", "verify-full", "no-verify"]);
/** What PostgreSQL's error codes mean here, by code or by class. */
const SQL_STATES = /** @type {Record<string, StoreErrorCode>} */ ({
	"08": "unreachable",
	25006: "read-only",
	28: "denied",
	40: "unreachable",
	42501: "denied",
	53100: "full",
	53: "unreachable",
	// Another transaction holds a lock for longer than an append waits.
	"55P03": "unreachable",
	57: "unreachable",
});

const NO_TLS = /does not support SSL|certificate/i;
const TLS_HINT =
	"servers on other machines are reached by TLS with a certificate that is checked: in the address, sslrootcert=<file> names its authority, sslmode=no-verify takes any, sslmode=disable is plain text";

const ASKS_FOR_PASSWORD = "the server asks for a password";

const THIS_MACHINE = /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[?::1\]?)$/i;

/**
 * @param {URL} address
 * @param {number} timeout of a statement, and of a socket on which nothing comes or goes, in milliseconds
 */
function openPool(address, timeout) {
	const url = new URL(address);
	// The driver takes the last of several. One without a value would be plain text to it, and says nothing.
	for (const name of TLS_PARAMETERS) if (!url.searchParams.getAll(name).at(-1)) url.searchParams.delete(name);
	const { Client, Pool } = require("pg");
	const pool = new Pool({
		...{
			connectionString: url.href,
			application_name: "pi-session-native",
			max: 4,
			keepAlive: true,
			allowExitOnIdle: true,
		},
		...{ connectionTimeoutMillis: timeout, ssl: needsTls(url) ? true : undefined, Client: poolClient(Client) },
		// A server goes on with what a client that is gone had asked for, and would wait for a lock forever.
		...{ statement_timeout: timeout, lock_timeout: Math.ceil(timeout / 2) },
	});
	// The socket counts from the last byte, in either direction; pg's own limit is one for the whole answer.
	pool.on("connect", (client) => {
		const socket = socketOf(client);
		socket?.setTimeout(timeout, () =>
			socket.destroy(new Error(`timeout: nothing was received or sent for ${timeout} ms`)),
		);
	});
	// A connection that breaks while nobody uses it is replaced; without a listener it would end the process.
	pool.on("error", () => {});
	return pool;
}

/**
 * Whether a connection is to be encrypted, and the server's certificate checked, though neither the address nor the
 * environment says so: if the server is another machine.
 * @param {URL} address
 */
function needsTls(address) {
	if (TLS_PARAMETERS.some((name) => address.searchParams.has(name)) || TLS_MODES.has(process.env.PGSSLMODE ?? ""))
		return false;
	// The driver takes the parameter, and the last of several.
	const host =
		address.searchParams.getAll("host").at(-1) || address.hostname.replace(/%2f/gi, "/") || process.env.PGHOST || "";
	// A path is that of a socket of this machine.
	return !host.startsWith("/") && !THIS_MACHINE.test(host);
}

/**
 * The connection's socket, or what encrypts it, once it is connected.
 * @param {import("pg").PoolClient} client
 * @returns {import("node:net").Socket | undefined}
 */
const socketOf = (client) => /** @type {any} */ (client).connection?.stream;

/**
 * A client that reads the password file of PostgreSQL's clients where no password is given: `pg` 8 does so with a
 * warning, `pg` 9 will not. One that cannot connect closes its socket: `pg` lets the server do that, which waits for a
 * password for a minute, and so would this process.
 * @param {typeof import("pg").Client} Client
 */
const poolClient = (Client) =>
	class extends Client {
		/** @param {import("pg").ClientConfig} [config] */
		constructor(config) {
			super(config);
			/** @type {any} */ (this).password ??= () => passwordInFile(/** @type {any} */ (this).connectionParameters);
		}

		/** @param {any} [done] the pool's @returns {any} */
		connect(done) {
			if (!done) return super.connect();
			return super.connect((/** @type {Error} */ error) => {
				if (error) socketOf(/** @type {any} */ (this))?.destroy();
				done(error);
			});
		}
	};

/** Throws if it has none. @param {unknown} connection @returns {Promise<string>} */
async function passwordInFile(connection) {
	const password = await new Promise((resolve) => /** @type {any} */ (require)("pgpass")(connection, resolve));
	if (password === undefined)
		throw new Error(`${ASKS_FOR_PASSWORD}, and the address, PGPASSWORD and ~/.pgpass have none for it`);
	return password;
}

/** @param {string} name of the store, for the message @param {unknown} error */
function storeError(name, error) {
	const state = isObject(error) && typeof error.code === "string" ? error.code : "";
	const said = messageOf(error);
	if (NO_TLS.test(said)) return new StoreError("failed", `${name}: ${said} (${TLS_HINT})`, { cause: error });
	const byState = /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(state)
		? (SQL_STATES[state] ?? SQL_STATES[state.slice(0, 2)] ?? "failed")
		: undefined;
	// Codes of the system, not Node's own (ERR_…), which are faults of a call; `open` is that of a certificate.
	const lost =
		(/^E(?!RR_)[A-Z]/.test(state) && !(isObject(error) && error.syscall === "open")) ||
		/connection|terminated|timeout|not queryable|socket/i.test(said);
	return new StoreError(byState ?? (lost ? "unreachable" : "failed"), `${name}: ${said}`, { cause: error });
}

exports.openPool = openPool;
exports.storeError = storeError;
