// `pi-sessions completion`: scripts for shells, made from the commands as they are.
import { UsageError } from "./errors.mjs";
import { write } from "./output.mjs";
import { isPlainId, listSessions, title } from "./sessions.mjs";

/** @typedef {import("commander").Command} Command */
/** @typedef {{ names: string[], about: string, sessions: boolean, choices: string[], options: { flags: string[], about: string, argument: "none" | "directory" | "file" | "other", choices: string[] }[] }} Known */

/** What the option's value is, by how the help writes it. */
const ARGUMENTS = /** @type {const} */ ({ "<directory>": "directory", "<file>": "file", "[file]": "file" });

/**
 * @param {Command} program
 * @returns {Known[]}
 */
function commands(program) {
	const visible = program.createHelp().visibleCommands(program);
	const names = visible.flatMap((command) => [command.name(), ...command.aliases()]);
	/** @type {Record<string, string[]>} what is after the command's name, where it is one of a few words */
	const words = { completion: Object.keys(SHELLS), help: names };
	return visible.map((command) => ({
		names: [command.name(), ...command.aliases()],
		about: command.description(),
		sessions: command.registeredArguments.some((argument) => argument.name().startsWith("session")),
		choices: own(words, command.name()) ?? [],
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
	/** @type {Set<string>} */
	const given = new Set();
	for (const session of await listSessions({ ...options, all: true })) {
		if (!isPlainId(session.id) || !session.id.startsWith(beginning) || given.has(session.id)) continue;
		given.add(session.id);
		await write(`${session.id}\t${title(session, 60)}\n`);
	}
}

/** @param {Known[]} known */
function bash(known) {
	const cases = known.map(({ names, options, sessions, choices }) => {
		const flags = [...options.flatMap((option) => option.flags), "--help"];
		const values = options
			.filter(({ argument }) => argument !== "none")
			.map(({ flags, argument, choices }) => {
				const found = argument === "directory" ? "_pi_sessions_paths -d" : argument === "file" ? "_pi_sessions_paths -f" : choices.length > 0 ? `_pi_sessions_words ${choices.join(" ")}` : ":";
				return `\t\t\t${flags.join("|")}) ${found}; return ;;`;
			});
		return [
			`\t${names.join("|")})`,
			...(values.length > 0 ? [`\t\tcase $previous in`, ...values, "\t\tesac"] : []),
			`\t\tif [[ $word == -* ]]; then _pi_sessions_words ${flags.join(" ")}`,
			`\t\telse ${choices.length > 0 ? `_pi_sessions_words ${choices.join(" ")}` : sessions ? "_pi_sessions_ids; _pi_sessions_paths -f" : ":"}; fi ;;`,
		].join("\n");
	});
	// `compgen -W` would expand its words, and run what is in them: nothing here is given to it.
	return `# Completion of pi-sessions for bash.
_pi_sessions_words() {
	local one
	for one; do [[ $one == "$word"* ]] && COMPREPLY+=("$one"); done
}
_pi_sessions_paths() {
	local one
	while IFS= read -r one; do COMPREPLY+=("$one"); done < <(compgen "$1" -- "$word")
}
_pi_sessions_ids() {
	local id rest
	local -a place=()
	[[ -n $dir ]] && place=(--dir "$dir")
	while IFS=$'\\t' read -r id rest; do
		[[ $id == "$word"* ]] && COMPREPLY+=("$id")
	done < <(pi-sessions complete-ids \${place[@]+"\${place[@]}"} -- "$word" 2>/dev/null)
}
_pi_sessions() {
	local word=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]} dir= at
	COMPREPLY=()
	if [[ $COMP_CWORD -eq 1 ]]; then
		_pi_sessions_words ${[...known.flatMap(({ names }) => names), "--help", "--version"].join(" ")}
		return
	fi
	# --option=value is three words here.
	[[ $word == = ]] && word= && previous=\${COMP_WORDS[COMP_CWORD-1]}
	[[ $previous == = ]] && previous=\${COMP_WORDS[COMP_CWORD-2]}
	for ((at = 2; at < COMP_CWORD - 1; at++)); do
		[[ \${COMP_WORDS[at]} == --dir ]] || continue
		dir=\${COMP_WORDS[at+1]}
		[[ $dir == = ]] && dir=\${COMP_WORDS[at+2]}
		# As it was typed: quotes and backslashes are still there.
		dir=\${dir//\\\\/} dir=\${dir//\\'/} dir=\${dir//\\"/}
	done
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
	const names = known.flatMap(({ names, about }) => names.map((name) => `\t\t${quoted(`${zshText(name)}:${zshText(about)}`)}`)).join("\n");
	const cases = known.map(({ names, options, sessions, choices }) => {
		const specs = options.flatMap(({ flags, about, argument, choices }) => {
			const values = { none: "", directory: ":directory:_files -/", file: ":file:_files", other: `:value:${choices.length > 0 ? `(${choices.join(" ")})` : ""}` }[argument];
			return flags.map((flag) => `\t\t\t${quoted(`${flag}${values !== "" && flag.startsWith("--") ? "=" : ""}[${zshText(about)}]${values}`)}`);
		});
		if (sessions) specs.push(`\t\t\t'*:session:_pi_sessions_ids'`);
		if (choices.length > 0) specs.push(`\t\t\t'1:word:(${choices.join(" ")})'`);
		return `\t${names.join("|")})\n\t\t_arguments \\\n${specs.join(" \\\n")} ;;`;
	});
	return `#compdef pi-sessions
# Completion of pi-sessions for zsh.
_pi_sessions_ids() {
	local -a ids place
	local id name
	[[ -n $opt_args[--dir] ]] && place=(--dir "\${(Q)\${(Q)opt_args[--dir]}}")
	while IFS=$'\\t' read -r id name; do ids+=("$id:\${name//\\\\/\\\\\\\\}"); done < <(pi-sessions complete-ids "\${place[@]}" -- "$PREFIX" 2>/dev/null)
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
	local -A opt_args
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
	const lines = known.flatMap(({ names, about, options, sessions, choices }) => {
		const within = `-n '__fish_seen_subcommand_from ${names.join(" ")}'`;
		return [
			...names.map((name) => `complete -c pi-sessions -n __fish_use_subcommand -f -a ${name} -d ${fishText(about)}`),
			...(sessions ? [`complete -c pi-sessions ${within} -a '(__pi_sessions_ids)'`] : []),
			...(choices.length > 0 ? [`complete -c pi-sessions ${within} -f -a '${choices.join(" ")}'`] : []),
			...options.map(({ flags, about, argument, choices }) => {
				const names = flags.map((flag) => (flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`)).join(" ");
				const value = { none: "", directory: " -x -a '(__fish_complete_directories)'", file: " -r", other: ` -x${choices.length > 0 ? ` -a ${fishText(choices.join(" "))}` : ""}` }[argument];
				return `complete -c pi-sessions ${within} ${names}${value} -d ${fishText(about)}`;
			}),
		];
	});
	return `# Completion of pi-sessions for fish.
function __pi_sessions_ids
	set -l words (commandline -opc)
	set -l place
	for at in (seq (count $words))
		if test "$words[$at]" = --dir; and set -q words[(math $at + 1)]
			set place --dir $words[(math $at + 1)]
		else if string match -q -- '--dir=*' $words[$at]
			set place --dir (string replace -- --dir= '' $words[$at])
		end
	end
	pi-sessions complete-ids $place -- (commandline -ct) 2>/dev/null
end
${lines.join("\n")}
`;
}
