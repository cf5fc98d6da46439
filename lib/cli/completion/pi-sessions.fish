# Completion of pi-sessions for fish.
function __pi_sessions
	set -l word (commandline -ct)
	set -l option (string match -r -- '^--[^=]*=' $word)
	set -l path (string replace -r -- '^--[^=]*=' '' $word)
	for offered in (pi-sessions complete -- (commandline -opc) "$word" 2>/dev/null)
		switch $offered
			case /file
				printf "$option%s\n" (__fish_complete_path "$path")
			case /directory
				printf "$option%s\n" (__fish_complete_directories "$path")
			case '*'
				printf '%s\n' $offered
		end
	end
end
complete -c pi-sessions -f -a '(__pi_sessions)'
