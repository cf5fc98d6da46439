// `pi-sessions completion`: scripts for shells, made from the commands as they are.
import { UsageError } from "./errors.mjs";
import { write } from "./output.mjs";
import { listSessions, title } from "./sessions.mjs";
import { safeLine } from "./text.mjs";

/** @typedef {import("commander").Command} Command */
/** @typedef {{ name: string, about: string, sessions: boolean, options: { flags: string[], about: string, argument: "none" | "folder" | "file" | "other", choices: string[] }[] }} Known */

/** What the option's value is, by how the help writes it. */
const ARGUMENTS = /** @type {const} */ ({ "<folder>": "folder", "<file>": "file", "[file]": "file" });

/**
 * @param {Command} program
 * @returns {Known[]}
 */
function commands(program) {
	const visible = program.createHelp().visibleCommands(program);
	return visible
		.filter((command) => command.name() !== "help")
		.map((command) => ({
			name: command.name(),
			about: command.description(),
			sessions: command.registeredArguments.some((argument) => argument.name().startsWith("session")),
			options: command.options.map(({ short, long, flags, description, argChoices }) => ({
				flags: [short, long].filter((flag) => flag !== undefined),
				about: description,
				argument: own(ARGUMENTS, flags.split(" ").at(-1) ?? "") ?? (/[<[]/.test(flags) ? "other" : "none"),
				choices: argChoices ?? [],
			})),
		}));
}

/**
 * @template {object} T
 * @param {T} table
 * @param {string} key
 * @returns {T[keyof T] | undefined}
 */
const own = (table, key) => (Object.hasOwn(table, key) ? table[/** @type {keyof T} */ (key)] : undefined);

/** @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/** @type {Record<string, (known: Known[]) => string>} */
const SHELLS = { bash, zsh, fish };

/**
 * @param {string} shell
 * @param {Command} program
 */
export async function completion(shell, program) {
	const script = own(SHELLS, shell);
	if (!script) throw new UsageError(`No completion for ${JSON.stringify(shell)}: bash, zsh or fish`);
	await write(script(commands(program)));
}

/**
 * Ids that begin so, each with what its session is called.
 * @param {string} beginning
 * @param {{ dir?: string }} options
 */
export async function completeIds(beginning, options) {
	for (const session of await listSessions({ ...options, all: true })) {
		const id = safeLine(session.id);
		if (id.startsWith(beginning)) await write(`${id}\t${title(session, 60)}\n`);
	}
}

/** @param {Known[]} known */
function bash(known) {
	const cases = known.map(({ name, options, sessions }) => {
		const flags = [...options.flatMap((option) => option.flags), "--help"].join(" ");
		const values = options
			.filter(({ argument }) => argument !== "none")
			.map(({ flags, argument, choices }) => {
				const words = choices.length > 0 ? `COMPREPLY=($(compgen -W ${quoted(choices.join(" "))} -- "$word"))` : ":";
				const found = argument === "folder" ? `COMPREPLY=($(compgen -d -- "$word"))` : argument === "file" ? `COMPREPLY=($(compgen -f -- "$word"))` : words;
				return `\t\t\t${flags.join("|")}) ${found}; return ;;`;
			});
		const rest = sessions ? `COMPREPLY=($(compgen -W "$(pi-sessions complete-ids "$word" 2>/dev/null | cut -f1)" -- "$word") $(compgen -f -- "$word"))` : ":";
		return [
			`\t${name})`,
			...(values.length > 0 ? [`\t\tcase $previous in`, ...values, "\t\tesac"] : []),
			`\t\tif [[ $word == -* ]]; then COMPREPLY=($(compgen -W ${quoted(flags)} -- "$word"))`,
			`\t\telse ${name === "completion" ? `COMPREPLY=($(compgen -W 'bash zsh fish' -- "$word"))` : rest}; fi ;;`,
		].join("\n");
	});
	return `# Completion of pi-sessions for bash.
_pi_sessions() {
	local word=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]}
	local IFS=$' \\t\\n'
	COMPREPLY=()
	if [[ $COMP_CWORD -eq 1 ]]; then
		COMPREPLY=($(compgen -W ${quoted([...known.map(({ name }) => name), "--help", "--version"].join(" "))} -- "$word"))
		return
	fi
	case $command in
${cases.join("\n")}
	esac
}
complete -o filenames -F _pi_sessions pi-sessions
`;
}

/** @param {string} text in a zsh specification */
const zshText = (text) => text.replace(/[\\:[\]]/g, "\\$&");

/** @param {Known[]} known */
function zsh(known) {
	const names = known.map(({ name, about }) => `\t\t${quoted(`${zshText(name)}:${zshText(about)}`)}`).join("\n");
	const cases = known.map(({ name, options, sessions }) => {
		const specs = options.flatMap(({ flags, about, argument, choices }) => {
			const values = { none: "", folder: ":folder:_files -/", file: ":file:_files", other: `:value:${choices.length > 0 ? `(${choices.join(" ")})` : ""}` }[argument];
			return flags.map((flag) => `\t\t\t${quoted(`${flag}[${zshText(about)}]${values}`)}`);
		});
		if (sessions) specs.push(`\t\t\t'*:session:_pi_sessions_ids'`);
		if (name === "completion") specs.push(`\t\t\t'1:shell:(bash zsh fish)'`);
		return `\t${name})\n\t\t_arguments \\\n${specs.join(" \\\n")} ;;`;
	});
	return `#compdef pi-sessions
# Completion of pi-sessions for zsh.
_pi_sessions_ids() {
	local -a ids
	local id name
	while IFS=$'\\t' read -r id name; do ids+=("\${id//:/\\\\:}:$name"); done < <(pi-sessions complete-ids "$PREFIX" 2>/dev/null)
	_describe -t sessions session ids
	_files
}
_pi_sessions() {
	local -a commands
	commands=(
${names}
	)
	if (( CURRENT == 2 )); then
		_describe -t commands command commands
		return
	fi
	local command=$words[2]
	shift words
	(( CURRENT-- ))
	case $command in
${cases.join("\n")}
	esac
}
if [[ $funcstack[1] == _pi_sessions ]]; then _pi_sessions "$@"; else compdef _pi_sessions pi-sessions; fi
`;
}

/** @param {string} text */
const fishText = (text) => `'${text.replace(/[\\']/g, "\\$&")}'`;

/** @param {Known[]} known */
function fish(known) {
	const lines = known.flatMap(({ name, about, options, sessions }) => {
		const within = `-n '__fish_seen_subcommand_from ${name}'`;
		return [
			`complete -c pi-sessions -n __fish_use_subcommand -f -a ${name} -d ${fishText(about)}`,
			...(sessions ? [`complete -c pi-sessions ${within} -a '(pi-sessions complete-ids (commandline -ct) 2>/dev/null)'`] : []),
			...(name === "completion" ? [`complete -c pi-sessions ${within} -f -a 'bash zsh fish'`] : []),
			...options.map(({ flags, about, argument, choices }) => {
				const names = flags.map((flag) => (flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`)).join(" ");
				const value = { none: "", folder: " -x -a '(__fish_complete_directories)'", file: " -r", other: ` -x${choices.length > 0 ? ` -a ${fishText(choices.join(" "))}` : ""}` }[argument];
				return `complete -c pi-sessions ${within} ${names}${value} -d ${fishText(about)}`;
			}),
		];
	});
	return `# Completion of pi-sessions for fish.\n${lines.join("\n")}\n`;
}
