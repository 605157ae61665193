#compdef handrail
# Completion of handrail for zsh: source <(handrail completion zsh)
_handrail() {
	local line kind=''
	local -a found
	while IFS= read -r line; do
		case $line in
		:files) kind=files ;;
		:dirs) kind=dirs ;;
		*) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
		esac
	done < <("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
	(( $#found )) && _describe -t words handrail found
	case $kind in
	files) _files ;;
	dirs) _files -/ ;;
	esac
}
if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
	_handrail "$@"
else
	compdef _handrail handrail
fi
