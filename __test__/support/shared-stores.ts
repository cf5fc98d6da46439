// A store of each kind that machines of a test share.
import { onTestFinished } from "vitest";
import { DirectoryStore, type LineStore, PostgresStore, S3Store } from "../../lib/store/index.js";
import { emptyDirectory } from "./lines.js";
import { startPostgres, startS3 } from "./servers.js";

export interface SharedStore {
	address: string;
	/** What a process that uses it has in its environment besides. */
	env: Record<string, string>;
	/** The store for a host, until the test is over. */
	open(host: string): LineStore;
}

export async function inDirectory(): Promise<SharedStore> {
	const path = emptyDirectory();
	return { address: path, env: {}, open: (host) => new DirectoryStore({ path, host }) };
}

export async function inPostgres(): Promise<SharedStore> {
	const server = await startPostgres();
	onTestFinished(() => server.stop());
	const open = (host: string) => {
		const store = new PostgresStore({ url: server.url(), host });
		onTestFinished(() => store.close());
		return store;
	};
	return { address: server.url(), env: {}, open };
}

export async function inBucket(): Promise<SharedStore> {
	const server = await startS3();
	onTestFinished(() => server.stop());
	const [bucket, endpoint, region] = [server.newBucket(), `http://127.0.0.1:${server.port}`, "us-east-1"];
	const { accessKeyId, secretAccessKey } = server.credentials;
	return {
		address: `s3://${bucket}?endpoint=${endpoint}&region=${region}`,
		env: { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey },
		open: (host) => new S3Store({ host, bucket, endpoint, region, credentials: server.credentials }),
	};
}
