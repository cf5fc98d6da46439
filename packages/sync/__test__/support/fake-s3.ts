// A bucket in memory that counts requests, and delays its answers.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { batchOf, header, library } from "./lines.js";
import { listen } from "./servers.js";

const { folderOf, headerPath, projectPath, partPath } = createRequire(library)("./logs/log-names.js");

const PAGE = 1000;

export interface FakeBucket {
	/** The address of the store, and the environment of a process that uses it. */
	address: string;
	env: Record<string, string>;
	/** The requests since the list was last emptied: keys, and `?` with a prefix for each page of a list. */
	asked: string[];
	/** A session that a host has stored, by default of the project "shop": one line with a time. */
	put(session: string, options: { at: number; host?: string; content?: string; project?: string }): void;
}

/** Each request takes `delay` milliseconds; a function returns the delay for a key. */
export async function fakeBucket(delay: (key: string) => number): Promise<FakeBucket> {
	const objects = new Map<string, { body: Buffer; modified: Date }>();
	const asked: string[] = [];
	const put = (key: string, body: string | Buffer, at: number) =>
		objects.set(key, { body: Buffer.from(body), modified: new Date(at) });
	put("store.json", `${JSON.stringify({ store: "pi-session-native", version: 4, id: "fake" })}\n`, 0);
	const list = (query: URLSearchParams): string => {
		const [prefix, from] = [query.get("prefix") ?? "", Number(query.get("continuation-token") ?? 0)];
		const keys = [...objects.keys()].filter((key) => key.startsWith(prefix)).sort();
		const found = keys.slice(from, from + PAGE).map((key) => {
			const { body, modified } = objects.get(key) as { body: Buffer; modified: Date };
			return `<Contents><Key>${key}</Key><Size>${body.length}</Size><LastModified>${modified.toISOString()}</LastModified></Contents>`;
		});
		const isMore = from + PAGE < keys.length;
		return `<L><IsTruncated>${isMore}</IsTruncated>${isMore ? `<NextContinuationToken>${from + PAGE}</NextContinuationToken>` : ""}${found.join("")}</L>`;
	};
	const server = createServer((request, response) => {
		const url = new URL(request.url ?? "", "http://x");
		const isList = url.searchParams.has("list-type");
		const key = isList
			? `?${url.searchParams.get("prefix")}`
			: decodeURIComponent(url.pathname.slice("/bucket/".length));
		asked.push(key);
		request.resume();
		setTimeout(() => {
			const object = objects.get(key);
			response.setHeader("date", new Date().toUTCString());
			if (isList) return response.end(list(url.searchParams));
			if (!object) return response.writeHead(404).end("<Error><Code>NoSuchKey</Code></Error>");
			const from = Number(/bytes=(\d+)/.exec(request.headers.range ?? "")?.[1] ?? 0);
			return response
				.writeHead(from > 0 ? 206 : 200, { "last-modified": object.modified.toUTCString(), etag: '"1"' })
				.end(object.body.subarray(from));
		}, delay(key));
	});
	return {
		address: `s3://bucket?endpoint=http://127.0.0.1:${await listen(server)}`,
		env: { AWS_ACCESS_KEY_ID: "me", AWS_SECRET_ACCESS_KEY: "s3cret" },
		asked,
		put: (session, { at, host = "desktop", content = session, project = "shop" }) => {
			put(projectPath(session), `${project}\n`, at);
			put(headerPath(session), header(session), at);
			const message = { role: "user", content, timestamp: at };
			const line = Buffer.from(
				JSON.stringify({
					type: "message",
					id: `${session}-a`,
					parentId: null,
					timestamp: new Date(at).toISOString(),
					message,
				}),
			);
			put(partPath({ folder: folderOf(project), session }, host, 1), batchOf([line], { session, host }), at);
		},
	};
}
