// Machines that share a directory, which are killed and disconnected from it.
import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { count } from "../../../../__test__/support/counts.mjs";
import { emptyDirectory } from "../support/lines.js";
import { killMachines } from "../support/store-kills.js";

const seed = Number(process.env.PSN_SEED ?? 20261122);

test(`machines that share a directory lose nothing (seed ${seed})`, async () => {
	const path = emptyDirectory();
	const links = emptyDirectory();
	// Each reaches the directory by its own link, like a network drive that is sometimes unmounted.
	const wayOf = (host: string) => {
		const address = join(links, host);
		const heal = () => {
			rmSync(address, { force: true });
			symlinkSync(path, address);
		};
		heal();
		return { address, heal, trouble: () => rmSync(address, { force: true }) };
	};
	await killMachines({ kills: count("store_kills"), seed, wayOf });
});
