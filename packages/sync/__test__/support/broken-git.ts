// A program `git` that fails until it is mended.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptyDirectory } from "./lines.js";

/** `env` has it first on the path. Once it is mended, every directory is a checkout of `example.org/me/shop`. */
export function brokenGit() {
	const dir = emptyDirectory();
	const broken = join(dir, "broken");
	writeFileSync(broken, "");
	writeFileSync(
		join(dir, "git"),
		`#!/bin/sh
if [ -e "${broken}" ]; then echo "fatal: cannot read .git/config: Input/output error" >&2; exit 128; fi
case "$*" in *remote*) printf 'origin\\thttps://example.org/me/shop.git (fetch)\\n';; esac
`,
		{ mode: 0o755 },
	);
	return {
		env: { PATH: `${dir}:${process.env.PATH}`, PI_SYNC_PROJECT: "" },
		mend: () => rmSync(broken),
	};
}
