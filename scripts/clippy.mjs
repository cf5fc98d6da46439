// Runs clippy for other systems, so that code for only Windows or macOS is checked, too. (Tests are compiled on the
// systems that they run on.) Nothing is linked, so C code of dependencies is not needed: a fake C compiler creates
// empty files.
//   node scripts/clippy.mjs                          without rustup it checks nothing, which --strict makes a failure
//   node scripts/clippy.mjs aarch64-linux-android    a system that is not among the usual ones
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { optionsOf } from "./options.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
/** One target of each system that has a package, and musl. */
const TARGETS = ["x86_64-pc-windows-msvc", "aarch64-apple-darwin", "aarch64-unknown-linux-musl"];
/**
 * For these targets only the core is compiled. The boundary depends on the system only by C's characters, which are
 * signed on all of them.
 */
const LIKE_THIS_ONE = ["x86_64-pc-windows-msvc", "aarch64-apple-darwin"];

/** A fake compiler and archiver: creates the output file that its arguments name. */
const FAKE_TOOL = `#!/bin/sh
previous=
for argument; do
	case "$argument" in
		-out:*) : > "\${argument#-out:}" ;;
		-Fo*) : > "\${argument#-Fo}" ;;
		*.a | *.lib) : > "$argument" ;;
	esac
	[ "$previous" = -o ] && : > "$argument"
	previous=$argument
done
exit 0
`;

/** Runs clippy for each target and shows its output. Returns an exit code. */
function checkPlatforms(targets, isStrict) {
	const run = (command, args, env = {}) =>
		spawnSync(command, args, { cwd: root, stdio: "inherit", env: { ...process.env, ...env } });
	const added = run("rustup", ["target", "add", ...targets]);
	if (added.status !== 0) {
		console.log(
			"rustup is missing, which gets the libraries of other platforms: https://rustup.rs " +
				`(${added.error?.message ?? "it cannot get them"})`,
		);
		return isStrict ? 1 : 0;
	}
	const scratch = mkdtempSync(join(tmpdir(), "pi-session-native-clippy-"));
	try {
		const fakeTool = join(scratch, "fake-tool");
		writeFileSync(fakeTool, FAKE_TOOL);
		chmodSync(fakeTool, 0o755);
		const tools = targets.flatMap((target) =>
			["CC", "AR"].map((tool) => [`${tool}_${target.replaceAll("-", "_")}`, fakeTool]),
		);
		const statuses = targets.map((target) => {
			const packages = LIKE_THIS_ONE.includes(target) ? ["-p", "pi-session-core"] : [];
			const clippy = ["clippy", "--locked", "--lib", ...packages, "--target", target, "--", "-D", "warnings"];
			return run("cargo", clippy, Object.fromEntries(tools)).status ?? 1;
		});
		return Math.max(...statuses);
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
}

const { values, positionals } = optionsOf(import.meta.url, {
	options: { strict: { type: "boolean" } },
	allowPositionals: true,
});
process.exitCode = checkPlatforms(positionals.length > 0 ? positionals : TARGETS, values.strict);
