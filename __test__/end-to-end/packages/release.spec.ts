// A release: which tags are accepted, the contents of the packages, and their publication to a small server in place of
// the registry.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { runProgram } from "../../support/cli.js";
import { caught, root, scratch } from "../../support/scratch.js";

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const { checkTag, stage } = (await import(join(root, "scripts/release.mjs"))) as {
	checkTag(dir: string, tag: string): void;
	stage(dir: string, addons: string, env?: Record<string, string>): void;
};
const { distTag } = (await import(join(root, "scripts/publish.mjs"))) as { distTag(version: string): string };

const write = (file: string, text: string): void => {
	mkdirSync(dirname(file), { recursive: true });
	writeFileSync(file, text);
};
const json = (file: string): any => JSON.parse(readFileSync(file, "utf8"));

/** The files of a clone that a release reads, and files with the names of the addons of all platforms. */
function clone(): { dir: string; addons: string; manifests: string[] } {
	const dir = join(scratch(), "clone");
	const sync = "packages/sync/package.json";
	for (const part of ["npm", "package.json", sync, "Cargo.toml", "CHANGELOG.md", "LICENSE", "THIRD_PARTY_NOTICES.md"]) {
		cpSync(join(root, part), join(dir, part), { recursive: true });
	}
	const addons = join(dir, "artifacts");
	const platforms = readdirSync(join(dir, "npm"));
	for (const name of platforms) write(join(addons, `pi-session-native.${name}.node`), "an addon\n");
	return {
		dir,
		addons,
		manifests: [...platforms.map((name) => join(dir, "npm", name, "package.json")), join(dir, "package.json")],
	};
}

test("a tag matches every manifest and the changelog", () => {
	const { dir, manifests } = clone();
	const { version } = manifest;
	write(join(dir, "CHANGELOG.md"), `# Changelog\n\n## ${version}\n`);
	checkTag(dir, `v${version}`);
	expect(caught(() => checkTag(dir, version)).message).toContain("begin with v");
	expect(caught(() => checkTag(dir, "v9.9.9")).message).toContain(`package.json says ${version}`);
	write(join(dir, "CHANGELOG.md"), "# Changelog\n\n## Unreleased\n");
	expect(caught(() => checkTag(dir, `v${version}`)).message).toBe(`CHANGELOG.md has no section ${version}`);
	const sync = join(dir, "packages/sync/package.json");
	write(join(dir, "CHANGELOG.md"), `# Changelog\n\n## ${version}\n`);
	write(sync, JSON.stringify({ ...json(sync), dependencies: { "pi-session-native": "^0.0.1" } }));
	expect(caught(() => checkTag(dir, `v${version}`)).message).toContain(`must depend on pi-session-native ^${version}`);
	const one = manifests[3] as string;
	write(one, JSON.stringify({ ...json(one), version: "0.0.1" }));
	expect(caught(() => checkTag(dir, `v${version}`)).message).toContain(`${one} says 0.0.1`);
});

// Regression: a tag was released with another version in Cargo.toml.
test("a tag with another version in Cargo.toml is refused", () => {
	const { dir } = clone();
	const { version } = manifest;
	write(join(dir, "CHANGELOG.md"), `# Changelog\n\n## ${version}\n`);
	const crate = join(dir, "Cargo.toml");
	const text = readFileSync(crate, "utf8");
	write(crate, text.replace(`version = "${version}"`, 'version = "0.0.7"'));
	expect(caught(() => checkTag(dir, `v${version}`)).message).toBe(
		`The tag v${version} does not match this version: ${crate} says 0.0.7`,
	);
	write(crate, text.replace(`version = "${version}"\n`, ""));
	expect(caught(() => checkTag(dir, `v${version}`)).message).toContain(`${crate} says undefined`);
});

test("the notices are fresh: node scripts/notices.mjs", () => {
	const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, "scripts/notices.mjs"), "--check"], {
		encoding: "utf8",
	});
	expect({ status, stdout }, stderr).toEqual({ status: 0, stdout: "" });
});

describe("the packages of a release", () => {
	// Regression: packages had no `repository`, so npm refused the statement of their origin.
	test("each names the repository it is built in", () => {
		const { dir, addons, manifests } = clone();
		expect(manifests).toHaveLength(9);
		stage(dir, addons, { GITHUB_REPOSITORY: "somebody/of-theirs", GITHUB_SERVER_URL: "https://example.org" });
		for (const file of [...manifests, join(dir, "packages/sync/package.json")]) {
			expect(json(file).repository, file).toEqual({
				type: "git",
				url: "git+https://example.org/somebody/of-theirs.git",
			});
		}
		expect(Object.keys(json(join(dir, "package.json")).optionalDependencies)).toHaveLength(8);
	});

	test("are not made while an addon is missing", () => {
		const { dir, addons } = clone();
		rmSync(join(addons, "pi-session-native.win32-x64-msvc.node"));
		expect(caught(() => stage(dir, addons, {})).message).toContain("pi-session-native.win32-x64-msvc.node");
		expect(json(join(dir, "package.json"))).toEqual(manifest);
	});
});

test("a prerelease has a dist-tag of its own", () => {
	const tags = ["1.2.3", "1.2.3+build.5", "1.2.3-beta.1", "0.1.0-RC.2", "1.2.3-0", "1.2.3-latest.1", "1.2.3-alpha+5"];
	expect(tags.map(distTag)).toEqual(["latest", "latest", "beta", "rc", "next", "next", "alpha"]);
});

