// Kills a writer at random moments, while another process redacts, repairs and merges its file. After each kill it
// checks that no acknowledged entry is lost:
//   npm run kills -- --kills 5000 --seed 1
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { killLoop } from "../__test__/stress/kill-loop.mjs";
import { count } from "../__test__/support/counts.mjs";
import { optionsOf } from "./options.mjs";

const { values } = optionsOf(
	import.meta.url,
	{ options: { kills: { type: "string" }, seed: { type: "string" } } },
	{ counts: ["kills"], whole: ["seed"] },
);
const { kills = count("kills", "long"), seed = Math.floor(Math.random() * 2 ** 31) } = values;
const scratch = mkdtempSync(join(tmpdir(), "kills-"));
console.log(`kills: ${kills}, seed ${seed}`);
const start = Date.now();
try {
	const progress = ({ kills: done }) => {
		if (done % 100 === 0) console.log(`${done} kills`);
	};
	const total = await killLoop({ kills, seed, scratch, progress });
	const seconds = ((Date.now() - start) / 1000).toFixed(0);
	console.log(
		`${total.kills} kills: ${total.acknowledged} acknowledged entries in ${total.files} files, all found; ` +
			`${total.locked} of the writers had the lock, which ${total.refused} others were refused; ` +
			`${total.rewritten} redactions, repairs and merges beside them; ${total.kept} originals were kept by ` +
			`repairs, all whole; ${total.cut} lines were cut and stand alone; ${total.failed} appends failed, because the ` +
			`file was locked or replaced at each try (${seconds} s)`,
	);
} finally {
	rmSync(scratch, { recursive: true, force: true });
}
