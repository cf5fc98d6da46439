// A lock that one process of this machine has at a time, and that the operating system takes back when that process ends, however it
// ends: an address that it listens on. Nothing is said there.
const { createHash } = require("node:crypto");
const { connect, createServer } = require("node:net");
const { promises: fs } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");
const { setTimeout: pause } = require("node:timers/promises");
const { isObject } = require("./lines.js");

const PAUSE_MS = 5;

/**
 * Does something that no other process of this machine does at the same time under this name.
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
async function withHostLock(name, work) {
	const address = addressOf(name);
	let server = await listenAt(address);
	while (!server) {
		await dropLeft(address);
		await pause(PAUSE_MS * (1 + Math.random()));
		server = await listenAt(address);
	}
	try {
		return await work();
	} finally {
		const held = server;
		await new Promise((resolve) => held.close(resolve));
	}
}

/** Only Linux and Windows have addresses that are no files. @param {string} name */
function addressOf(name) {
	const id = `pi-session-native-${createHash("sha256").update(name).digest("hex").slice(0, 24)}`;
	if (process.platform === "win32") return `\\\\.\\pipe\\${id}`;
	return process.platform === "linux" ? `\0${id}` : join(tmpdir(), id);
}

/** Undefined if another process listens there. @param {string} address @returns {Promise<import("node:net").Server | undefined>} */
function listenAt(address) {
	return new Promise((resolve, reject) => {
		const server = createServer((socket) => socket.destroy());
		server.once("error", (error) => (isObject(error) && error.code === "EADDRINUSE" ? resolve(undefined) : reject(error)));
		server.listen(address, () => resolve(server));
	});
}

/** Removes the file of an address whose process was killed. @param {string} address */
async function dropLeft(address) {
	if (process.platform === "win32" || process.platform === "linux") return;
	const isLeft = await new Promise((resolve) => {
		const socket = connect(address, () => {
			socket.destroy();
			resolve(false);
		});
		socket.once("error", (error) => resolve(isObject(error) && error.code === "ECONNREFUSED"));
	});
	if (isLeft) await fs.rm(address, { force: true });
}

exports.withHostLock = withHostLock;
