// Memory: managers that are opened, read and dropped, and entries that are appended to one. Run with --expose-gc.
// Prints a line of JSON.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const modulePath = process.env.PSN_MODULE ?? resolve(dirname(fileURLToPath(import.meta.url)), "../../index.js");
const { SessionManager } = createRequire(import.meta.url)(modulePath);
const [managers, entries] = process.argv.slice(2).map(Number);
const dir = mkdtempSync(join(tmpdir(), "leaks-"));
const user = (text) => ({ role: "user", content: text, timestamp: 1 });

async function settled() {
	for (let turn = 0; turn < 4; turn++) {
		globalThis.gc();
		await new Promise((done) => setImmediate(done));
	}
	return { rss: process.memoryUsage.rss(), heap: process.memoryUsage().heapUsed };
}

function openReadDrop(file, n) {
	const manager = SessionManager.open(file);
	manager.getEntries()[0].message.content.length;
	manager.buildSessionContext();
	manager.getTree();
	if (n % 100 === 0) manager.appendCustomEntry("x", { owner: manager });
	if (n % 7 === 0) manager.close();
}

try {
	const file = join(dir, "session.jsonl");
	const lines = [{ type: "session", version: 3, id: "s", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/c" }];
	for (let n = 0; n < 50; n++) {
		const parentId = n === 0 ? null : `e${n - 1}`;
		lines.push({
			type: "message",
			id: `e${n}`,
			parentId,
			timestamp: "t",
			message: user("x".repeat(n === 0 ? 20_000 : 200)),
		});
	}
	writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
	const warm = Math.floor(managers / 4);
	for (let n = 0; n < warm; n++) {
		openReadDrop(file, n);
		if (n % 200 === 0) await settled();
	}
	const before = await settled();
	for (let n = warm; n < managers; n++) {
		openReadDrop(file, n);
		if (n % 200 === 0) await settled();
	}
	const after = await settled();
	const started = await settled();
	const manager = SessionManager.create("/somewhere", dir);
	for (let n = 0; n < entries; n++) manager.appendMessage(user("twenty bytes of text"));
	const grown = await settled();
	console.log(
		JSON.stringify({
			managers,
			growthMB: (after.rss - before.rss) / 2 ** 20,
			heapGrowthMB: (after.heap - before.heap) / 2 ** 20,
			entries,
			bytesPerEntry: Math.round((grown.rss - started.rss) / entries),
			heapBytesPerEntry: Math.round((grown.heap - started.heap) / entries),
			count: manager.getEntryCount(),
		}),
	);
} finally {
	rmSync(dir, { recursive: true, force: true });
}
