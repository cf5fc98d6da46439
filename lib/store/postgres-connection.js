// Connections to PostgreSQL: encrypted unless the server is this machine, and given up where nothing comes back.
const { optional } = require("./errors.js");

/** Parameters of an address that say how the connection is encrypted; without them the server's host decides. */
const TLS_PARAMETERS = ["ssl", "sslmode", "sslcert", "sslkey", "sslrootcert"];
/** What `pg` understands in PGSSLMODE. Anything else would be plain text. */
const TLS_MODES = new Set(["disable", "prefer", "require", "verify-ca", "verify-full", "no-verify"]);
const THIS_MACHINE = /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[?::1\]?)$/i;

/**
 * @param {URL} address
 * @param {number} timeout of a statement, and of a socket on which nothing comes or goes, in milliseconds
 */
function openPool(address, timeout) {
	const url = new URL(address);
	// The driver takes the last of several. One without a value would be plain text to it, and says nothing.
	for (const name of TLS_PARAMETERS) if (!url.searchParams.getAll(name).at(-1)) url.searchParams.delete(name);
	const pool = new (requirePg().Pool)({
		...{ connectionString: url.href, application_name: "pi-session-native", max: 4, keepAlive: true, allowExitOnIdle: true },
		...{ connectionTimeoutMillis: timeout, ssl: needsTls(url) ? true : undefined },
		// A server goes on with what a client that is gone had asked for, and would wait for a lock forever.
		...{ statement_timeout: timeout, lock_timeout: Math.ceil(timeout / 2) },
	});
	// The socket counts from the last byte, in either direction; pg's own limit is one for the whole answer.
	pool.on("connect", (client) => {
		const socket = socketOf(client);
		socket?.setTimeout(timeout, () => socket.destroy(new Error(`timeout: nothing was received or sent for ${timeout} ms`)));
	});
	// A connection that breaks while nobody uses it is replaced; without a listener it would end the process.
	pool.on("error", () => {});
	return pool;
}

/**
 * Whether a connection is to be encrypted, and the server's certificate checked, though neither the address nor the environment says so:
 * if the server is another machine.
 * @param {URL} address
 */
function needsTls(address) {
	if (TLS_PARAMETERS.some((name) => address.searchParams.has(name)) || TLS_MODES.has(process.env.PGSSLMODE ?? "")) return false;
	// The driver takes the parameter, and the last of several.
	const host = address.searchParams.getAll("host").at(-1) || address.hostname.replace(/%2f/gi, "/") || process.env.PGHOST || "";
	// A path is that of a socket of this machine.
	return !host.startsWith("/") && !THIS_MACHINE.test(host);
}

/**
 * The connection's socket, or what encrypts it, once it is connected.
 * @param {import("pg").PoolClient} client
 * @returns {import("node:net").Socket | undefined}
 */
const socketOf = (client) => /** @type {any} */ (client).connection?.stream;

/** @returns {typeof import("pg")} */
const requirePg = () => optional(() => require("pg"), "unsupported", "Stores in PostgreSQL need the package pg: npm install pg");

exports.openPool = openPool;
