/**
 * Where the session files of this machine are: in the default session directories of all working directories, in other
 * session directories, and, for sessions of subagents, in folders beside the session that they belong to.
 *
 * A file or folder that cannot be read is no error here: the result contains its path, so that reading it reports the
 * error. Broken links are named, too.
 */

/**
 * Every file that may contain copies of entries: in the directories of every working directory, in these directories,
 * and of subagents. In the folders beside the sessions it may be a file of another format.
 */
export declare function everySessionFile(...dirs: (string | undefined)[]): string[];

/**
 * Every folder that may have session files, also if it contains none now: those of every working directory and of their
 * subagents, and the same of these directories.
 */
export declare function everySessionFolder(...dirs: (string | undefined)[]): string[];

/** The default session directories that exist, of all working directories. */
export declare function sessionFolders(): string[];

/** The session files of a session's subagents, in folders of any depth. Links are not followed. */
export declare function subagentFiles(file: string): string[];
