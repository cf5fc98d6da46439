// The project of a session, a name that is the same on every machine: the git remote of its working directory, in one spelling
// whatever protocol and user it was cloned with.
const { execFileSync } = require("node:child_process");
const { basename } = require("node:path");

/** A repository on a broken network drive must not keep anybody waiting. */
const TIMEOUT_MS = 2000;
/** Variables that would make git use another directory. */
const MISLEADING = ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE"];

/**
 * One spelling for a remote: `github.com/me/shop` for `git@github.com:me/shop.git` and `https://me:token@GitHub.com/Me/Shop/`.
 * Lower case, because the services ignore case; no port, because each protocol has its own. Undefined for a path, which differs
 * between machines.
 * @param {string} remote
 */
function normalizeRemote(remote) {
	const text = remote.trim();
	const short = /^(?:[^@/\\]+@)?([^@:/\\]{2,}):(?!\/\/)(.+)$/.exec(text);
	const long = /^[a-z][a-z0-9+.-]*:\/\/(?:[^@/]*@)?([^@:/]+)(?::\d*)?\/(.+)$/i.exec(text);
	const [, host, path] = (/^file:/i.test(text) ? undefined : (long ?? (text.includes("://") ? undefined : short))) ?? [];
	if (host === undefined || path === undefined) return undefined;
	const parts = path.replace(/\\/g, "/").split("/").filter((part) => part !== "");
	const last = parts.pop()?.replace(/\.git$/i, "");
	if (last) parts.push(last);
	return parts.length > 0 ? `${host}/${parts.join("/")}`.toLowerCase() : undefined;
}

/**
 * @param {string} cwd
 * @param {string[]} args
 */
function git(cwd, ...args) {
	const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !MISLEADING.includes(name)));
	try {
		return execFileSync("git", ["-C", cwd, ...args], { encoding: "utf8", env, stdio: ["ignore", "pipe", "ignore"], timeout: TIMEOUT_MS }).trim();
	} catch {
		// No git, no repository, or no remote of that name.
		return "";
	}
}

/**
 * The project of a working directory: the one that is set, else the remote `origin` or the only remote, with the directory below the
 * repository's root after a colon (`github.com/me/shop:packages/cart`); without a remote the name of the directory.
 * @param {string} cwd
 */
function projectOf(cwd) {
	const set = process.env.PI_SESSION_NATIVE_PROJECT;
	if (set) return set;
	const remotes = git(cwd, "remote").split("\n").filter(Boolean);
	const remote = remotes.includes("origin") ? "origin" : remotes.length === 1 ? remotes[0] : undefined;
	const name = remote === undefined ? undefined : normalizeRemote(git(cwd, "remote", "get-url", remote));
	if (name === undefined) return basename(cwd);
	const below = git(cwd, "rev-parse", "--show-prefix").replace(/\/$/, "");
	return below === "" ? name : `${name}:${below}`;
}

exports.normalizeRemote = normalizeRemote;
exports.projectOf = projectOf;
