package shell

import "strings"

// Quote returns a word of a command line, in quotes if a shell may read it as something else.
func Quote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"
	assigns := strings.Contains(word, "=") && word[0] != '-'
	if word != "" && strings.Trim(word, plain) == "" && !assigns {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
