// Prints the results of Node's `path.win32` and of pi for Windows paths, as JSON lines, on any system. It is a separate
// process, because it makes Node believe that this is Windows.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";

const [sessionManager, utilities] = process.argv.slice(2);
const pi = await import(sessionManager);
const { normalizeWindowsShellPath } = await import(utilities);

/** The process's working directory. Other drives have no working directory. */
const CWD = "D:\\work\\here";
const ROOTS = [
	"",
	"\\",
	"/",
	"C:",
	"c:\\",
	"C:/",
	"D:",
	"\\\\server\\share",
	"//server/share/",
	"\\\\server",
	"\\\\",
	"\\\\\\a",
	"\\\\?\\C:\\",
];
const TAILS = ["", "x", "a/b\\..\\c\\", "..\\..\\x", "./ä b\\\\..x"];
const all = ROOTS.flatMap((start) => TAILS.map((tail) => start + tail));
const BASES = ["", "C:\\base", "\\\\server\\share\\base", "base", "C:", "/base"];
const NAMES = ["", "..\\x", "\\x", "//x/y"];
const SHELL = [
	"/c/x/y",
	"/C",
	"/mnt/d/a b",
	"/cygdrive/e/",
	"/CygDrive/e/x",
	"/cc/x",
	"/mnt/",
	"//c/x",
	"/c\\x",
	"c/x",
	"/1/x",
	"/mnt/cc",
	"/m",
];
const CWDS = [
	"C:\\Users\\me\\pi",
	"\\\\server\\share\\x",
	"//server/share",
	"\\\\?\\C:\\x",
	"C:x",
	"C:",
	"D:",
	"\\x",
	"x",
	"D:x",
	"/c/x",
	"c:/a:b",
	"E:",
];
const AGENTS = ["C:\\Users\\me\\.pi\\agent", "\\\\server\\home\\agent", "\\agent", "agent"];

const stream = process.stdout;
process.cwd = () => CWD;
Object.defineProperty(process, "platform", { value: "win32" });
fs.existsSync = () => true;
Object.assign(path, { ...path.win32, win32: path.win32, posix: path.posix });
syncBuiltinESMExports();

const lines = [
	...all.map((one) => ["isAbsolute", one, String(path.isAbsolute(one))]),
	...BASES.flatMap((base) => all.map((one) => ["resolve", CWD, base, one, path.resolve(base, one)])),
	...all.flatMap((dir) => NAMES.map((name) => ["join", dir, name, path.join(dir, name)])),
	...SHELL.map((one) => ["fromShell", one, normalizeWindowsShellPath(one)]),
	...CWDS.flatMap((cwd) => AGENTS.map((agent) => ["sessionDir", CWD, cwd, agent, pi.getDefaultSessionDir(cwd, agent)])),
];
stream.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
