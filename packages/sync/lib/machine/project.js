// The project of a session, a name that is the same on every machine: the git remote of its working directory, in one
// spelling for every protocol and user. A directory without a remote has a name of this machine alone, because somebody
// else's directory with the same name may be something else.
const { execFile } = require("node:child_process");
const { createHash } = require("node:crypto");
const { promises: fs } = require("node:fs");
const { dirname, join, resolve } = require("node:path");
const { promisify } = require("node:util");
const { STORE_VARIABLE } = require("./agent-dir.js");

/**
 * `isOwn`: the name belongs to this machine alone. `problem`: a sentence for the user if this is because git failed or
 * the directory is missing, so that no session may be stored under this name.
 * @typedef {{ project: string, isOwn?: true, problem?: string }} Found
 */

/** A repository may be on a broken network drive. */
const TIMEOUT_MS = 2000;
/** A longer path is replaced by its hash, because names of projects are limited. */
const LONGEST_PATH = 800;
/**
 * Variables that would make git use another directory, and the variable that may contain a password, because git may
 * run other programs.
 */
const WITHHELD = [
	"GIT_DIR",
	"GIT_WORK_TREE",
	"GIT_COMMON_DIR",
	"GIT_INDEX_FILE",
	"GIT_PREFIX",
	"GIT_NAMESPACE",
	STORE_VARIABLE,
];
/** Arguments of git: the remotes, and the path of the directory below the repository's root. */
const QUESTIONS = [
	["remote", "-v"],
	["rev-parse", "--show-prefix"],
];
/** git's messages if there is no repository, or no directory. */
const NO_REPOSITORY = /not a git repository \(/;
const NO_DIRECTORY = /cannot change to/;

/**
 * One spelling for a remote: `github.com/me/shop` for `git@github.com:me/shop.git` and
 * `https://me:token@GitHub.com/Me/Shop/`. Lower case, because the services ignore case; no port, because each protocol
 * has its own. Undefined for a path, which differs between machines.
 * @param {string} remote
 */
function normalizeRemote(remote) {
	const text = remote.trim();
	const short = /^(?:[^@/\\]+@)?([^@:/\\]{2,}):(?!\/\/)(.+)$/.exec(text);
	const long = /^[a-z][a-z0-9+.-]*:\/\/(?:[^@/]*@)?([^@:/]+)(?::\d*)?\/(.+)$/i.exec(text);
	const [, host, path] =
		(/^file:/i.test(text) ? undefined : (long ?? (text.includes("://") ? undefined : short))) ?? [];
	if (host === undefined || path === undefined) return undefined;
	const parts = path
		.replace(/\\/g, "/")
		.split("/")
		.filter((part) => part !== "");
	const last = parts.pop()?.replace(/\.git$/i, "");
	if (last) parts.push(last);
	return parts.length > 0 ? `${host}/${parts.join("/")}`.toLowerCase() : undefined;
}

/** The options of each call of git. The messages are English, whatever the user's language is. */
function optionsOfGit() {
	const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !WITHHELD.includes(name)));
	return {
		env: { ...env, LC_ALL: "C" },
		timeout: TIMEOUT_MS,
		windowsHide: true,
	};
}

/**
 * The project of a working directory: the one that is set, else the remote `origin` or the only remote, with the
 * directory below the repository's root after a colon (`github.com/me/shop:packages/cart`); without a remote a name of
 * this machine alone.
 * @param {string} cwd
 * @param {string} host this host's id
 * @param {string} [set] the name that is set
 * @returns {Promise<Found>}
 */
async function findProject(cwd, host, set = process.env.PI_SYNC_PROJECT) {
	if (set) return { project: set };
	/** @type {Found} */
	const own = { project: ownProject(cwd, host), isOwn: true };
	try {
		const [remotes, prefix] = await Promise.all(
			QUESTIONS.map(async (args) => (await promisify(execFile)("git", ["-C", cwd, ...args], optionsOfGit())).stdout),
		);
		const urls = new Map([...String(remotes).matchAll(/^(\S+)\t(.*) \(fetch\)/gm)].map(([, name, url]) => [name, url]));
		const remote = urls.get("origin") ?? (urls.size === 1 ? [...urls.values()][0] : undefined);
		const name = remote === undefined ? undefined : normalizeRemote(remote);
		if (name === undefined) return own;
		const below = String(prefix).trim().replace(/\/$/, "");
		return { project: below === "" ? name : `${name}:${below}` };
	} catch (error) {
		const { code, killed, stderr, message } = Object(error);
		const [said] = killed
			? [`no answer within ${TIMEOUT_MS / 1000} s`]
			: (String(stderr ?? "").trim() || String(message)).split("\n", 1);
		// ENOENT: git is not installed, or not on the path.
		const isWithoutGit = code === "ENOENT";
		const isMissing = (isWithoutGit || NO_DIRECTORY.test(String(said))) && !(await isThere(cwd));
		// The directory of a project or worktree may have been deleted. If the one above is missing, too, a drive may be
		// missing.
		if (isMissing && (await isThere(dirname(resolve(cwd))))) return own;
		if (!isMissing && (isWithoutGit ? await isOutsideCheckouts(cwd) : NO_REPOSITORY.test(String(said)))) return own;
		return {
			...own,
			problem:
				`git failed in ${cwd}, so the project of its sessions is not known and new ones are not stored (projects in ` +
				`session-store.json names it): ${said}`,
		};
	}
}

/** @param {string} path */
const isThere = (path) =>
	fs.stat(path).then(
		() => true,
		() => false,
	);

/** Whether a directory is in no checkout. @param {string} cwd */
async function isOutsideCheckouts(cwd) {
	for (let dir = resolve(cwd); !(await isThere(join(dir, ".git"))); dir = dirname(dir))
		if (dir === dirname(dir)) return true;
	return false;
}

/**
 * The name of a directory that no other machine has: no remote has an absolute path after its host.
 * @param {string} cwd
 * @param {string} host
 */
const ownProject = (cwd, host) =>
	`${host}:${cwd.length <= LONGEST_PATH ? cwd : createHash("sha256").update(cwd).digest("hex")}`;

exports.findProject = findProject;
exports.normalizeRemote = normalizeRemote;
