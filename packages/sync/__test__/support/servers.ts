// Real servers for stores, each in a temporary folder on a free port of the loopback, and a proxy that disturbs the
// connection to them.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer, type Server as HttpServer, request } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { remove } from "../../../../__test__/support/remove.js";
import { tool } from "../../../../__test__/support/tools.js";

export interface RunningServer {
	port: number;
	stop(): Promise<void>;
}

/** Lets a server listen until the running test is over. Returns its port. */
export async function listen(server: Server): Promise<number> {
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	onTestFinished(() => {
		if ("closeAllConnections" in server) (server as HttpServer).closeAllConnections();
		server.close();
	});
	return (server.address() as AddressInfo).port;
}

/** A port on which no server listens. */
export function freePort(): Promise<number> {
	return new Promise((resolve, reject) => {
		const server = createServer().on("error", reject);
		server.listen(0, "127.0.0.1", () => {
			const { port } = server.address() as AddressInfo;
			server.close(() => resolve(port));
		});
	});
}

/** Debian's folder of PostgreSQL's commands, besides the PATH. */
function postgresFolders(): string[] {
	const debian = "/usr/lib/postgresql";
	return existsSync(debian) ? readdirSync(debian).map((version) => join(debian, version, "bin")) : [];
}

/** Waits until a process prints a text, on either output. */
function saying(child: ChildProcess, text: string): Promise<void> {
	let said = "";
	return new Promise((resolve, reject) => {
		for (const output of [child.stdout, child.stderr])
			output?.setEncoding("utf8").on("data", (data: string) => {
				said = (said + data).slice(-10_000);
				if (said.includes(text)) resolve();
			});
		child.on("error", reject);
		child.on("close", (code) => reject(new Error(`the server ended (${code}) and said: ${said}`)));
	});
}

/** Waits until a server accepts connections, because this one prints nothing. */
async function listening(child: ChildProcess, port: number): Promise<void> {
	for (;;) {
		if (child.exitCode !== null) throw new Error(`the server ended (${child.exitCode})`);
		const taken = await new Promise<boolean>((resolve) => {
			const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
			socket.on("connect", () => socket.destroy());
		});
		if (taken) return;
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
}

const running = new Set<ChildProcess>();
process.on("exit", () => {
	for (const child of running) child.kill("SIGKILL");
});

function stopper(child: ChildProcess, signal: NodeJS.Signals, folder: string): () => Promise<void> {
	running.add(child);
	const closed = new Promise<void>((resolve) => child.on("close", () => resolve()));
	return async () => {
		child.kill(signal);
		await closed;
		running.delete(child);
		await remove(folder);
	};
}

export const PASSWORD = "s3cret/pass:word@x";

export interface Postgres extends RunningServer {
	url(options?: { user?: string; password?: string; port?: number; database?: string }): string;
}

/** PostgreSQL from Debian's packages. It refuses to run as root, so root runs it as the user nobody. */
export async function startPostgres(settings: string[] = []): Promise<Postgres> {
	const [initdb, postgres] = ["initdb", "postgres"].map((name) => tool(name, "postgresql", postgresFolders())) as [
		string,
		string,
	];
	const folder = mkdtempSync(join(tmpdir(), "psn-postgres-"));
	const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
	chmodSync(folder, 0o700);
	writeFileSync(join(folder, "password"), PASSWORD);
	if (user.uid !== undefined)
		for (const path of [folder, join(folder, "password")]) chownSync(path, user.uid, user.gid);
	const data = join(folder, "data");
	const auth = ["-U", "owner", "-A", "scram-sha-256", `--pwfile=${join(folder, "password")}`];
	execFileSync(initdb, ["-D", data, "-E", "UTF8", "--locale=C", "--no-sync", ...auth], {
		...user,
		cwd: folder,
		stdio: "pipe",
	});
	const port = await freePort();
	const options = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", ...settings].flatMap(
		(one) => ["-c", one],
	);
	const child = spawn(postgres, ["-D", data, "-p", String(port), ...options], {
		...user,
		cwd: folder,
		stdio: ["ignore", "pipe", "pipe"],
	});
	const stop = stopper(child, "SIGQUIT", folder);
	await saying(child, "ready to accept connections");
	return {
		port,
		stop,
		url: (to = {}) =>
			`postgres://${to.user ?? "owner"}:${encodeURIComponent(to.password ?? PASSWORD)}@127.0.0.1:${to.port ?? port}/${to.database ?? "postgres"}`,
	};
}

export interface S3 extends RunningServer {
	/** Its files: a folder for each bucket. */
	folder: string;
	newBucket(): string;
	credentials: { accessKeyId: string; secretAccessKey: string };
}

/**
 * s3s-fs, an S3-compatible server on a folder. It checks whether an object exists and then creates it, in two steps,
 * which S3 does in one. So we send it one creating request at a time.
 */
