import type { RedactInput, RedactReport } from "./index.js";

/**
 * Where the session files of this machine are: in the default session directories of all working directories, in other
 * session directories, and, for sessions of subagents, in folders beside the session that they belong to.
 *
 * A file or folder that cannot be read is no error here: the result contains its path, so that reading it reports the
 * error. Broken links are named, too.
 */

/**
 * Every file that may contain copies of entries: in the directories of every working directory, in these directories,
 * and of subagents. In the folders beside the sessions it may be a file of another format. Files that contain nothing
 * are left out: empty files, pipes, sockets and devices.
 */
export declare function everySessionFile(...dirs: (string | undefined)[]): string[];

/**
 * Every folder that may have session files or temporary files, also if it contains none now: the folder of all working
 * directories, the folders of every working directory and of their subagents, and the same of these directories.
 */
export declare function everySessionFolder(...dirs: (string | undefined)[]): string[];

/** The default session directories that exist, of all working directories. */
export declare function sessionFolders(): string[];

/** The session files of a session's subagents, in folders of any depth. Links are not followed. */
export declare function subagentFiles(file: string): string[];

/** The result for a session file, or for the temporary files in a folder; in a dry run the expected result. */
export interface RedactedFile {
	file: string;
	/** The number of redacted lines. */
	lines: number;
	/** The paths of the redacted backups. */
	backups: string[];
	/** Of a folder: the removed files, which killed processes had left there. */
	temporaryFiles?: string[];
	/** The number of lines that still contain the text, because it cannot be replaced there. */
	left: number;
	/** Whether another session contains the text also in lines that are no copies of the redacted entries, and stay. */
	hasOtherLines: boolean;
	/** Whether another process has locked the session. */
	isLocked: boolean;
	isCatalogClean: boolean;
	/** Why the file was not redacted. */
	error?: string;
}

/** Options of `redactEverywhere`. */
export interface RedactOptions<Report extends RedactReport, More extends object> {
	/** The lines of the session that are to be redacted, from a dry run. */
	lines: RedactReport["lines"];
	/** Session directories that are searched beside the default ones. */
	dirs: (string | undefined)[];
	/** Redacts one file. */
	redactFile: (file: string, what: RedactInput) => Promise<Report>;
	/** Further fields of a row: for a report, or for a file that was not redacted. */
	more: (report?: Report) => More;
}

/**
 * Redacts a session, and every copy of its entries on this machine: in other sessions, in sessions of subagents, and in
 * the temporary files of killed processes. The session itself is the last of the rows, and a row of its own also if
 * nothing was to be redacted. `others` are the other files that were searched.
 */
export declare function redactEverywhere<Report extends RedactReport, More extends object>(
	path: string,
	what: RedactInput,
	options: RedactOptions<Report, More>,
): Promise<{ rows: (RedactedFile & More)[]; others: string[] }>;

/** Whether a session is not changed, because it contains the text only in lines of its own. */
export declare function isUnchanged(row: RedactedFile): boolean;

/** A sentence that counts the other files that were searched. */
export declare function summaryOf(rows: RedactedFile[], others: string[], isDryRun: boolean): string;

/** Sentences that tell what remains of the text after a redaction, and why. */
export declare function remainsOf(row: RedactedFile): string[];
