// Connections to PostgreSQL, which are encrypted unless the server is this machine, and end if the server does not
// answer; and the meanings of their errors.
const { StoreError, messageOf } = require("../base/errors.js");
const { isObject } = require("../base/lines.js");

/** @typedef {import("../index").StoreErrorCode} StoreErrorCode */

/** Parameters of an address that determine the encryption; without them the server's host does. */
const TLS_PARAMETERS = ["ssl", "sslmode", "sslcert", "sslkey", "sslrootcert"];
/** The values of PGSSLMODE that `pg` understands. With any other value it would use no encryption. */
const TLS_MODES = new Set(["disable", "prefer", "require", "verify-ca", "verify-full", "no-verify"]);
/** The meanings of PostgreSQL's error codes, by code or by class. */
const SQL_STATES = /** @type {Record<string, StoreErrorCode>} */ ({
	"08": "unreachable",
	25006: "read-only",
	28: "denied",
	40: "unreachable",
	42501: "denied",
	53100: "full",
	53: "unreachable",
	// Another transaction has locked a row for longer than an append waits.
	"55P03": "unreachable",
	57: "unreachable",
});

const NO_TLS = /does not support SSL|certificate/i;
const TLS_HINT =
	"connections to other machines use TLS, and the server's certificate is checked: in the address, " +
	"sslrootcert=<file> names its authority, sslmode=no-verify accepts any certificate, sslmode=disable uses " +
	"no encryption";

const ASKS_FOR_PASSWORD = "the server asks for a password";

const THIS_MACHINE = /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[?::1\]?)$/i;

/**
 * @param {URL} address
 * @param {number} timeout of a statement, and of a silent socket, in milliseconds
 */
function openPool(address, timeout) {
	const url = new URL(address);
	// The driver uses the last of several parameters with one name. For a parameter without a value it would use no
	// encryption, so we ignore that.
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
		// A server continues with the statement of a client that is gone, and would wait for a lock for ever.
		...{ statement_timeout: timeout, lock_timeout: Math.ceil(timeout / 2) },
	});
	// The time counts from the last byte in either direction; pg's own limit would be for the whole answer.
	pool.on("connect", (client) => {
		const socket = socketOf(client);
		socket?.setTimeout(timeout, () =>
			socket.destroy(new Error(`timeout: nothing was received or sent for ${timeout} ms`)),
		);
	});
	// The pool replaces an idle connection that breaks; without a listener the error would end the process.
	pool.on("error", () => {});
	return pool;
}

/**
 * Whether a connection must be encrypted and the server's certificate checked: if the server is another machine, and
 * neither the address nor the environment says otherwise.
 * @param {URL} address
 */
function needsTls(address) {
	if (TLS_PARAMETERS.some((name) => address.searchParams.has(name)) || TLS_MODES.has(process.env.PGSSLMODE ?? ""))
		return false;
	// The driver uses the last parameter of this name.
	const host =
		address.searchParams.getAll("host").at(-1) || address.hostname.replace(/%2f/gi, "/") || process.env.PGHOST || "";
	// A path leads to a socket of this machine.
	return !host.startsWith("/") && !THIS_MACHINE.test(host);
}

/**
 * The socket of a connected client.
 * @param {import("pg").PoolClient} client
 * @returns {import("node:net").Socket | undefined}
 */
const socketOf = (client) => /** @type {any} */ (client).connection?.stream;

/**
 * A client that reads the password file of PostgreSQL's clients if no password is given: `pg` 8 does so with a warning,
 * `pg` 9 will not. If it cannot connect, it closes its socket: `pg` leaves this to the server, which waits for a
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

/** The password in the file; throws if there is none. @param {unknown} connection @returns {Promise<string>} */
async function passwordInFile(connection) {
	const password = await new Promise((resolve) => /** @type {any} */ (require)("pgpass")(connection, resolve));
	if (password === undefined)
		throw new Error(`${ASKS_FOR_PASSWORD}, and neither the address nor PGPASSWORD nor ~/.pgpass contains one`);
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
	// Errors of the system mean a lost connection, but not Node's own (ERR_…), nor `open`, which is for a certificate.
	const lost =
		(/^E(?!RR_)[A-Z]/.test(state) && !(isObject(error) && error.syscall === "open")) ||
		/connection|terminated|timeout|not queryable|socket/i.test(said);
	return new StoreError(byState ?? (lost ? "unreachable" : "failed"), `${name}: ${said}`, { cause: error });
}

exports.openPool = openPool;
exports.storeError = storeError;