export async function startS3(): Promise<S3> {
	const command = tool("s3s-fs", "cargo install s3s-fs --version 0.14.1 --features binary --locked", [
		join(userInfo().homedir, ".cargo/bin"),
	]);
	const folder = mkdtempSync(join(tmpdir(), "psn-s3-"));
	const credentials = { accessKeyId: "owner", secretAccessKey: PASSWORD };
	const inner = await freePort();
	const args = [
		"--host",
		"127.0.0.1",
		"--port",
		String(inner),
		"--access-key",
		"owner",
		"--secret-key",
		PASSWORD,
		folder,
	];
	// Nobody reads its output. Through a pipe it would stop answering once the pipe is full.
	const child = spawn(command, args, { stdio: "ignore" });
	const stop = stopper(child, "SIGTERM", folder);
	await listening(child, inner);
	let turn: Promise<unknown> = Promise.resolve();
	const front = createHttpServer((incoming, outgoing) => {
		const forward = () =>
			new Promise<void>((resolve) => {
				// A client that disconnected before its turn came.
				if (incoming.destroyed) return resolve();
				const { method, url, headers } = incoming;
				const passed = request({ port: inner, host: "127.0.0.1", method, path: url, headers }, (answer) => {
					answer.on("close", resolve);
					// The client has disconnected meanwhile. Nobody reads its answer, and an unread answer never closes.
					const discard = () => answer.unpipe(outgoing).resume();
					if (outgoing.destroyed) {
						discard();
						return;
					}
					outgoing.on("close", discard);
					outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
					answer.pipe(outgoing);
				});
				passed.on("error", () => outgoing.destroy());
				passed.on("close", resolve);
				// A client that disconnects halfway has sent no object. A request may have arrived completely, but be passed on
				// only in part. Its pipe is then never ended, and all later requests would wait for ever.
				incoming.on("close", () => passed.writableEnded || passed.destroy());
				incoming.pipe(passed);
			});
		if (incoming.method === "PUT") turn = turn.then(forward);
		else forward();
	});
	await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
	let buckets = 0;
	return {
		port: (front.address() as AddressInfo).port,
		folder,
		credentials,
		newBucket: () => {
			const name = `bucket-${++buckets}`;
			mkdirSync(join(folder, name));
			return name;
		},
		stop: async () => {
			front.closeAllConnections();
			await new Promise((resolve) => front.close(resolve));
			await stop();
		},
	};
}

export interface TcpProxy extends RunningServer {
	/** Ends all connections, like a network failure. */
	cut(): void;
	/** Ends the connection after this many more bytes from the client. */
	cutAfter(bytes: number): void;
	/** The same for bytes from the server: the request was carried out, but its answer does not arrive completely. */
	cutAnswerAfter(bytes: number): void;
	/** No data passes any more, and neither side notices it. */
	hold(): void;
	/** Each piece of data is delayed by this time. */
	delay(milliseconds: number): void;
	/** The server's data comes in pieces of this many bytes, one every 25 ms. */
	pace(bytes: number): void;
	/** The time for which pieces have waited since the last `pace`, in milliseconds. */
	paced(): number;
	/** New connections are undisturbed. */
	heal(): void;
}

/** A connection to a server that can be disturbed. */
export async function startProxy(target: number): Promise<TcpProxy> {
	const sockets = new Set<Socket>();
	let [held, wait, pace, paced] = [false, 0, Infinity, 0];
	const left = { up: Infinity, down: Infinity };
	const cut = (): void => {
		for (const socket of sockets) socket.destroy();
	};
	const carry = (from: Socket, to: Socket, way: "up" | "down"): void => {
		// Pieces keep their order, even if the delay changes.
		let turn = Promise.resolve();
		from.on("data", (piece: Buffer) => {
			turn = turn.then(async () => {
				if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
				if (held) return;
				const part = piece.subarray(0, Math.min(piece.length, left[way]));
				left[way] -= part.length;
				const step = way === "down" ? pace : Infinity;
				let at = 0;
				for (; at + step < part.length; at += step) {
					to.write(part.subarray(at, at + step));
					await new Promise((resolve) => setTimeout(resolve, 25));
					paced += 25;
				}
				if (part.length === piece.length) to.write(part.subarray(at));
				else to.write(part.subarray(at), cut);
			});
		});
		from.on("error", () => to.destroy());
		from.on("close", () => turn.then(() => (held ? undefined : to.end())));
		from.on("close", () => sockets.delete(from));
		sockets.add(from);
	};
	const server = createServer((client) => {
		const upstream = connect(target, "127.0.0.1");
		carry(client, upstream, "up");
		carry(upstream, client, "down");
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	return {
		port: (server.address() as AddressInfo).port,
		cut,
		cutAfter: (bytes) => (left.up = bytes),
		cutAnswerAfter: (bytes) => (left.down = bytes),
		hold: () => (held = true),
		delay: (milliseconds) => (wait = milliseconds),
		pace: (bytes) => ([pace, paced] = [bytes, 0]),
		paced: () => paced,
		heal: () => {
			cut();
			[held, wait, pace] = [false, 0, Infinity];
			[left.up, left.down] = [Infinity, Infinity];
		},
		stop: async () => {
			cut();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}
