// What a pull and a push note of a session, and what they do when that does not hold any more.
import { appendFileSync, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SESSION, entry } from "../../support/lines.js";
import { text, world } from "../../support/machines.js";

const idsIn = (path: string) => readFileSync(path, "utf8").trimEnd().split("\n").slice(1).map((line) => JSON.parse(line).id);

test("a file that was put back from an old copy after a pull had found nothing new gets its lines again", async () => {
	const { machine, begin } = world();
	const a = machine("a");
	begin(a, entry("first"));
	await a.sync.push();
	const copy = readFileSync(a.file);
	appendFileSync(a.file, text(entry("late")));
	await a.sync.push();
	await a.sync.pull();
	expect((await a.sync.compare()).items).toMatchObject([{ state: "same" }]);
	writeFileSync(a.file, copy);
	expect((await a.sync.compare()).items).toMatchObject([{ state: "changed" }]);
	expect(await a.sync.pull()).toMatchObject([{ added: 1 }]);
	expect(idsIn(a.file)).toEqual(["first", "late"]);
});

test("damage in the store is reported by every pull, and what was put back with the same size and time comes", async () => {
	const { path, machine, begin } = world();
	const [a, b] = [machine("a"), machine("b")];
	begin(a, entry("first"));
	await a.sync.push();
	await b.sync.pull();
	appendFileSync(a.file, text(entry("second")));
	await a.sync.push();
	const folder = join(path, "sessions", SESSION, "a");
	const segment = join(folder, readdirSync(folder).sort().at(-1) as string);
	const [whole, { atime, mtime }] = [readFileSync(segment), statSync(segment)];
	const damaged = Buffer.from(whole);
	damaged[damaged.length - 5] ^= 1;
	const put = (bytes: Buffer) => {
		writeFileSync(segment, bytes);
		utimesSync(segment, atime, mtime);
	};
	put(damaged);
	for (let pulls = 0; pulls < 2; pulls++) expect(await b.sync.pull()).toMatchObject([{ added: 0, problems: [{ session: SESSION }] }]);
	put(whole);
	expect(await b.sync.pull()).toMatchObject([{ added: 1, problems: [] }]);
	expect(idsIn(b.file)).toEqual(["first", "second"]);
	expect(await b.sync.pull()).toEqual([]);
});
