package walk

import "strings"

// ShellRules is the rules of what is the shell's own, and of text tools, by
// program.
func ShellRules() map[string]Rule {
	rules := map[string]Rule{}
	AddFamilies(rules, map[string]Rule{
		// The shell itself.
		": true false test [ exit return break continue wait jobs fg bg disown shift getopts hash enable logout times shopt umask ulimit history pushd popd dirs cd unset unalias sleep let caller suspend": builtin,
		"echo": echo, "printf": printf, "set": set, "eval": eval, "source .": source, "trap": trap, "read": read, "readarray mapfile": readLines,
		"alias": alias, "export declare local typeset readonly": declareWords, "compgen complete": complete, "bind": bind, "which type command-v": which,
		"pwd": pwd, "printenv": printenv, "command": commandBuiltin,
		// Text tools.
		"cat zcat gzcat tac rev head tail sort uniq nl fold bat pv base64 base32 xxd tr cut strings dos2unix paste": textTool,
		"less more": pager, "awk gawk mawk nawk": awk, "sed gsed": sed, "grep egrep fgrep rg": grep, "tee sponge": tee,
		"yes": yes, "ps pgrep pidof": processes,
	})
	return rules
}

// AddFamilies adds to the rules those of families: programs that share one.
func AddFamilies(rules map[string]Rule, families map[string]Rule) {
	for programs, rule := range families {
		for program := range strings.FieldsSeq(programs) {
			rules[program] = rule
		}
	}
}
