// Machines with a store on real servers. They are killed and disconnected.
import { onTestFinished, test } from "vitest";
import { count } from "../../../../__test__/support/counts.mjs";
import { startPostgres, startProxy, startS3, type TcpProxy } from "../support/servers.js";
import { killMachines } from "../support/store-kills.js";

const seed = Number(process.env.PSN_SEED ?? 20261122);

/** A connection through a proxy that cuts, splits, delays and drops data. */
async function way(target: number, make: (port: number) => { address: string; server: object }) {
	const proxy: TcpProxy = await startProxy(target);
	onTestFinished(() => proxy.stop());
	return {
		...make(proxy.port),
		heal: () => proxy.heal(),
		trouble: (random: { int(below: number): number }) => {
			const bytes = random.int(3000);
			const troubles = [
				() => proxy.cut(),
				() => proxy.cutAfter(bytes),
				() => proxy.cutAnswerAfter(bytes),
				() => proxy.delay(random.int(50)),
				() => proxy.hold(),
			];
			troubles[random.int(troubles.length)]?.();
		},
	};
}

test(`machines with a PostgreSQL lose nothing (seed ${seed})`, async () => {
	const server = await startPostgres();
	onTestFinished(() => server.stop());
	await killMachines({
		kills: count("store_kills"),
		seed,
		wayOf: () => way(server.port, (port) => ({ address: server.url(), server: { url: server.url({ port }) } })),
	});
});

test(`machines with a bucket lose nothing (seed ${seed})`, async () => {
	const server = await startS3();
	onTestFinished(() => server.stop());
	const bucket = server.newBucket();
	const make = (port: number) => ({
		address: `s3://${bucket}`,
		server: { bucket, endpoint: `http://127.0.0.1:${port}`, credentials: server.credentials },
	});
	await killMachines({ kills: count("store_kills"), seed, wayOf: () => way(server.port, make) });
});
