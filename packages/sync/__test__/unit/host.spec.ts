// The id of a host, and the name that others see.
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { userInfo } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { hostId } from "../../lib/index.js";
import { emptyDirectory } from "../support/lines.js";
import { systemError } from "../support/opened-files.js";

const require = createRequire(import.meta.url);
const fs = require("node:fs");
const { machineKey } = require("../../lib/machine/host-id.js");
const plain = (text: string) =>
	text
		.replace(/[^A-Za-z0-9-]+/g, "-")
		.replace(/^-+|-+$/g, "")
		.toLowerCase();

/** Without the directory of locks. */
const filesIn = (folder: string) => readdirSync(folder).filter((name) => name !== "locks");

beforeEach(() => {
	vi.stubEnv("PI_SYNC_HOST", "");
	return () => vi.unstubAllEnvs();
});

test("a host's id is created once and shows its user", async () => {
	const folder = join(emptyDirectory(), "session-stores");
	const id = await hostId(folder);
	expect(await hostId(folder)).toBe(id);
	expect(id.startsWith(plain(userInfo().username))).toBe(true);
	expect(filesIn(folder)).toHaveLength(1);
	if (process.platform !== "win32") expect(statSync(folder).mode & 0o777).toBe(0o700);
});

test("PI_SYNC_HOST names the host", async () => {
	vi.stubEnv("PI_SYNC_HOST", "laptop");
	expect(await hostId(emptyDirectory())).toBe("laptop");
	vi.stubEnv("PI_SYNC_HOST", "../up");
	await expect(hostId(emptyDirectory())).rejects.toThrow(/Not an id of a host/);
});

// Regression: it was overwritten, and from then on the machine was another host.
test("a host's id survives moments when it cannot be read", async () => {
	const folder = join(emptyDirectory(), "session-stores");
	const id = await hostId(folder);
	const [file] = filesIn(folder);
	const open = fs.openSync;
	for (const name of [file, ".dockerenv"]) {
		const failing = vi.spyOn(fs, "openSync").mockImplementation((path: unknown, ...rest: unknown[]) => {
			if (String(path).endsWith(String(name))) throw systemError("EMFILE", "too many open files");
			return open(path, ...rest);
		});
		if (name === file || process.platform === "linux")
			await expect(hostId(folder)).rejects.toThrow("too many open files");
		failing.mockRestore();
		expect([await hostId(folder), filesIn(folder)]).toEqual([id, [file]]);
	}
});

// Regression: each of them overwrote the existing id with its own.
test("simultaneous calls return one id", async () => {
	const folder = join(emptyDirectory(), "session-stores");
	const ids = await Promise.all(Array.from({ length: 8 }, () => hostId(folder)));
	expect(new Set(ids).size).toBe(1);
});

test("a file without an id gets one", async () => {
	const folder = join(emptyDirectory(), "session-stores");
	await hostId(folder);
	writeFileSync(join(folder, filesIn(folder)[0] as string), "");
	const id = await hostId(folder);
	expect(id).toMatch(/.-[0-9a-f]{8}$/);
	expect(await hostId(folder)).toBe(id);
});

test("a machine has a system id, a container has none", () => {
	const files = (there: Record<string, string>) => (path: string) => there[path];
	const id = "0123456789abcdef0123456789abcdef\n";
	const known = machineKey("linux", files({ "/etc/machine-id": id }));
	expect(known).toMatch(/^[0-9a-f]{16}$/);
	expect(known).toBe(machineKey("linux", files({ "/etc/machine-id": id })));
	expect(known).not.toBe(machineKey("linux", files({ "/etc/machine-id": id.replace("0", "1") })));
	for (const there of [
		{},
		{ "/etc/machine-id": "uninitialized\n" },
		{ "/etc/machine-id": id, "/.dockerenv": "" },
		{ "/etc/machine-id": id, "/run/.containerenv": "" },
	])
		expect(machineKey("linux", files(there as never))).toBeUndefined();
	for (const platform of ["darwin", "win32"]) expect(machineKey(platform, files({}))).toBe("here");
});
