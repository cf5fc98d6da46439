#compdef pi-sessions
# Completion of pi-sessions for zsh.
_pi_sessions() {
	local value about
	local -a offered files
	while IFS=$'\t' read -r value about; do
		case $value in
			/file) files=(_files) ;;
			/directory) files=(_files -/) ;;
			*) offered+=("$value:${about//\\/\\\\}") ;;
		esac
	done < <(pi-sessions complete -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
	_describe -t values value offered
	compset -P '--*='
	$files
	(( compstate[nmatches] > 0 ))
}
if [[ $funcstack[1] == _pi_sessions ]]; then _pi_sessions "$@"; else compdef _pi_sessions pi-sessions; fi
