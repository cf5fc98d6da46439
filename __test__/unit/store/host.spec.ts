// The id of a host, and the name that others see.
import { readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { userInfo } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { hostId } from "../../../lib/store/index.js";
import { emptyDirectory } from "../../support/lines.js";

const require = createRequire(import.meta.url);
const { displayName } = require("../../../lib/store/names.js");
const { machineKey } = require("../../../lib/store/host-id.js");
const plain = (text: string) => text.replace(/[^A-Za-z0-9-]+/g, "-").replace(/^-+|-+$/g, "").toLowerCase();

beforeEach(() => {
	vi.stubEnv("PI_SESSION_NATIVE_HOST", "");
	return () => vi.unstubAllEnvs();
});

test("a host's id is made once, and shows its user and machine, or the name that the settings give it", () => {
	const agent = emptyDirectory();
	const folder = join(agent, "session-stores");
	const id = hostId(folder);
	expect(hostId(folder)).toBe(id);
	expect(displayName(id).startsWith(plain(userInfo().username))).toBe(true);
	expect(readdirSync(folder)).toHaveLength(1);
	writeFileSync(join(agent, "session-store.json"), JSON.stringify({ name: "Anna (work)" }), { mode: 0o600 });
	expect(hostId(folder)).toBe(id);
	expect(displayName(hostId(join(agent, "another")))).toBe("anna-work");
});

test("a machine is known by its id of the system, which its network name does not change; a container by its network name", () => {
	const files = (there: Record<string, string>) => (path: string) => there[path];
	const id = "0123456789abcdef0123456789abcdef\n";
	const known = machineKey("linux", files({ "/etc/machine-id": id }));
	expect(known).toMatch(/^[0-9a-f]{16}$/);
	expect(known).toBe(machineKey("linux", files({ "/etc/machine-id": id })));
	expect(known).not.toBe(machineKey("linux", files({ "/etc/machine-id": id.replace("0", "1") })));
	for (const there of [{}, { "/etc/machine-id": "uninitialized\n" }, { "/etc/machine-id": id, "/.dockerenv": "" }, { "/etc/machine-id": id, "/run/.containerenv": "" }]) expect(machineKey("linux", files(there as never))).toBeUndefined();
	for (const platform of ["darwin", "win32"]) expect(machineKey(platform, files({}))).toBe("here");
});

test("a name is an id without its random end", () => {
	expect(["anna-laptop-0a1b2c3d", "desktop", "0a1b2c3d", "-0a1b2c3d", "a-0A1B2C3D"].map(displayName)).toEqual(["anna-laptop", "desktop", "0a1b2c3d", "-0a1b2c3d", "a-0A1B2C3D"]);
});
