# Completion of pi-sessions for bash.
_pi_sessions() {
	local word=${COMP_WORDS[COMP_CWORD]} offered about path
	# --option=value is three words here.
	[[ $word == = ]] && word=
	# As they were typed: quotes and backslashes are still there.
	local -a typed=("${COMP_WORDS[@]:0:COMP_CWORD}" "$word")
	COMPREPLY=()
	# `compgen -W` would expand its words, and run what is in them: no text of a session is given to it.
	while IFS=$'\t' read -r offered about; do
		if [[ $offered == /* ]]; then
			while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen -A "${offered#/}" -- "$word")
		else
			COMPREPLY+=("$offered")
		fi
	done < <(pi-sessions complete -- "${typed[@]//[\\\'\"]/}" 2>/dev/null)
}
complete -o filenames -F _pi_sessions pi-sessions
