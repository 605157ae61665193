# Completion of handrail for bash: source <(handrail completion bash)
_handrail() {
	local cur=${COMP_WORDS[COMP_CWORD]} line
	COMPREPLY=()
	[[ $cur == = ]] && cur=
	while IFS= read -r line; do
		case $line in
		:files | :dirs)
			compopt -o filenames 2>/dev/null
			local kind=-f name
			[[ $line == :dirs ]] && kind=-d
			while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen "$kind" -- "$cur")
			;;
		*) COMPREPLY+=("${line%%$'\t'*}") ;;
		esac
	done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _handrail handrail