describe("publishing", () => {
	interface Registry {
		env: Record<string, string>;
		/** The published packages, in order, with their dist-tags. */
		taken: { name: string; version: string; tags: string[] }[];
		/** The names of packages whose publication fails. */
		failing: Set<string>;
		down: boolean;
	}

	async function registry(): Promise<Registry> {
		const stored = new Map<string, any>();
		const self: Registry = { env: {}, taken: [], failing: new Set(), down: false };
		const server = createServer((request, response) => {
			const answer = (code: number, value: unknown) => {
				response.writeHead(code, { "content-type": "application/json" });
				response.end(JSON.stringify(value));
			};
			const name = decodeURIComponent((request.url ?? "").slice(1));
			let body = "";
			request.setEncoding("utf8").on("data", (text) => (body += text));
			request.on("end", () => {
				if (self.down) return answer(503, { error: "not now" });
				if (request.method !== "PUT")
					return stored.has(name) ? answer(200, stored.get(name)) : answer(404, { error: "Not found" });
				if (self.failing.has(name)) return answer(500, { error: "no" });
				const value = JSON.parse(body);
				const [version] = Object.keys(value.versions) as [string];
				if (stored.get(name)?.versions[version]) return answer(403, { error: "cannot publish over it" });
				self.taken.push({ name, version, tags: Object.keys(value["dist-tags"]) });
				const before = stored.get(name);
				stored.set(name, {
					...value,
					"dist-tags": { ...before?.["dist-tags"], ...value["dist-tags"] },
					versions: { ...before?.versions, ...value.versions },
				});
				answer(201, { ok: true });
			});
		});
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		onTestFinished(() => void server.close());
		const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
		const home = scratch();
		write(join(home, ".npmrc"), `registry=http://${host}/\n//${host}/:_authToken=none\nfetch-retries=0\n`);
		const { PATH = "" } = process.env;
		self.env = { PATH, HOME: home, NPM_CONFIG_CACHE: join(home, "cache"), NO_UPDATE_NOTIFIER: "1" };
		return self;
	}

	/** Tarballs of a release of two platforms. */
	async function tarballs(version: string): Promise<string> {
		const dir = scratch();
		const platforms = ["linux-x64-gnu", "win32-x64-msvc"].map((name) => `pi-session-native-${name}`);
		const optionalDependencies = Object.fromEntries(platforms.map((name) => [name, version]));
		const manifests = [
			{ name: "pi-session-native", version, optionalDependencies },
			{ name: "pi-session-sync", version, dependencies: { "pi-session-native": `^${version}` } },
			...platforms.map((name) => ({ name, version })),
		];
		mkdirSync(join(dir, "packages"));
		for (const one of manifests) {
			write(join(dir, "package/package.json"), JSON.stringify(one));
			const { code, output } = await run("tar", [
				"-czf",
				join(dir, "packages", `${one.name}-${version}.tgz`),
				"-C",
				dir,
				"package",
			]);
			expect(code, output).toBe(0);
		}
		return join(dir, "packages");
	}

	async function run(command: string, args: string[], env = process.env) {
		const { code, out, err } = await runProgram(command, args, { cwd: tmpdir(), env });
		return { code, output: out + err };
	}

	const publish = (dir: string, { env }: Registry) =>
		run(process.execPath, [join(root, "scripts/publish.mjs"), dir], env as any);

	// Regression: a release that stopped half way could not be repeated.
	test("continues in order when it is run again", async () => {
		const server = await registry();
		const dir = await tarballs("1.2.3");
		server.failing.add("pi-session-native-win32-x64-msvc");
		expect((await publish(dir, server)).code).not.toBe(0);
		expect(server.taken.map(({ name }) => name)).toEqual(["pi-session-native-linux-x64-gnu"]);
		server.failing.clear();
		const { code, output } = await publish(dir, server);
		expect(code, output).toBe(0);
		expect(output).toContain("pi-session-native-linux-x64-gnu@1.2.3 is published already\n");
		expect(server.taken).toEqual(
			[
				"pi-session-native-linux-x64-gnu",
				"pi-session-native-win32-x64-msvc",
				"pi-session-native",
				"pi-session-sync",
			].map((name) => ({ name, version: "1.2.3", tags: ["latest"] })),
		);
		// Again, with another build.
		const other = await tarballs("1.2.3");
		writeFileSync(
			join(other, "../package/package.json"),
			JSON.stringify({ ...json(join(other, "../package/package.json")), os: ["win32"] }),
		);
		await run("tar", [
			"-czf",
			join(other, "pi-session-native-win32-x64-msvc-1.2.3.tgz"),
			"-C",
			join(other, ".."),
			"package",
		]);
		const again = await publish(other, server);
		expect(again.code, again.output).toBe(0);
		expect(again.output).toContain("pi-session-native-win32-x64-msvc@1.2.3 is published already, from another build\n");
		expect(server.taken).toHaveLength(4);
	});

	test("stops if the registry fails or a platform is missing", async () => {
		const server = await registry();
		const dir = await tarballs("1.2.3");
		server.down = true;
		const silent = await publish(dir, server);
		expect(silent.code).toBe(1);
		expect(silent.output).toContain(
			"The registry did not tell whether pi-session-native-linux-x64-gnu@1.2.3 is published",
		);
		server.down = false;
		rmSync(join(dir, "pi-session-native-win32-x64-msvc-1.2.3.tgz"));
		const lacking = await publish(dir, server);
		expect(lacking.code).toBe(1);
		expect(lacking.output).toContain(
			"does not contain these platform packages: pi-session-native-win32-x64-msvc@1.2.3",
		);
		expect(server.taken).toEqual([]);
	});
});
