// `pi-sessions completion`: prints scripts for shells. The scripts call the hidden `pi-sessions complete`.
import { readFileSync } from "node:fs";
import { write } from "./output.mjs";

/** @typedef {import("commander").Command} Command */

/** @param {string} shell */
export const completion = (shell) =>
	write(readFileSync(new URL(`./completion/pi-sessions.${shell}`, import.meta.url), "utf8"));

/**
 * Prints the completions of the last word, one a line: the completion, a tab, a description. `/file` and `/directory`
 * tell the shell to complete file names itself.
 * @param {string[]} words the typed words, with the name of the program first
 * @param {Command} program
 */
export async function complete(words, program) {
	// bash splits --option=value into three words. Other shells expect the part before the value in the completion.
	const [, prefix = ""] = /^(--[^=]+=)/.exec(words.at(-1) ?? "") ?? [];
	const typed = words
		.slice(1)
		.flatMap((word) => /^(--[^=]+)=(.*)$/s.exec(word)?.slice(1) ?? (word === "=" ? [] : [word]));
	const last = typed.pop() ?? "";
	for await (const [value, about = ""] of offers(typed, last, program)) {
		if (value.startsWith("/")) await write(`${value}\n`);
		else if (value.startsWith(last)) await write(`${prefix}${value}\t${about}\n`);
	}
}

/**
 * @param {string[]} before
 * @param {string} last
 * @param {Command} program
 * @returns {AsyncGenerator<[value: string, about?: string]>}
 */
async function* offers(before, last, program) {
	let command = program;
	/** @type {import("commander").Option | undefined} the option whose value is completed */
	let option;
	/** @type {string | undefined} */
	let dir;
	for (const word of before) {
		if (option?.long === "--dir") dir = word;
		const found = option ? undefined : command.options.find(({ short, long }) => word === short || word === long);
		if (!option && !found) command = command.commands.find((one) => one.name() === word) ?? command;
		option = found?.required ? found : undefined;
	}
	const help = program.createHelp();
	if (option) {
		if (option.flags.endsWith("<directory>")) yield ["/directory"];
		if (option.flags.endsWith("<file>")) yield ["/file"];
		for (const choice of option.argChoices ?? []) yield [choice];
		if (option.flags.endsWith("<session>")) yield* sessions(dir);
		return;
	}
	if (last.startsWith("-")) {
		for (const { short, long, description } of help.visibleOptions(command))
			for (const flag of [short, long]) if (flag) yield [flag, description];
		return;
	}
	for (const one of help.visibleCommands(command)) yield [one.name(), one.description()];
	for (const argument of command.registeredArguments) {
		for (const choice of argument.argChoices ?? []) yield [choice];
		if (["old", "new"].includes(argument.name())) yield ["/directory"];
		if (argument.name().startsWith("session")) yield* sessions(dir);
	}
}

/**
 * @param {string | undefined} dir
 * @returns {AsyncGenerator<[value: string, about?: string]>}
 */
async function* sessions(dir) {
	const { isPlainId, listSessions, title } = await import("./sessions.mjs");
	for (const session of await listSessions({ dir, all: true }))
		if (isPlainId(session.id)) yield [session.id, title(session, 60)];
	yield ["/file"];
}
