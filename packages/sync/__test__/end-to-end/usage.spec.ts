// The usage of `pi-sync`: its help, and its messages for wrong arguments.
import { cpSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { runProgram } from "../../../../__test__/support/cli.js";
import { message, scratch, snapshot, user } from "../../../../__test__/support/scratch.js";
import { good, piSync, put, run, team, withEnv, world } from "../support/cli.js";

const ID = "0194aaaa-1111-7000-8000-000000000001";

test("errors explain wrong use and never contain a password", async () => {
	const { laptop } = team();
	put(laptop, ID, [message("a", null, user("hello"))]);
	const said = async (args: string[], store?: string) => {
		const { code, out, err } = await run(withEnv(laptop, { PI_SYNC_STORE: store }), args);
		expect(out + err).not.toContain("s3cret");
		return { code, err: err.trim(), out };
	};
	expect(await said(["push"])).toMatchObject({
		code: 2,
		err: "Error: No store is named: use --store <url>, PI_SYNC_STORE, or store in session-store.json in pi's directory",
	});
	const missing = join(laptop.cwd, "no-such");
	const before = snapshot(join(laptop.agent, "sessions"));
	for (const command of ["pull", "push", "sync"])
		expect(await said([command, "--store", missing])).toMatchObject({
			code: 1,
			err: expect.stringContaining("there is no such directory: make it, or mount its drive"),
			out: "",
		});
	expect(await said(["pull", "--store", "ftp://me:s3cret@x/y"])).toMatchObject({
		code: 2,
		err: "Error: No store has addresses that begin with ftp:// (use postgres://, s3://, file:// or the path of a directory)",
	});
	expect(await said(["pull", "--store", "s3://"])).toMatchObject({
		code: 2,
		err: "Error: The address of the store names no bucket: s3://bucket/prefix",
	});
	expect(await said(["pull", "--store", "postgres://me:s3cret@[x"])).toMatchObject({
		code: 2,
		err: expect.stringContaining("is no URL"),
	});
	for (const mistyped of ["host=127.0.0.1 user=me password=s3cret dbname=x", "postgres//me:s3cret@127.0.0.1/x"])
		expect(await said(["pull", "--json", "--store", mistyped])).toMatchObject({
			code: 2,
			err: expect.stringContaining("neither a path nor a URL"),
		});
	// Regression: it said that PI_SYNC_STORE may contain the password, which pi's tools print.
	for (const secret of ["postgres://me:s3cret@127.0.0.1:1/x", "postgres://me@127.0.0.1:1/x?password=s3cret"])
		expect(await said(["pull", "--store", secret])).toMatchObject({
			code: 2,
			err: "Error: --store contains a password, which every user of this machine can see: put the password into ~/.pgpass or session-store.json",
		});
	const refused = await said(["pull"], "postgres://me:s3cret@127.0.0.1:1/x?password=s3cret");
	expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("postgres://me@127.0.0.1:1/x") });
	expect(await said(["push", ID, "--all"], missing)).toMatchObject({
		code: 2,
		err: "Error: --all cannot be combined with a session",
	});
	for (const args of [
		["delete", ID, "--all"],
		["move", "shop", "--all"],
	])
		expect(await said(args, laptop.cwd)).toMatchObject({
			code: 2,
			err: expect.stringContaining("unknown option '--all'"),
		});
	// Regression: the sessions went to a project without a name.
	for (const args of [
		["shop", ""],
		["", "shop"],
	])
		expect(await said(["move", ...args], laptop.cwd)).toMatchObject({
			code: 2,
			err: expect.stringContaining("The name of a project must not be empty"),
		});
	for (const args of [["shop", "shop"], ["shop"]])
		expect(await said(["move", ...args], laptop.cwd)).toMatchObject({
			code: 2,
			err: "Error: shop is already the name of the project; give its new name: pi-sync move shop <to>",
		});
	for (const args of [[], ["--text", "a", "--entry", "b"]])
		expect(await said(["redact", ID, ...args])).toMatchObject({
			code: 2,
			err: expect.stringContaining("Use either --text, for a text to remove"),
		});
	expect(await said(["pull", "zzz"], laptop.cwd)).toMatchObject({
		code: 1,
		err: 'Error: No stored session has an id that begins with "zzz"; pi-sync status --all --sessions shows them',
	});
	expect(snapshot(join(laptop.agent, "sessions"))).toEqual(before);
	// Notes are kept under a checksum of the address.
	const kept = JSON.stringify(snapshot(laptop.agent));
	expect(kept).not.toContain("s3cret");
});

test("help has examples, and usage errors name the help", async () => {
	const { laptop } = team();
	const names = [...(await good(laptop, ["--help"])).matchAll(/^ {2}(\w+) [[<]/gm)]
		.map(([, name]) => name as string)
		.filter((name) => name !== "help");
	expect(names).toEqual(["push", "pull", "sync", "status", "move", "delete", "redact"]);
	for (const name of names) {
		expect(await good(laptop, [name, "--help"])).toMatch(new RegExp(`Examples:\n {2}\\$ pi-sync ${name}`));
		expect(await run(laptop, [name, "--bogus"])).toEqual({
			code: 2,
			out: "",
			err: `error: unknown option '--bogus'\n(see pi-sync ${name} --help)\n`,
		});
		expect(JSON.parse((await run(laptop, [name, "--json", "--bogus"])).err)).toEqual({
			error: { message: "unknown option '--bogus'" },
		});
	}
	// Regression: `help` printed the whole help.
	for (const args of [["nope"], ["help", "nope"]])
		expect(await run(laptop, args)).toMatchObject({
			code: 2,
			out: "",
			err: expect.stringContaining("error: unknown command 'nope'"),
		});
	for (const name of ["move", "delete"])
		expect((await run(laptop, [name])).err).toMatch(
			new RegExp(`^error: missing required argument .*\\n\\(see pi-sync ${name} --help\\)\\n$`),
		);
});

// Regression: an unset variable (`--dir "$dir"`) meant the working directory, or the default.
test("options that name something must not be empty", async () => {
	const { laptop } = team();
	put(laptop, ID, [message("a", null, user("hello"))]);
	for (const line of [
		"push --store",
		"push --cwd",
		"pull --dir",
		"sync --dir",
		"status --store",
		"move shop --store",
		`delete ${ID} --store`,
		`redact ${ID} --entry`,
	]) {
		const { code, err } = await run(laptop, [...line.split(" "), ""]);
		expect({ line, code, err }).toEqual({
			line,
			code: 2,
			err: expect.stringMatching(/^error: option .* It must not be empty\./),
		});
	}
});

// Regression: a stack trace was printed.
test("one line names a missing package and its remedy", async () => {
	const copy = scratch();
	const from = dirname(dirname(piSync));
	for (const name of ["bin", "lib", "package.json"]) cpSync(join(from, name), join(copy, name), { recursive: true });
	const { cwd, env } = world();
	const { code, out, err } = await runProgram(process.execPath, [join(copy, "bin/pi-sync.mjs"), "status"], {
		cwd,
		env,
	});
	expect([code, out, err]).toEqual([
		1,
		"",
		expect.stringMatching(/^pi-session-sync: the package \S+ is missing\. In a clone run `npm install && .*\n$/),
	]);
});
